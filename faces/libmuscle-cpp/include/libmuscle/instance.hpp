// The instance of a component in a running model.
#ifndef LIGAMENT_FACE_LIBMUSCLE_INSTANCE_HPP
#define LIGAMENT_FACE_LIBMUSCLE_INSTANCE_HPP

#include "libmuscle/message.hpp"
#include "libmuscle/ports_description.hpp"
#include "libmuscle/util.hpp"

#ifdef MUSCLE_ENABLE_MPI
#include <mpi.h>
// The parameters of each constructor that a program with MPI can give besides.
#define LIGAMENT_FACE_RANKS , MPI_Comm const &communicator = MPI_COMM_WORLD, int root = 0
#else
#define LIGAMENT_FACE_RANKS
#endif

namespace libmuscle {

// Properties of an instance, which can be combined with `|`.
enum class InstanceFlags : int {
    NONE = 0,
    // Overlays that come with messages are not applied; the code reads them by receive_with_settings.
    DONT_APPLY_OVERLAY = 1,
    // The code makes the calls for checkpoints.
    USES_CHECKPOINT_API = 2,
    // The code keeps nothing from one pass of the reuse loop to the next.
    KEEPS_NO_STATE_FOR_NEXT_USE = 4,
    // The code keeps something, but can do without it when a run resumes.
    STATE_NOT_REQUIRED_FOR_NEXT_USE = 8,
    // No effect: Ligament does not check the order of sends and receives.
    SKIP_MMSF_SEQUENCE_CHECKS = 16,
};

inline InstanceFlags operator|(InstanceFlags a, InstanceFlags b) {
    return static_cast<InstanceFlags>(static_cast<int>(a) | static_cast<int>(b));
}
inline InstanceFlags operator&(InstanceFlags a, InstanceFlags b) {
    return static_cast<InstanceFlags>(static_cast<int>(a) & static_cast<int>(b));
}
inline bool operator!(InstanceFlags a) { return a == InstanceFlags::NONE; }

// An instance; copies are the same one. In a program with MPI all ranks of the communicator make it together,
// and call reuse_instance, receive, receive_with_settings, resuming, should_init, should_save_snapshot and
// should_save_final_snapshot together. Only the root asks about ports, and loads and saves snapshots. `send`
// and `error_shutdown` may be called on all ranks or on the root only. Every rank may ask for settings at any
// time.
class Instance {
public:
    // Joins the run, with the ports of the model, or with these, which must fit the model's. Throws
    // std::runtime_error if there is no run, or if it refuses the instance.
    Instance(int argc, char const *const argv[] LIGAMENT_FACE_RANKS);
    Instance(int argc, char const *const argv[], PortsDescription const &ports LIGAMENT_FACE_RANKS);
    Instance(int argc, char const *const argv[], InstanceFlags flags LIGAMENT_FACE_RANKS);
    Instance(int argc, char const *const argv[], PortsDescription const &ports,
             InstanceFlags flags LIGAMENT_FACE_RANKS);

    // True if there is another pass of the reuse loop. Waits for the messages of the F_INIT ports.
    bool reuse_instance();
    // Writes an error to the run's log and leaves the run. The run fails only if the program then ends with
    // another status than 0, or if a peer needs a message of this instance.
    void error_shutdown(std::string const &message);

    // The names of the settings that this instance can ask for.
    std::vector<std::string> list_settings() const;
    // The value of a setting, or the default if it is not set. Throws std::out_of_range if it is not set and
    // there is no default.
    ::ymmsl::SettingValue get_setting(std::string const &name,
                                      Optional<::ymmsl::SettingValue> const &default_value = {}) const;
    // The same as a std::string, int, std::int64_t, double, bool, std::vector<std::int64_t>,
    // std::vector<double>, or std::vector<std::vector<double>>. A whole number is given as a double, too.
    // Throws std::out_of_range, and a std::bad_cast if the value is of another type.
    template <typename ValueType>
    ValueType get_setting_as(std::string const &name,
                             Optional<ValueType> const &default_value = Optional<ValueType>()) const;

    // The names of the ports by operator; operators without ports are left out.
    PortsDescription list_ports() const;
    // Questions about a port. All throw std::out_of_range if there is no such port.
    bool is_connected(std::string const &port) const;
    bool is_vector_port(std::string const &port) const;
    bool is_resizable(std::string const &port) const;
    // The number of slots. Throws std::runtime_error if the port has no slots.
    int get_port_length(std::string const &port) const;
    // Sets the number of slots. Throws std::runtime_error if the port is not resizable.
    void set_port_length(std::string const &port, int length);

    // Sends a message; it returns once the data is stored. Throws std::logic_error if there is no such port, if
    // it does not send, or if the slot is wrong or missing.
    void send(std::string const &port_name, Message const &message);
    void send(std::string const &port_name, Message const &message, int slot);

    // Waits for the next message of a port; without settings. With a default, returns it if nothing is
    // connected to the port. Throws std::runtime_error if the port is not connected, or if its sender has
    // ended, and std::logic_error if there is no such port, if it does not receive, or if the slot is wrong or
    // missing. Ranks besides the root get a message without data.
    Message receive(std::string const &port_name);
    Message receive(std::string const &port_name, Message const &default_msg);
    Message receive(std::string const &port_name, int slot);
    Message receive(std::string const &port_name, int slot, Message const &default_msg);
    // The same, with the overlay of settings that came with the message.
    Message receive_with_settings(std::string const &port_name);
    Message receive_with_settings(std::string const &port_name, Message const &default_msg);
    Message receive_with_settings(std::string const &port_name, int slot);
    Message receive_with_settings(std::string const &port_name, int slot, Message const &default_msg);

    // The calls for checkpoints, in the order of a pass. All throw std::runtime_error if the order is another
    // one, or if the instance was made without USES_CHECKPOINT_API.
    // True in the first pass after the run was resumed.
    bool resuming();
    // The message that was saved, if resuming() has returned true.
    Message load_snapshot();
    // True if the code must receive its F_INIT messages and set its state.
    bool should_init();
    // True if the code must save its state now. The time is the model time, s.
    bool should_save_snapshot(double timestamp);
    void save_snapshot(Message message);
    // True if the code must save its state at the end of this pass. Waits for the next pass's F_INIT messages.
    bool should_save_final_snapshot();
    void save_final_snapshot(Message message);

private:
    class Impl;
    std::shared_ptr<Impl> impl_;
};

}  // namespace libmuscle

#undef LIGAMENT_FACE_RANKS

#endif
