// Messages: times and a value, received or to be sent.
#ifndef LIGAMENT_MESSAGE_HPP
#define LIGAMENT_MESSAGE_HPP

#include "value.hpp"

namespace ligament {

// The times of a message, in model time, s.
struct Times {
    // The model time that the data belongs to.
    double timestamp = 0.0;
    // The time of the next message on this port, if there will be one.
    std::optional<double> next_timestamp;

    Times() = default;
    Times(double time) : timestamp(time) {}
    Times(double time, std::optional<double> next) : timestamp(time), next_timestamp(next) {}
    explicit Times(const lig_times &times) : timestamp(times.timestamp) {
        if (times.has_next_timestamp) next_timestamp = times.next_timestamp;
    }
};

// A received message, or one to be sent. It can be moved. The results of array() and data() are valid as long
// as the message.
class Message {
public:
    // A message to be sent. (Instance::send(port, times, array) sends an array with one copy less.)
    Message(Times times, Value data) : times_(times), built_(std::move(data)) {}
    Message(double timestamp, double next_timestamp, Value data)
        : Message(Times(timestamp, next_timestamp), std::move(data)) {}

    double timestamp() const noexcept { return times_.timestamp; }
    bool has_next_timestamp() const noexcept { return times_.next_timestamp.has_value(); }
    // The time of the sender's next message. Throws UsageError if the sender has not given it.
    double next_timestamp() const {
        if (!times_.next_timestamp)
            throw UsageError("the message has no next timestamp; ask has_next_timestamp() first");
        return *times_.next_timestamp;
    }
    const Times &times() const noexcept { return times_; }

    // The value.
    ValueView data() const & {
        return received_ ? ValueView(lig_message_value(received_.get()), {received_.get()}) : built_->view();
    }
    ValueView data() const && = delete;

    // The value as an array, in place. Throws UnexpectedError if it is no array, or if its elements are not T.
    // The text names the port and the instance that sent it.
    template <class T>
    ArrayView<T> array() const & {
        return data().template array<T>();
    }
    template <class T>
    ArrayView<T> array() const && = delete;

    // Does the same for an array of this shape; an extent that is `any` may have any value.
    template <class T>
    ArrayView<T> array(const Extents &shape) const & {
        return data().template array<T>(shape);
    }
    template <class T>
    ArrayView<T> array(const Extents &shape) const && = delete;

    // A copy of the value as T: bool, a number, std::complex<double>, std::string, or std::vector of elements.
    template <class T>
    T as() const {
        static_assert(!std::is_same_v<T, std::string_view> && !std::is_same_v<T, Bytes>,
                      "this would lead into the message; ask message.data() for it while the message lives");
        return data().template as<T>();
    }

    // Sets the overlay of settings that a message to be sent belongs to: settings, or a map. Without it, the
    // message has the overlay in force at the instance.
    Message &with_settings(Value overlay) & {
        overlay_ = std::move(overlay);
        return *this;
    }
    Message &&with_settings(Value overlay) && { return std::move(with_settings(std::move(overlay))); }

    // The overlay of settings. For a message to be sent, the one that was set. For a received message, the one
    // that came with it, as a map, if the instance asked for it (Flags::dont_apply_overlay).
    std::optional<ValueView> settings() const & {
        if (overlay_) return overlay_->view();
        const lig_value *overlay = lig_message_settings(received_.get());
        return overlay ? std::optional<ValueView>(ValueView(overlay)) : std::nullopt;
    }
    std::optional<ValueView> settings() const && = delete;

private:
    friend class Instance;
    struct Free {
        void operator()(lig_message *message) const noexcept { lig_message_free(message); }
    };

    explicit Message(lig_message *received) : received_(received) {
        lig_times times;
        detail::call(lig_message_times, static_cast<const lig_message *>(received), &times);
        times_ = Times(times);
    }

    Times times_;
    std::optional<Value> built_;    // of a message to be sent
    std::optional<Value> overlay_;  // the one that was set
    std::unique_ptr<lig_message, Free> received_;
};

}  // namespace ligament

#endif
