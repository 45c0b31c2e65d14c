// Messages to be sent, and received ones.
#ifndef LIGAMENT_FACE_LIBMUSCLE_MESSAGE_HPP
#define LIGAMENT_FACE_LIBMUSCLE_MESSAGE_HPP

#include "libmuscle/data.hpp"
#include "libmuscle/util.hpp"

namespace libmuscle {

// Data at a model time, with the time of the next message and an overlay of settings, if there are any.
class Message {
public:
    explicit Message(double timestamp);  // without data
    Message(double timestamp, DataConstRef const &data);
    Message(double timestamp, double next_timestamp, DataConstRef const &data);
    Message(double timestamp, DataConstRef const &data, ::ymmsl::Settings const &settings);
    Message(double timestamp, double next_timestamp, DataConstRef const &data,
            ::ymmsl::Settings const &settings);

    Message(Message const &) = default;
    Message(Message &&) = default;
    // The message then has the other one's data; copies that were made of this message keep theirs.
    Message &operator=(Message const &other);
    Message &operator=(Message &&other);

    // The model time of the data, s.
    double timestamp() const noexcept { return timestamp_; }
    void set_timestamp(double timestamp) noexcept { timestamp_ = timestamp; }
    bool has_next_timestamp() const noexcept { return next_timestamp_.is_set(); }
    // The model time of the next message, s. Throws std::logic_error if it is not set.
    double next_timestamp() const;
    void set_next_timestamp(double next_timestamp) { next_timestamp_ = next_timestamp; }
    void unset_next_timestamp() { next_timestamp_ = {}; }

    DataConstRef const &data() const noexcept { return data_; }
    void set_data(DataConstRef const &data) { data_.reseat(data); }

    bool has_settings() const noexcept { return settings_.is_set(); }
    // The overlay of settings. Throws std::logic_error if it is not set.
    ::ymmsl::Settings const &settings() const;
    void set_settings(::ymmsl::Settings const &settings) { settings_ = settings; }
    void unset_settings() { settings_ = {}; }

private:
    double timestamp_;
    Optional<double> next_timestamp_;
    DataConstRef data_;
    Optional<::ymmsl::Settings> settings_;
};

}  // namespace libmuscle

#endif
