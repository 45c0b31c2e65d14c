// The instance of a program, from init to finalize.
#ifndef LIGAMENT_MUSCLE2_SESSION_HPP
#define LIGAMENT_MUSCLE2_SESSION_HPP

#include <ligament/ligament.hpp>
#include <memory>
#include <string>

#include "clock.hpp"
#include "muscle2/exception.hpp"

namespace muscle {

struct Session {
    ligament::Instance instance;
    std::unique_ptr<Clock> clock;

    // The session between init and finalize. Throws muscle_exception outside of them, and in ranks of MPI other
    // than 0.
    static Session &current(const char *call);
    static std::unique_ptr<Session> &slot();

    // The clock, made of dt, T and max_timesteps when it is first needed.
    Clock &times();
    // A setting as MUSCLE 2 writes it; nothing if it is not there. `command` and `args` are those of the
    // program unless the model has such settings.
    std::optional<std::string> setting(const std::string &name) const;
};

// The name that a port or setting of MUSCLE 2 has in a model file, where `-` is `_`.
std::string in_model(std::string name);

// Calls `work`, and turns errors of Ligament into muscle_exception.
template <class Work>
auto guarded(Work &&work) {
    try {
        return work();
    } catch (const ligament::Error &error) {
        throw muscle_exception(error.what());
    }
}

}  // namespace muscle

#endif
