// The instance, with one rank or with those of MPI.
#include "libmuscle/instance.hpp"

#include <algorithm>
#include <ligament/ligament.hpp>
#include <limits>
#include <optional>
#include <stdexcept>

#include "cast_error.hpp"
#include "joining.hpp"
#include "node.hpp"
#include "setting_table.hpp"

#ifdef MUSCLE_ENABLE_MPI
#include "mpi_ranks.hpp"
#define LIGAMENT_FACE_RANKS , MPI_Comm const &communicator, int root
#define LIGAMENT_FACE_MADE face::Ranks(communicator, root)
#else
#include "one_rank.hpp"
#define LIGAMENT_FACE_RANKS
#define LIGAMENT_FACE_MADE face::Ranks()
#endif

namespace libmuscle {

using face::Call;
using ymmsl::SettingValue;

namespace {

constexpr std::pair<ymmsl::Operator, ligament::Operator> OPERATORS[] = {
    {ymmsl::Operator::F_INIT, ligament::Operator::F_INIT},
    {ymmsl::Operator::O_I, ligament::Operator::O_I},
    {ymmsl::Operator::S, ligament::Operator::S},
    {ymmsl::Operator::O_F, ligament::Operator::O_F},
};

// The call that a program has written, as `Instance` passes it on.
struct ReceiveRequest {
    std::string const &port;
    std::optional<int> slot = {};
    Message const *otherwise = nullptr;
    bool with_settings = false;
};

ligament::Slot slot_of(std::optional<int> slot) { return slot ? ligament::Slot(*slot) : ligament::Slot(); }

ligament::Ports ports_of(PortsDescription const &ports) {
    ligament::Ports made;
    for (auto const &entry : ports) {
        auto const *found = std::find_if(std::begin(OPERATORS), std::end(OPERATORS),
                                         [&](auto const &pair) { return pair.first == entry.first; });
        if (found == std::end(OPERATORS)) {
            throw std::runtime_error("a port has one of the operators F_INIT, O_I, S and O_F, not NONE");
        }
        made[found->second] = entry.second;
    }
    return made;
}

// The flags that the core knows; the numbers of MUSCLE 3's are written in many programs, and may be others.
ligament::Flags flags_of(InstanceFlags flags) {
    constexpr std::pair<InstanceFlags, ligament::Flags> FLAGS[] = {
        {InstanceFlags::DONT_APPLY_OVERLAY, ligament::Flags::dont_apply_overlay},
        {InstanceFlags::USES_CHECKPOINT_API, ligament::Flags::uses_checkpoint_api},
        {InstanceFlags::KEEPS_NO_STATE_FOR_NEXT_USE, ligament::Flags::keeps_no_state_for_next_use},
        {InstanceFlags::STATE_NOT_REQUIRED_FOR_NEXT_USE, ligament::Flags::state_not_required_for_next_use},
    };
    ligament::Flags made = ligament::Flags::none;
    for (auto const &pair : FLAGS) {
        if (!!(flags & pair.first)) made = made | pair.second;
    }
    return made;
}

ligament::Times times_of(Message const &message) {
    ligament::Times times(message.timestamp());
    if (message.has_next_timestamp()) times.next_timestamp = message.next_timestamp();
    return times;
}

Message message_of(ligament::Message const &got, bool with_settings) {
    Message message(got.timestamp(), face::Access::data(face::from_ligament(got.data())));
    if (got.has_next_timestamp()) message.set_next_timestamp(got.next_timestamp());
    if (with_settings) {
        auto const settings = got.settings();
        message.set_settings(settings ? face::settings_from_ligament(*settings) : ymmsl::Settings());
    }
    return message;
}

// A checkpoint of Ligament holds no overlay of its message. A state with one is saved as a dict of these two,
// as by the face in Python.
constexpr char const *STATE = "libmuscle:state";
constexpr char const *OVERLAY = "libmuscle:settings";

DataConstRef state_of(Message const &message) {
    if (!message.has_settings() || message.settings().empty()) return message.data();
    return Data::dict(STATE, message.data(), OVERLAY, message.settings());
}

// The message that was saved. It has settings in any case, as in MUSCLE 3.
Message saved_of(ligament::Message const &got) {
    Message message = message_of(got, false);
    DataConstRef const saved(message.data());
    ymmsl::Settings overlay;
    if (saved.is_a_dict() && saved.size() == 2 && saved.key(0) == STATE && saved.key(1) == OVERLAY) {
        overlay = saved.value(1).as<ymmsl::Settings>();
        message.set_data(saved.value(0));
    }
    message.set_settings(overlay);
    return message;
}

// The value of a setting as T.
template <class T>
T converted(std::string const &name, SettingValue const &value) {
    try {
        return value.as<T>();
    } catch (std::bad_cast const &error) {
        throw ::face::CastError("setting \"" + name + "\": " + error.what());
    }
}

}  // namespace

class Instance::Impl {
public:
    Impl(int argc, char const *const argv[], PortsDescription const *ports, InstanceFlags flags,
         face::Ranks ranks)
        : ranks_(std::move(ranks)), flags_(flags) {
        ranks_.together(Call::create, nullptr, [&] {
            face::join_by_hand(argc, argv);
            ranks_.speak([&] {
                if (ports) core_.emplace(ports_of(*ports), flags_of(flags));
                else core_.emplace(ligament::Instance::with_flags(flags_of(flags)));
            });
            if (core_->ranks() == 1) return true;
            char const *why =
                "the model says under \"ranks:\" that each rank of this instance speaks for itself, which "
                "libmuscle cannot do; take the component out of \"ranks:\"";
            core_->error_shutdown(why);
            throw std::runtime_error(why);
        });
        share_settings();
    }

    bool reuse_instance() {
        bool const again = ranks_.together(Call::reuse, nullptr, [&] { return core_->reuse_instance(); });
        if (again) share_settings();
        return again;
    }

    void error_shutdown(std::string const &message) {
        if (!ranks_.is_root()) return;
        try {
            core_->log(ligament::LogLevel::critical, message);
        } catch (ligament::Error const &) {  // the instance is over, and its end is all that is wanted
        }
        core_->finish();
    }

    std::vector<std::string> list_settings() const {
        if (ranks_.is_root()) return core_->list_settings();
        std::vector<std::string> names;
        for (auto const &setting : settings_) names.push_back(setting.first);
        return names;
    }

    Optional<SettingValue> find_setting(std::string const &name) const {
        if (ranks_.is_root()) return setting_of_core(name);
        auto const found = settings_.find(name);
        return found == settings_.end() ? Optional<SettingValue>() : found->second;
    }

    // Asks the core about a port.
    template <class Function>
    auto ask(std::string const &port, char const *call, Function function) {
        check_root(call);
        try {
            return function(*core_);
        } catch (ligament::UsageError const &error) {
            if (operator_of(port)) throw;
            throw std::out_of_range(error.what());
        }
    }

    PortsDescription list_ports() {
        check_root("list_ports");
        auto const listed = core_->list_ports();
        PortsDescription ports;
        for (auto const &pair : OPERATORS) {
            auto const found = listed.find(pair.second);
            if (found != listed.end()) ports[pair.first] = found->second;
        }
        return ports;
    }

    void send(std::string const &port, Message const &message, std::optional<int> slot) {
        if (!ranks_.is_root()) return;
        std::optional<ligament::Value> overlay;
        if (message.has_settings()) overlay = face::settings_to_ligament(message.settings());
        ligament::Value const value = face::to_ligament(face::Access::node(message.data()));
        try {
            core_->send(port, times_of(message), value, slot_of(slot),
                        overlay ? ligament::Overlay(*overlay) : ligament::Overlay());
        } catch (ligament::UsageError const &error) {
            throw std::logic_error(error.what());
        }
    }

    Message receive(ReceiveRequest const &wanted) {
        Message result(-1.0, DataConstRef());  // what ranks besides the root get
        try {
            ranks_.together(Call::receive, wanted.port.c_str(), [&] {
                result = receive_on_root(wanted);
                return true;
            });
        } catch (ligament::UsageError const &error) {
            throw std::logic_error(error.what());
        }
        return result;
    }

    template <class Function>
    bool together(Call call, char const *name, Function function) {
        check_flag(name);
        return ranks_.together(call, nullptr, [&] { return function(*core_); });
    }

    Message load_snapshot() {
        check_flag("load_snapshot");
        check_root("load_snapshot");
        return saved_of(core_->load_snapshot());
    }

    template <class Function>
    void save(char const *name, Message const &message, Function function) {
        check_flag(name);
        check_root(name);
        DataConstRef const state = state_of(message);
        function(*core_, times_of(message), face::to_ligament(face::Access::node(state)));
    }

private:
    // The operator of a port, if the instance has the port.
    std::optional<ligament::Operator> operator_of(std::string const &port) const {
        for (auto const &entry : core_->list_ports()) {
            if (std::count(entry.second.begin(), entry.second.end(), port) > 0) return entry.first;
        }
        return std::nullopt;
    }

    // True for a port that receives and to which nothing is connected.
    bool lacks_sender(std::string const &port) const {
        auto const found = operator_of(port);
        bool const receives = found == ligament::Operator::F_INIT || found == ligament::Operator::S;
        return receives && !core_->is_connected(port);
    }

    Message receive_on_root(ReceiveRequest const &wanted) {
        if (wanted.otherwise && lacks_sender(wanted.port)) return *wanted.otherwise;
        try {
            ligament::Slot const slot = slot_of(wanted.slot);
            return message_of(wanted.with_settings ? core_->receive_with_settings(wanted.port, slot)
                                                   : core_->receive(wanted.port, slot),
                              wanted.with_settings);
        } catch (ligament::UsageError const &error) {
            // MUSCLE 3 tells a port without a sender from a port that does not exist by the exception.
            if (lacks_sender(wanted.port)) throw ligament::UnexpectedError(error.what());
            throw;
        }
    }

    Optional<SettingValue> setting_of_core(std::string const &name) const {
        try {
            switch (core_->get_setting_type(name)) {
                case ligament::SettingType::boolean: return {core_->get_setting_as<bool>(name)};
                case ligament::SettingType::integer: return {core_->get_setting_as<std::int64_t>(name)};
                case ligament::SettingType::number: return {core_->get_setting_as<double>(name)};
                case ligament::SettingType::string: return {core_->get_setting_as<std::string>(name)};
                case ligament::SettingType::integers:
                    return {core_->get_setting_as<std::vector<std::int64_t>>(name)};
                case ligament::SettingType::numbers:
                    return {core_->get_setting_as<std::vector<double>>(name)};
                default: return {core_->get_setting_as<std::vector<std::vector<double>>>(name)};
            }
        } catch (ligament::SettingUnsetError const &) {
            return {};
        }
    }

    // Gives the settings to the ranks that cannot ask the core.
    void share_settings() {
#ifdef MUSCLE_ENABLE_MPI
        std::string bytes;
        if (ranks_.is_root()) {
            for (std::string const &name : core_->list_settings()) {
                auto const value = setting_of_core(name);
                if (value.is_set()) settings_[name] = value.get();
            }
            bytes = face::to_bytes(settings_);
        }
        ranks_.give(bytes);
        settings_ = face::from_bytes(bytes);
#endif
    }

    void check_root(char const *call) const {
        if (!ranks_.is_root()) {
            throw std::runtime_error(std::string(call) + " is a call of the root rank; call it there only");
        }
    }

    void check_flag(char const *call) const {
        if (!(flags_ & InstanceFlags::USES_CHECKPOINT_API)) {
            throw std::runtime_error(std::string(call) +
                                     " belongs to the calls of checkpoints: make the instance with "
                                     "InstanceFlags::USES_CHECKPOINT_API");
        }
    }

    face::Ranks ranks_;
    InstanceFlags flags_;
    // After `ranks_`, so that it ends first.
    std::optional<ligament::Instance> core_;
    face::SettingTable settings_;
};

Instance::Instance(int argc, char const *const argv[] LIGAMENT_FACE_RANKS)
    : impl_(std::make_shared<Impl>(argc, argv, nullptr, InstanceFlags::NONE, LIGAMENT_FACE_MADE)) {}
Instance::Instance(int argc, char const *const argv[], PortsDescription const &ports LIGAMENT_FACE_RANKS)
    : impl_(std::make_shared<Impl>(argc, argv, &ports, InstanceFlags::NONE, LIGAMENT_FACE_MADE)) {}
Instance::Instance(int argc, char const *const argv[], InstanceFlags flags LIGAMENT_FACE_RANKS)
    : impl_(std::make_shared<Impl>(argc, argv, nullptr, flags, LIGAMENT_FACE_MADE)) {}
Instance::Instance(int argc, char const *const argv[], PortsDescription const &ports,
                   InstanceFlags flags LIGAMENT_FACE_RANKS)
    : impl_(std::make_shared<Impl>(argc, argv, &ports, flags, LIGAMENT_FACE_MADE)) {}

bool Instance::reuse_instance() { return impl_->reuse_instance(); }
void Instance::error_shutdown(std::string const &message) { impl_->error_shutdown(message); }

std::vector<std::string> Instance::list_settings() const { return impl_->list_settings(); }

SettingValue Instance::get_setting(std::string const &name,
                                   Optional<SettingValue> const &default_value) const {
    auto const found = impl_->find_setting(name);
    if (found.is_set()) return found.get();
    if (default_value.is_set()) return default_value.get();
    throw std::out_of_range("the setting \"" + name +
                            "\" is not set; set it under \"settings:\" in the model, or give a default");
}

template <typename ValueType>
ValueType Instance::get_setting_as(std::string const &name, Optional<ValueType> const &default_value) const {
    auto const found = impl_->find_setting(name);
    if (!found.is_set() && default_value.is_set()) return default_value.get();
    return converted<ValueType>(name, found.is_set() ? found.get() : get_setting(name));
}

#define LIGAMENT_FACE_SETTING(T) \
    template T Instance::get_setting_as<T>(std::string const &, Optional<T> const &) const
LIGAMENT_FACE_SETTING(std::string);
LIGAMENT_FACE_SETTING(int);
LIGAMENT_FACE_SETTING(std::int64_t);
LIGAMENT_FACE_SETTING(double);
LIGAMENT_FACE_SETTING(bool);
LIGAMENT_FACE_SETTING(std::vector<std::int64_t>);
LIGAMENT_FACE_SETTING(std::vector<double>);
LIGAMENT_FACE_SETTING(std::vector<std::vector<double>>);
#undef LIGAMENT_FACE_SETTING

PortsDescription Instance::list_ports() const { return impl_->list_ports(); }

bool Instance::is_connected(std::string const &port) const {
    return impl_->ask(port, "is_connected", [&](auto &core) { return core.is_connected(port); });
}

bool Instance::is_vector_port(std::string const &port) const {
    return impl_->ask(port, "is_vector_port", [&](auto &core) { return core.is_vector_port(port); });
}

bool Instance::is_resizable(std::string const &port) const {
    return impl_->ask(port, "is_resizable", [&](auto &core) { return core.is_resizable(port); });
}

int Instance::get_port_length(std::string const &port) const {
    auto const length =
        impl_->ask(port, "get_port_length", [&](auto &core) { return core.get_port_length(port); });
    if (length > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
        throw std::runtime_error("the port \"" + port + "\" has more slots than an int can say");
    }
    return static_cast<int>(length);
}

void Instance::set_port_length(std::string const &port, int length) {
    if (length < 0) {
        throw std::runtime_error("the port \"" + port + "\" cannot have " + std::to_string(length) +
                                 " slots; give a number of at least 0");
    }
    impl_->ask(port, "set_port_length", [&](auto &core) {
        core.set_port_length(port, static_cast<std::size_t>(length));
        return true;
    });
}

void Instance::send(std::string const &port_name, Message const &message) {
    impl_->send(port_name, message, std::nullopt);
}
void Instance::send(std::string const &port_name, Message const &message, int slot) {
    impl_->send(port_name, message, slot);
}

Message Instance::receive(std::string const &port_name) { return impl_->receive({port_name}); }
Message Instance::receive(std::string const &port_name, Message const &default_msg) {
    return impl_->receive({port_name, std::nullopt, &default_msg});
}
Message Instance::receive(std::string const &port_name, int slot) { return impl_->receive({port_name, slot}); }
Message Instance::receive(std::string const &port_name, int slot, Message const &default_msg) {
    return impl_->receive({port_name, slot, &default_msg});
}
Message Instance::receive_with_settings(std::string const &port_name) {
    return impl_->receive({port_name, std::nullopt, nullptr, true});
}
Message Instance::receive_with_settings(std::string const &port_name, Message const &default_msg) {
    return impl_->receive({port_name, std::nullopt, &default_msg, true});
}
Message Instance::receive_with_settings(std::string const &port_name, int slot) {
    return impl_->receive({port_name, slot, nullptr, true});
}
Message Instance::receive_with_settings(std::string const &port_name, int slot, Message const &default_msg) {
    return impl_->receive({port_name, slot, &default_msg, true});
}

bool Instance::resuming() {
    return impl_->together(Call::resuming, "resuming", [](auto &core) { return core.resuming(); });
}
Message Instance::load_snapshot() { return impl_->load_snapshot(); }
bool Instance::should_init() {
    return impl_->together(Call::should_init, "should_init", [](auto &core) { return core.should_init(); });
}
bool Instance::should_save_snapshot(double timestamp) {
    return impl_->together(Call::should_save_snapshot, "should_save_snapshot",
                           [&](auto &core) { return core.should_save_snapshot(timestamp); });
}
void Instance::save_snapshot(Message message) {
    impl_->save("save_snapshot", message,
                [](auto &core, auto times, auto const &state) { core.save_snapshot(times, state); });
}
bool Instance::should_save_final_snapshot() {
    return impl_->together(Call::should_save_final_snapshot, "should_save_final_snapshot",
                           [](auto &core) { return core.should_save_final_snapshot(); });
}
void Instance::save_final_snapshot(Message message) {
    impl_->save("save_final_snapshot", message,
                [](auto &core, auto times, auto const &state) { core.save_final_snapshot(times, state); });
}

}  // namespace libmuscle
