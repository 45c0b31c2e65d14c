// Errors as exceptions: one class for each status, and the call that throws them.
#ifndef LIGAMENT_ERROR_HPP
#define LIGAMENT_ERROR_HPP

#if __cplusplus < 201703L
#error \
    "Ligament's C++ interface needs C++17: compile with -std=c++17 "
    "(CMake: target_compile_features(... cxx_std_17))"
#endif

#include <ligament.h>

#include <stdexcept>
#include <string>

namespace ligament {

// The base of all errors of this library. The text says what is wrong, where, and what to do.
class Error : public std::runtime_error {
public:
    Error(lig_status status, const std::string &text) : std::runtime_error(text), status_(status) {}

    // The status of the C interface.
    lig_status status() const noexcept { return status_; }

private:
    lig_status status_;
};

// A setting cannot be had: what SettingUnsetError and SettingTypeError have in common.
class SettingError : public Error {
    using Error::Error;
};

// The classes differ in nothing but their status and their name, which people see when one is caught by nobody.
#define LIGAMENT_ERROR_CLASS(Name, Base, Status)                     \
    class Name : public Base {                                       \
    public:                                                          \
        explicit Name(const std::string &text) : Base(Status, text) {} \
    }

// There is no run to take part in, or it refused this instance.
LIGAMENT_ERROR_CLASS(RegistrationError, Error, LIG_ERR_REGISTRATION);
// The library was used in a way that cannot work.
LIGAMENT_ERROR_CLASS(UsageError, Error, LIG_ERR_USAGE);
// A message or value is not what was asked for.
LIGAMENT_ERROR_CLASS(UnexpectedError, Error, LIG_ERR_UNEXPECTED);
// The conduit has ended: nothing more will come on this port.
LIGAMENT_ERROR_CLASS(ClosedError, Error, LIG_ERR_CLOSED);
// A setting is not set.
LIGAMENT_ERROR_CLASS(SettingUnsetError, SettingError, LIG_ERR_SETTING_UNSET);
// A setting is of another type than was asked for.
LIGAMENT_ERROR_CLASS(SettingTypeError, SettingError, LIG_ERR_SETTING_TYPE);
// Nothing came within the time allowed.
LIGAMENT_ERROR_CLASS(TimedOutError, Error, LIG_ERR_TIMED_OUT);
// The interrupt check said to give up waiting.
LIGAMENT_ERROR_CLASS(InterruptedError, Error, LIG_ERR_INTERRUPTED);
// The message cannot be stored: the run has no memory left for it.
LIGAMENT_ERROR_CLASS(OutOfMemoryError, Error, LIG_ERR_OUT_OF_MEMORY);
// The run is ending; the text has the reason.
LIGAMENT_ERROR_CLASS(RunEndsError, Error, LIG_ERR_RUN_ENDS);
// The system, or data from another process, failed us.
LIGAMENT_ERROR_CLASS(SystemError, Error, LIG_ERR_SYSTEM);
// A fault in the library itself.
LIGAMENT_ERROR_CLASS(PanicError, Error, LIG_ERR_PANIC);

#undef LIGAMENT_ERROR_CLASS

namespace detail {

[[noreturn]] inline void fail(lig_status status, const std::string &text) {
    switch (status) {
        case LIG_ERR_REGISTRATION: throw RegistrationError(text);
        case LIG_ERR_USAGE: throw UsageError(text);
        case LIG_ERR_UNEXPECTED: throw UnexpectedError(text);
        case LIG_ERR_CLOSED: throw ClosedError(text);
        case LIG_ERR_SETTING_UNSET: throw SettingUnsetError(text);
        case LIG_ERR_SETTING_TYPE: throw SettingTypeError(text);
        case LIG_ERR_TIMED_OUT: throw TimedOutError(text);
        case LIG_ERR_INTERRUPTED: throw InterruptedError(text);
        case LIG_ERR_OUT_OF_MEMORY: throw OutOfMemoryError(text);
        case LIG_ERR_RUN_ENDS: throw RunEndsError(text);
        case LIG_ERR_SYSTEM: throw SystemError(text);
        case LIG_ERR_PANIC: throw PanicError(text);
        default: throw Error(status, text);
    }
}

// Calls `function` with a place for an error as its last argument; throws if it does not return LIG_OK.
template <class Function, class... Arguments>
inline void call(Function function, Arguments... arguments) {
    lig_error error;  // written only if there is one
    const lig_status status = function(arguments..., &error);
    if (status != LIG_OK) fail(status, error.message);
}

inline std::string text_of(const lig_string &text) {
    return text.data ? std::string(text.data, text.size) : std::string();
}

}  // namespace detail
}  // namespace ligament

#endif
