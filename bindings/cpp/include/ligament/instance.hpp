// The instance: joining a run, the reuse loop, ports, settings, sending and receiving.
#ifndef LIGAMENT_INSTANCE_HPP
#define LIGAMENT_INSTANCE_HPP

#include <chrono>
#include <exception>
#include <map>

#include "loan.hpp"

namespace ligament {

// The moment of the execution loop in which a port is used.
enum class Operator : std::int32_t {
    // Receives before the first step.
    F_INIT = LIG_F_INIT,
    // Sends during the steps.
    O_I = LIG_O_I,
    // Receives during the steps.
    S = LIG_S,
    // Sends after the last step.
    O_F = LIG_O_F,
};

// The importance of a line in the run's log.
enum class LogLevel : std::int32_t {
    debug = LIG_LOG_DEBUG,
    info = LIG_LOG_INFO,
    warning = LIG_LOG_WARNING,
    error = LIG_LOG_ERROR,
    critical = LIG_LOG_CRITICAL,
};

// The kinds of settings.
enum class SettingType : std::int32_t {
    boolean = LIG_SETTING_BOOL,
    integer = LIG_SETTING_INT,
    number = LIG_SETTING_FLOAT,
    string = LIG_SETTING_STRING,
    integers = LIG_SETTING_INT_LIST,
    numbers = LIG_SETTING_FLOAT_LIST,
    grid = LIG_SETTING_FLOAT_GRID,
};

// The ports of a code: {{Operator::F_INIT, {"start"}}, {Operator::O_F, {"final", "all[]"}}}; "name[]" is a
// vector port.
using Ports = std::map<Operator, std::vector<std::string>>;

// Options of a new instance, which can be combined with `|`.
enum class Flags : std::uint64_t {
    none = 0,
    // Overlays of settings that come with messages are not applied, and the code reads them
    // (Message::settings). This is for components that serve several others with different settings.
    dont_apply_overlay = LIG_DONT_APPLY_OVERLAY,
    // The code saves its state by save_snapshot, and makes the calls that belong to it in each pass
    // (Instance::resuming).
    uses_checkpoint_api = LIG_USES_CHECKPOINT_API,
    // The code keeps nothing from one pass of the reuse loop to the next.
    keeps_no_state_for_next_use = LIG_KEEPS_NO_STATE_FOR_NEXT_USE,
    // The code keeps something from one pass to the next, but can do without it when a run resumes.
    state_not_required_for_next_use = LIG_STATE_NOT_REQUIRED_FOR_NEXT_USE,
};
constexpr Flags operator|(Flags a, Flags b) {
    return static_cast<Flags>(static_cast<std::uint64_t>(a) | static_cast<std::uint64_t>(b));
}

// The number of processes that are one instance together, and of threads of each process; 0 if not given. One
// of the processes joins the run for all. While the instance computes, `ranks` times `threads` cores count as
// busy. If neither number is given, those under `resources:` in the model count.
struct Parallelism {
    std::uint32_t ranks = 0;
    std::uint32_t threads = 0;
};

// The slot of a vector port; without a number for other ports.
class Slot {
public:
    Slot() = default;
    template <class Number, std::enable_if_t<std::is_integral_v<Number>, int> = 0>
    Slot(Number slot) : given_(true), slot_(static_cast<std::uint32_t>(slot)) {
        if (static_cast<std::uint64_t>(slot) > std::numeric_limits<std::uint32_t>::max()) {
            throw UsageError("there is no slot " + std::to_string(slot));
        }
    }
    bool given() const noexcept { return given_; }
    std::uint32_t number() const noexcept { return slot_; }

private:
    bool given_ = false;
    std::uint32_t slot_ = 0;
};

// The overlay of settings that a message to be sent belongs to, borrowed: settings, or a map such as
// Message::settings() gives. Without one, the message has the overlay in force at the instance.
class Overlay {
public:
    Overlay() = default;
    Overlay(std::nullopt_t) {}
    Overlay(const Value &overlay) : value_(overlay.raw()) {}
    Overlay(const ValueView &overlay) : value_(overlay.raw()) {}
    Overlay(const std::optional<ValueView> &overlay) : value_(overlay ? overlay->raw() : nullptr) {}

    // The overlay in the form of the C interface.
    const lig_value *raw() const noexcept { return value_; }

private:
    const lig_value *value_ = nullptr;
};

// A name in a call. A literal is not copied.
struct Name {
    const char *text;
    Name(const char *name) : text(name) {}
    Name(const std::string &name) : text(name.c_str()) {}
};

// A port to wait for, and its slot if it is a vector port.
struct PortSlot {
    const char *port;
    Slot slot;
    PortSlot(const char *name, Slot of = {}) : port(name), slot(of) {}
    PortSlot(const std::string &name, Slot of = {}) : port(name.c_str()), slot(of) {}
};

namespace detail {

struct Light;


// True if T has elements that lie next to each other and can be sent as an array of one dimension.
template <class T, class = void>
struct Sequence : std::false_type {};
template <class T>
struct Sequence<
    T, std::void_t<decltype(std::declval<const T &>().data()), decltype(std::declval<const T &>().size())>>
    : std::bool_constant<
          is_element<std::remove_cv_t<std::remove_pointer_t<decltype(std::declval<const T &>().data())>>>> {};

template <class T>
struct IsArrayRef : std::false_type {};
template <class T>
struct IsArrayRef<ArrayRef<T>> : std::true_type {};
template <class T>
struct IsArrayView : std::false_type {};
template <class T>
struct IsArrayView<ArrayView<T>> : std::true_type {};

}  // namespace detail

// Events that were delivered together: views of the memory into which their sender put them.
struct EventBatch {
    std::size_t count = 0;
    const double *times = nullptr;
    const std::int32_t *ids = nullptr;
};

// An instance of a component in a running model. It can be moved, and one thread at a time may use it. Its
// destructor ends it cleanly, but ends the run if an exception is the cause. An exception that no code catches,
// in the thread that made the instance, also ends the run, with its text as the reason.
class Instance {
public:
    // Joins the run that started this program, with the ports of the model. Throws RegistrationError.
    Instance() : Instance(Options{nullptr, Flags::none, {}}) {}
    // Does the same, with the ports of this code, which must fit the model's.
    explicit Instance(const Ports &ports, Flags flags = Flags::none, Parallelism parallelism = {})
        : Instance(Options{&ports, flags, parallelism}) {}
    // Does the same, with ports that are written in the call; `{}` stands for no port at all.
    explicit Instance(std::initializer_list<Ports::value_type> ports, Flags flags = Flags::none,
                      Parallelism parallelism = {})
        : Instance(Ports(ports), flags, parallelism) {}
    // An instance with the ports of the model, and with flags. (A constructor would take `{}` for flags.)
    static Instance with_flags(Flags flags, Parallelism parallelism = {}) {
        return Instance(Options{nullptr, flags, parallelism});
    }

    Instance(Instance &&) noexcept = default;
    Instance &operator=(Instance &&other) noexcept {
        Instance taken(std::move(other));
        std::swap(handle_, taken.handle_);
        std::swap(exceptions_, taken.exceptions_);
        return *this;
    }
    ~Instance() {
        if (handle_ && std::uncaught_exceptions() > exceptions_) {
            lig_error_shutdown(handle_.get(), "an exception ended the code; its own output may say which",
                               nullptr);
        }
    }

    // The name, such as "micro[3]".
    std::string name() const { return lig_instance_name(handle_.get()); }
    // The index within the component: one number for each dimension of the multiplicity.
    std::vector<std::size_t> index() const {
        const std::size_t *numbers;
        const std::size_t count = lig_instance_index(handle_.get(), &numbers);
        return std::vector<std::size_t>(numbers, numbers + count);
    }
    // The number of this rank within its instance, and the number of ranks, if the model says that each rank
    // speaks for itself; otherwise 0 and 1.
    std::uint32_t rank() const { return lig_instance_rank(handle_.get()); }
    std::uint32_t ranks() const { return lig_instance_ranks(handle_.get()); }
    std::string run_name() const { return lig_run_name(handle_.get()); }

    // True if the code is to go through its execution loop once more. Waits for a message on each connected
    // F_INIT port. After false, the instance is over.
    bool reuse_instance() {
        bool again;
        detail::call(lig_reuse_instance, handle_.get(), &again);
        return again;
    }
    // Applies changes of settings. Call it once in each step, before the step's work, with the step's model
    // time in s. Returns true if settings have changed; the code then reads the settings that the step needs
    // again. All instances that a change concerns make it in their first step at or after the same model time.
    // The call waits while instances agree on a change, and while the run is halted.
    bool steer(double time) {
        bool changed;
        detail::call(lig_steer, handle_.get(), time, &changed);
        return changed;
    }
    // Declares that a setting can be steered, within a range, which may be infinite. `restart` is true if the
    // code reads the setting once in each pass of the reuse loop.
    void declare_steerable(const std::string &setting, double minimum, double maximum,
                           const std::string &unit = "", bool restart = false) {
        detail::call(lig_declare_steerable, handle_.get(), setting.c_str(), minimum, maximum, unit.c_str(),
                     restart);
    }

    // True in the first pass after the run was resumed: the code then calls load_snapshot. It is the first call
    // in each pass of a code with Flags::uses_checkpoint_api. The order of the calls in a pass is: resuming,
    // should_init, in each step should_save_snapshot, and at the end should_save_final_snapshot. A call in
    // another order throws UsageError, whose text names the next call.
    bool resuming() { return answer(lig_resuming); }
    // The message that was saved, if resuming() has returned true.
    Message load_snapshot() {
        lig_message *message;
        detail::call(lig_load_snapshot, handle_.get(), &message);
        return Message(message);
    }
    // True if the code must receive its F_INIT messages and set its state; false if the state was saved within
    // a pass, which now goes on.
    bool should_init() { return answer(lig_should_init); }
    // True if the code must save its state now, by save_snapshot. Call it once in each step, after the messages
    // of the step, with the model time in s. If no checkpoint is asked for, it takes some nanoseconds.
    bool should_save_snapshot(double time) {
        bool should_save;
        detail::call(lig_should_save_snapshot, handle_.get(), time, &should_save);
        return should_save;
    }
    // Saves the code's state at a time: any data that `send` takes, but for a loan. Arrays are not copied. A
    // full disk costs this checkpoint; the run goes on, and its log says so.
    template <class Data>
    void save_snapshot(Times times, const Data &state) {
        save(lig_save_snapshot, times, state);
    }
    // Does the same with a message, which may be a received one.
    void save_snapshot(const Message &message) { save(lig_save_snapshot, message.times(), message.data()); }
    // True if the code must save its state at the end of a pass, by save_final_snapshot. It is the last call of
    // each pass, and waits for the F_INIT messages of the next pass, whose time decides.
    bool should_save_final_snapshot() { return answer(lig_should_save_final_snapshot); }
    // Saves the code's state at the end of a pass, as save_snapshot does.
    template <class Data>
    void save_final_snapshot(Times times, const Data &state) {
        save(lig_save_final_snapshot, times, state);
    }
    void save_final_snapshot(const Message &message) {
        save(lig_save_final_snapshot, message.times(), message.data());
    }
    // A directory for files of the code's own beside the message of a checkpoint. Between should_save_snapshot
    // (or the final one) and the save it is the directory of the checkpoint that is being made, and exists.
    // Between resuming and should_init it is that of the checkpoint from which the run resumes, which is
    // missing if the code has made no files.
    std::string snapshot_directory() {
        const char *directory;
        detail::call(lig_snapshot_directory, handle_.get(), &directory);
        return directory;
    }

    // Ends all conduits on which this instance sends, and signs off.
    void finish() { detail::call(lig_finish, handle_.get()); }
    // Ends the whole run because of an error in this code; `why` is shown to the user.
    void error_shutdown(const std::string &why) {
        detail::call(lig_error_shutdown, handle_.get(), why.c_str());
    }

    Ports list_ports() const {
        Ports ports;
        for (const Operator op : {Operator::F_INIT, Operator::O_I, Operator::S, Operator::O_F}) {
            lig_names *names;
            detail::call(lig_list_ports, handle_.get(), static_cast<lig_operator>(op), &names);
            auto list = strings(names);
            if (!list.empty()) ports.emplace(op, std::move(list));
        }
        return ports;
    }
    bool is_connected(Name port) const { return about<bool>(lig_is_connected, port); }
    bool is_vector_port(Name port) const { return about<bool>(lig_is_vector_port, port); }
    // True if set_port_length can set the port's number of slots. This holds for vector ports that are
    // connected to vector ports, and not to the instances of a component.
    bool is_resizable(Name port) const { return about<bool>(lig_is_resizable, port); }
    // Sets the number of slots of a resizable port, which is 0 at first. Each message tells it to the
    // receivers.
    void set_port_length(Name port, std::size_t length) {
        detail::call(lig_set_port_length, handle_.get(), port.text, length);
    }
    // The number of slots of a vector port. For a resizable port that receives, this is the number that came
    // with the last received message.
    std::size_t get_port_length(Name port) const { return about<std::size_t>(lig_get_port_length, port); }

    // Says that this rank has a block of the port's array: it begins at the indices `start`, which count from
    // 0, and has the shape `shape`. The map holds until the next one. Throws UsageError if the model gives
    // the port no array, or if the block is not within the array.
    void map_block(Name port, const std::vector<std::uint64_t> &start,
                   const std::vector<std::uint64_t> &shape) {
        if (start.size() != shape.size()) {
            throw UsageError("a block has as many first indices as lengths, one for each dimension");
        }
        detail::call(lig_map_block, handle_.get(), port.text, start.size(), start.data(), shape.data());
    }
    // Does the same for the elements with the numbers `begin` to `end` (not included). Elements are numbered
    // from 0, so that the last index of the array runs fastest. Messages have one dimension.
    void map_range(Name port, std::uint64_t begin, std::uint64_t end) {
        detail::call(lig_map_range, handle_.get(), port.text, begin, end);
    }
    // Does the same for the elements with these numbers, in this order. No number may occur twice.
    void map_list(Name port, const std::vector<std::int64_t> &numbers) {
        detail::call(lig_map_list, handle_.get(), port.text, numbers.data(), numbers.size());
    }
    // The shape of the whole array of which a port carries a part; empty if nothing is connected to the port.
    std::vector<std::uint64_t> array_shape(Name port) const {
        std::uint64_t shape[LIG_MAX_DIMS];
        std::size_t ndim;
        detail::call(lig_array_shape, handle_.get(), port.text, shape, &ndim);
        return std::vector<std::uint64_t>(shape, shape + ndim);
    }

    // The time of the instance's clock, in the unit of the model's times (s, if the model gives no other). The
    // clock is at 0 when a pass of the reuse loop begins. Throws UsageError if the model gives no tick.
    double time() const {
        double time;
        detail::call(lig_time, handle_.get(), &time);
        return time;
    }
    // Advances the clock by one tick: sends the events that are due, waits for those that are to be delivered
    // by then, and applies changes of settings, as steer() does. Returns true if settings have changed. Throws
    // UsageError if delivered events were not read.
    bool tick() {
        bool changed;
        detail::call(lig_tick, handle_.get(), &changed);
        return changed;
    }
    // Sends an event. Its time lies between the time of the clock and the next tick; its id is at least 0, and
    // below the number in the model. Throws UsageError if time or id is not possible.
    void insert_event(Name port, double time, std::int32_t id) {
        detail::call(lig_insert_event, handle_.get(), port.text, time, id);
    }
    // Sends events. If one of them cannot be sent, none is.
    void insert_events(Name port, std::size_t count, const double *times, const std::int32_t *ids) {
        detail::call(lig_insert_events, handle_.get(), port.text, count, times, ids);
    }
    void insert_events(Name port, const std::vector<double> &times, const std::vector<std::int32_t> &ids) {
        if (times.size() != ids.size()) throw UsageError("events have as many times as ids");
        insert_events(port, times.size(), times.data(), ids.data());
    }
    // The next batch of events that have been delivered on a port up to now; it is empty if all have been read.
    // Its arrays are valid until the next tick. The events have no order.
    EventBatch events(Name port) {
        EventBatch batch;
        detail::call(lig_events, handle_.get(), port.text, &batch.count, &batch.times, &batch.ids);
        return batch;
    }
    // Calls `take(time, id)` for each event that has been delivered on a port up to now.
    template <class Take>
    void for_each_event(Name port, Take &&take) {
        for (EventBatch batch = events(port); batch.count > 0; batch = events(port)) {
            for (std::size_t i = 0; i < batch.count; ++i) take(batch.times[i], batch.ids[i]);
        }
    }

    // A setting as T: bool, an integer (which must fit), double or float, std::string,
    // std::vector<std::int64_t>, std::vector<double>, or std::vector<std::vector<double>>. Throws
    // SettingUnsetError, SettingTypeError.
    template <class T>
    T get_setting_as(Name setting) const {
        if constexpr (std::is_same_v<T, bool>) {
            return about<bool>(lig_get_setting_bool, setting);
        } else if constexpr (std::is_integral_v<T>) {
            const auto value = about<std::int64_t>(lig_get_setting_int, setting);
            const T fitted = static_cast<T>(value);
            if (static_cast<std::int64_t>(fitted) != value || (std::is_unsigned_v<T> && value < 0)) {
                throw SettingTypeError("setting \"" + std::string(setting.text) + "\" is " +
                                       std::to_string(value) +
                                       ", which does not fit the type that was asked for");
            }
            return fitted;
        } else if constexpr (std::is_floating_point_v<T>) {
            return static_cast<T>(about<double>(lig_get_setting_float, setting));
        } else if constexpr (std::is_same_v<T, std::string>) {
            return about<const char *>(lig_get_setting_string, setting);
        } else if constexpr (std::is_same_v<T, std::vector<std::int64_t>>) {
            return list<std::int64_t>(lig_get_setting_int_list, setting);
        } else if constexpr (std::is_same_v<T, std::vector<double>>) {
            return list<double>(lig_get_setting_float_list, setting);
        } else {
            static_assert(std::is_same_v<T, std::vector<std::vector<double>>>,
                          "a setting cannot be of this type");
            T grid;
            for (const lig_float_row &row : list<lig_float_row>(lig_get_setting_float_grid, setting)) {
                grid.emplace_back(row.values, row.values + row.count);
            }
            return grid;
        }
    }
    // The same setting, or `otherwise` if it is not set. Throws SettingTypeError.
    template <class T>
    T get_setting_as(Name setting, const T &otherwise) const {
        try {
            return get_setting_as<T>(setting);
        } catch (const SettingUnsetError &) {
            return otherwise;
        }
    }
    SettingType get_setting_type(Name setting) const {
        return static_cast<SettingType>(about<lig_setting_type>(lig_get_setting_type, setting));
    }
    // The names of the settings that this instance can ask for.
    std::vector<std::string> list_settings() const {
        lig_names *names;
        detail::call(lig_list_settings, handle_.get(), &names);
        return strings(names);
    }

    // Writes a line to the run's log.
    void log(LogLevel level, const std::string &text) {
        detail::call(lig_log, handle_.get(), static_cast<lig_log_level>(level), text.c_str());
    }

    // Sets a function that can interrupt a wait: while a call waits, it calls `check` at least once a second.
    // If `check` returns true, the call throws InterruptedError.
    void set_interrupt_check(bool (*check)(void *user), void *user = nullptr) {
        detail::call(lig_set_interrupt_check, handle_.get(), check, user);
    }

    // Sends data at a time, or at {time, next time}. The data is nullptr for none, a bool, integer or number,
    // std::complex<double>, text, Bytes, a vector, span or other sequence of elements, an ArrayRef, a received
    // ArrayView, a Value or a ValueView. The slot is for vector ports; the overlay is for components that serve
    // several others with different settings. Throws UsageError, OutOfMemoryError, RunEndsError,
    // InterruptedError.
    template <class Data>
    void send(Name port, Times times, const Data &data, Slot slot = {}, Overlay overlay = {}) {
        const lig_send_options options = send_options(times, slot, overlay);
        lig_instance *instance = handle_.get();
        if constexpr (std::is_same_v<Data, std::nullptr_t>) {
            detail::call(lig_send, instance, port.text, &options, nullptr);
        } else if constexpr (std::is_same_v<Data, Value> || std::is_same_v<Data, ValueView>) {
            detail::call(lig_send, instance, port.text, &options, data.raw());
        } else if constexpr (detail::IsArrayRef<Data>::value) {
            data.lend([&](const lig_array *array) {
                detail::call(lig_send_array, instance, port.text, &options, array);
            });
        } else if constexpr (detail::IsArrayView<Data>::value) {
            const lig_array array = lent(data.raw());
            detail::call(lig_send_array, instance, port.text, &options, &array);
        } else if constexpr (detail::Sequence<Data>::value) {
            using Element = std::remove_cv_t<std::remove_pointer_t<decltype(data.data())>>;
            lig_array array{};
            array.dtype = detail::dtype_of<Element>();
            array.ndim = 1;
            array.shape[0] = data.size();
            array.data = const_cast<Element *>(data.data());
            detail::call(lig_send_array, instance, port.text, &options, &array);
        } else if constexpr (std::is_same_v<Data, std::vector<bool>>) {
            send(port, times, detail::Truths(data).array(), slot, overlay);
        } else if constexpr (std::is_same_v<Data, bool>) {
            detail::call(lig_send_bool, instance, port.text, &options, data);
        } else if constexpr (std::is_floating_point_v<Data>) {
            detail::call(lig_send_float, instance, port.text, &options, static_cast<double>(data));
        } else {
            static_assert(
                std::is_constructible_v<Value, const Data &>,
                "this type cannot be sent: a message holds truth values, numbers, texts, Bytes, arrays "
                "(ArrayRef, "
                "std::vector of numbers), Value::list and Value::map; put the members of a struct into a map");
            detail::call(lig_send, instance, port.text, &options, Value(data).raw());
        }
    }

    // Sends a list of elements as an array of one dimension.
    template <class T>
    void send(Name port, Times times, std::initializer_list<T> elements, Slot slot = {}, Overlay overlay = {}) {
        send(port, times, ArrayRef<const T>(elements.begin(), {elements.size()}), slot, overlay);
    }

    // Sends the array of a loan, without a copy if it has more than 64 KiB. The loan is gone afterwards, also
    // if this throws.
    template <class T>
    void send(Name port, Times times, Loan<T> &&loan, Slot slot = {}, Overlay overlay = {}) {
        const lig_send_options options = send_options(times, slot, overlay);
        detail::call(lig_send_loan, handle_.get(), port.text, &options, std::exchange(loan.loan_, nullptr));
    }

    // Sends a message, which may be a received one, with its settings if it has any.
    void send(Name port, const Message &message, Slot slot = {}) {
        send(port, message.times(), message.data(), slot, message.settings());
    }

    // Waits for the next message on a port. Throws UsageError, UnexpectedError, RunEndsError, InterruptedError,
    // and ClosedError if the conduit has ended.
    Message receive(Name port, Slot slot = {}) { return receive(port, receive_options(slot)); }

    // Does the same, but returns `otherwise` if nothing is connected to the port.
    Message receive(Name port, Message otherwise, Slot slot = {}) {
        const lig_receive_options options = receive_options(slot);
        lig_message *message;
        detail::call(lig_receive_if_connected, handle_.get(), port.text, &options, &message);
        return message ? Message(message) : std::move(otherwise);
    }

    // The value of the next message on a port as T: bool, a number, std::complex<double>, std::string, or
    // std::vector of elements. Throws as `receive`, and UnexpectedError if the value is something else.
    template <class T>
    T receive_as(Name port, Slot slot = {}) {
        return receive(port, slot).template as<T>();
    }

    // Does the same, but waits no longer than `wait`. Throws TimedOutError if no message has come by then.
    template <class Rep, class Period>
    Message receive_within(Name port, std::chrono::duration<Rep, Period> wait, Slot slot = {}) {
        return receive(port, receive_options(slot, seconds(wait)));
    }

    // Does the same as `receive`, and keeps the message's overlay of settings for its settings(). The overlay
    // is not compared with the one in force. This is for codes that serve several others with different
    // settings. The overlay of an F_INIT message is already in force for the pass, unless the instance was made
    // with Flags::dont_apply_overlay.
    Message receive_with_settings(Name port, Slot slot = {}) {
        return receive_with_settings(port, receive_options(slot));
    }

    // Does the same, but waits no longer than `wait`. Throws TimedOutError if no message has come by then.
    template <class Rep, class Period>
    Message receive_with_settings_within(Name port, std::chrono::duration<Rep, Period> wait, Slot slot = {}) {
        return receive_with_settings(port, receive_options(slot, seconds(wait)));
    }

    // Receives an array into the caller's array. Throws as `receive`, and UnexpectedError if type or shape
    // differ.
    template <class T>
    Times receive_into(Name port, const ArrayRef<T> &into, Slot slot = {}) {
        static_assert(!std::is_const_v<T>, "an array to receive into cannot be const");
        const lig_receive_options options = receive_options(slot);
        lig_times times;
        into.lend([&](const lig_array *array) {
            detail::call(lig_receive_into, handle_.get(), port.text, &options, array, &times);
        });
        return Times(times);
    }

    // Does the same for an array of one dimension, of the length of the vector or span.
    template <class T>
    Times receive_into(Name port, std::vector<T> &into, Slot slot = {}) {
        return receive_into(port, ArrayRef<T>(into.data(), {into.size()}), slot);
    }

    template <class T>
    Times receive_into(Name port, Span<T> into, Slot slot = {}) {
        return receive_into(port, ArrayRef<T>(into.data(), {into.size()}), slot);
    }

    // True if a receive would return at once, with a message or because the conduit has ended.
    bool poll(Name port, Slot slot = {}) {
        const lig_receive_options options = receive_options(slot);
        bool ready;
        detail::call(lig_poll, handle_.get(), port.text, &options, &ready);
        return ready;
    }

    // Waits until a message has arrived, or the conduit has ended. True if there is a message. On an F_INIT
    // port in the reuse loop, true if the message of this pass has not been received yet.
    bool has_next(Name port, Slot slot = {}) { return has_next(port, receive_options(slot)); }

    // Does the same, but waits no longer than `wait`. Throws TimedOutError.
    template <class Rep, class Period>
    bool has_next_within(Name port, std::chrono::duration<Rep, Period> wait, Slot slot = {}) {
        return has_next(port, receive_options(slot, seconds(wait)));
    }

    // Waits until a message has arrived on one of several ports, and returns the port's index in `ports`. A
    // conduit that has ended is ignored while another one may still have a message. Throws ClosedError if all
    // of them have ended.
    std::size_t wait_any(const std::vector<PortSlot> &ports) { return wait_any(ports, receive_options({})); }

    // Does the same, but waits no longer than `wait`. Throws TimedOutError.
    template <class Rep, class Period>
    std::size_t wait_any_within(const std::vector<PortSlot> &ports, std::chrono::duration<Rep, Period> wait) {
        return wait_any(ports, receive_options({}, seconds(wait)));
    }

    // Receives the first message that arrives on one of several ports, and returns it with the port's index in
    // `ports`. A conduit that has ended is ignored while another one may still have a message. Throws
    // ClosedError if all of them have ended.
    std::pair<std::size_t, Message> receive_any(const std::vector<PortSlot> &ports) {
        return receive_any(ports, receive_options({}));
    }

    // Does the same, but waits no longer than `wait`. Throws TimedOutError.
    template <class Rep, class Period>
    std::pair<std::size_t, Message> receive_any_within(const std::vector<PortSlot> &ports,
                                                       std::chrono::duration<Rep, Period> wait) {
        return receive_any(ports, receive_options({}, seconds(wait)));
    }

    // Lends memory for an array, to be filled in place and sent without a copy. Throws OutOfMemoryError.
    template <class T>
    Loan<T> loan(const Extents &shape, Order order = Order::row_major) {
        static_assert(!std::is_same_v<T, bool> || sizeof(bool) == 1, "a truth value is one byte in a message");
        lig_loan *loan;
        void *data;
        ArrayRef<T>(nullptr, shape, order).lend([&](const lig_array *like) {
            detail::call(lig_loan_create_like, handle_.get(), like, &loan, &data);
        });
        return Loan<T>(handle_, shape, order, loan, data);
    }

    // The instance in the form of the C interface.
    lig_instance *raw() const noexcept { return handle_.get(); }

private:
    // The instance of a light component, which the library lends.
    friend struct detail::Light;
    struct LightHandle {
        lig_instance *instance;
    };
    explicit Instance(const LightHandle &lent)
        : handle_(lent.instance, [](lig_instance *) {}), exceptions_(std::uncaught_exceptions()) {}

    // The arguments are in structs, so that no `{}` of a caller is taken for one of these constructors.
    struct Options {
        const Ports *ports;
        Flags flags;
        Parallelism parallelism;
    };
    explicit Instance(const Options &given) : exceptions_(std::uncaught_exceptions()) {
        std::vector<lig_port> ports;
        if (given.ports) {
            for (const auto &[op, names] : *given.ports) {
                for (const std::string &name : names)
                    ports.push_back({static_cast<lig_operator>(op), name.c_str()});
            }
        }
        static const lig_port none{};
        lig_instance_options options{};
        options.size = sizeof options;
        options.ports = ports.empty() ? (given.ports ? &none : nullptr) : ports.data();
        options.port_count = ports.size();
        options.flags = static_cast<std::uint64_t>(given.flags);
        options.language = "c++";
        options.ranks = given.parallelism.ranks;
        options.threads = given.parallelism.threads;
        lig_instance *handle;
        detail::call(lig_instance_create, static_cast<const lig_instance_options *>(&options), &handle);
        handle_.reset(handle, detail::FreeInstance());
        detail::Uncaught::watch(handle);
    }

    static lig_send_options send_options(const Times &times, Slot slot, Overlay overlay) {
        lig_send_options options;
        options.size = sizeof options;
        options.timestamp = times.timestamp;
        options.next_timestamp = times.next_timestamp.value_or(0.0);
        options.has_next_timestamp = times.next_timestamp.has_value();
        options.has_slot = slot.given();
        options.slot = slot.number();
        options.settings = overlay.raw();
        return options;
    }

    static lig_receive_options receive_options(Slot slot, std::optional<double> timeout = std::nullopt) {
        lig_receive_options options;
        options.size = sizeof options;
        options.timeout = timeout.value_or(0.0);
        options.has_timeout = timeout.has_value();
        options.has_slot = slot.given();
        options.slot = slot.number();
        return options;
    }

    template <class Rep, class Period>
    static double seconds(std::chrono::duration<Rep, Period> wait) {
        const double time = std::chrono::duration<double>(wait).count();
        return time > 0 ? time : 0;
    }

    static lig_array lent(const lig_array_view &view) {
        lig_array array{};
        array.dtype = view.dtype;
        array.ndim = view.ndim;
        array.order = view.order;
        for (std::size_t i = 0; i < view.ndim; ++i) array.shape[i] = view.shape[i];
        if (!view.contiguous) array.strides = view.strides;
        array.data = const_cast<void *>(view.data);
        return array;
    }

    static std::vector<std::string> strings(lig_names *names) {
        const std::unique_ptr<lig_names, void (*)(lig_names *)> owner(names, lig_names_free);
        std::vector<std::string> list;
        for (std::size_t i = 0; i < lig_names_count(names); ++i) list.emplace_back(lig_names_at(names, i));
        return list;
    }

    Message receive(Name port, const lig_receive_options &options) {
        lig_message *message;
        detail::call(lig_receive, handle_.get(), port.text, &options, &message);
        return Message(message);
    }

    Message receive_with_settings(Name port, const lig_receive_options &options) {
        lig_message *message;
        detail::call(lig_receive_with_settings, handle_.get(), port.text, &options, &message);
        return Message(message);
    }

    static std::vector<lig_port_slot> entries_of(const std::vector<PortSlot> &ports) {
        std::vector<lig_port_slot> entries;
        entries.reserve(ports.size());
        for (const PortSlot &entry : ports) {
            entries.push_back({entry.port, entry.slot.given(), entry.slot.number()});
        }
        return entries;
    }

    std::pair<std::size_t, Message> receive_any(const std::vector<PortSlot> &ports,
                                                const lig_receive_options &options) {
        const auto entries = entries_of(ports);
        std::size_t which;
        lig_message *message;
        detail::call(lig_receive_any, handle_.get(), entries.data(), entries.size(), &options, &which,
                     &message);
        return {which, Message(message)};
    }

    bool has_next(Name port, const lig_receive_options &options) {
        bool more;
        detail::call(lig_has_next, handle_.get(), port.text, &options, &more);
        return more;
    }

    std::size_t wait_any(const std::vector<PortSlot> &ports, const lig_receive_options &options) {
        const auto entries = entries_of(ports);
        std::size_t which;
        detail::call(lig_wait_any, handle_.get(), entries.data(), entries.size(), &options, &which);
        return which;
    }

    template <class Function>
    bool answer(Function function) {
        bool yes;
        detail::call(function, handle_.get(), &yes);
        return yes;
    }

    // Saves data as the state of the code. Arrays are borrowed for the call.
    template <class Function, class Data>
    void save(Function function, const Times &times, const Data &data) {
        lig_times saved{};
        saved.timestamp = times.timestamp;
        saved.next_timestamp = times.next_timestamp.value_or(0.0);
        saved.has_next_timestamp = times.next_timestamp.has_value();
        const auto put = [&](const lig_value *state) {
            detail::call(function, handle_.get(), static_cast<const lig_times *>(&saved), state);
        };
        if constexpr (std::is_same_v<Data, Value> || std::is_same_v<Data, ValueView>) {
            put(data.raw());
        } else if constexpr (detail::IsArrayRef<Data>::value) {
            put(Value::borrowed(data).raw());
        } else if constexpr (detail::Sequence<Data>::value &&
                             !std::is_constructible_v<std::string_view, Data> &&
                             !std::is_same_v<Data, Bytes>) {
            using Element = std::remove_pointer_t<decltype(data.data())>;
            put(Value::borrowed(ArrayRef<Element>(data.data(), {data.size()})).raw());
        } else {
            static_assert(std::is_constructible_v<Value, const Data &>,
                          "this type cannot be saved: a state holds what a message holds; put the members of a "
                          "struct into a Value::map");
            put(Value(data).raw());
        }
    }

    template <class Result, class Function>
    Result about(Function function, Name name) const {
        Result result;
        detail::call(function, handle_.get(), name.text, &result);
        return result;
    }

    template <class Item, class Function>
    std::vector<Item> list(Function function, Name setting) const {
        const Item *items;
        std::size_t count;
        detail::call(function, handle_.get(), setting.text, &items, &count);
        return std::vector<Item>(items, items + count);
    }

    std::shared_ptr<lig_instance> handle_;
    int exceptions_ = 0;
};

}  // namespace ligament

#endif
