// Errors as exceptions: one class for each status, and the function that throws them.
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

// The base of SettingUnsetError and SettingTypeError.
class SettingError : public Error {
    using Error::Error;
};

// The classes differ only in their status and in their name, which a user sees if no code catches the
// exception.
#define LIGAMENT_ERROR_CLASS(Name, Base, Status)                     \
    class Name : public Base {                                       \
    public:                                                          \
        explicit Name(const std::string &text) : Base(Status, text) {} \
    }

// There is no run to join, or the run refused this instance.
LIGAMENT_ERROR_CLASS(RegistrationError, Error, LIG_ERR_REGISTRATION);
// The code used the library in a way that cannot work.
LIGAMENT_ERROR_CLASS(UsageError, Error, LIG_ERR_USAGE);
// A message or value is not what the caller asked for.
LIGAMENT_ERROR_CLASS(UnexpectedError, Error, LIG_ERR_UNEXPECTED);
// The conduit has ended: no more messages will arrive on this port.
LIGAMENT_ERROR_CLASS(ClosedError, Error, LIG_ERR_CLOSED);
// A setting is not set.
LIGAMENT_ERROR_CLASS(SettingUnsetError, SettingError, LIG_ERR_SETTING_UNSET);
// A setting is of another type than the requested one.
LIGAMENT_ERROR_CLASS(SettingTypeError, SettingError, LIG_ERR_SETTING_TYPE);
// No message arrived within the time allowed.
LIGAMENT_ERROR_CLASS(TimedOutError, Error, LIG_ERR_TIMED_OUT);
// The interrupt check ended the wait.
LIGAMENT_ERROR_CLASS(InterruptedError, Error, LIG_ERR_INTERRUPTED);
// The run has too little memory to store the message.
LIGAMENT_ERROR_CLASS(OutOfMemoryError, Error, LIG_ERR_OUT_OF_MEMORY);
// The run is ending; the text gives the reason.
LIGAMENT_ERROR_CLASS(RunEndsError, Error, LIG_ERR_RUN_ENDS);
// The operating system failed, or another process sent wrong data.
LIGAMENT_ERROR_CLASS(SystemError, Error, LIG_ERR_SYSTEM);
// The library itself has a fault.
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

// Calls `function` with a lig_error as its last argument. Throws if it does not return LIG_OK.
template <class Function, class... Arguments>
inline void call(Function function, Arguments... arguments) {
    lig_error error;  // written only after an error
    const lig_status status = function(arguments..., &error);
    if (status != LIG_OK) fail(status, error.message);
}

inline std::string text_of(const lig_string &text) {
    return text.data ? std::string(text.data, text.size) : std::string();
}

}  // namespace detail
}  // namespace ligament

#endif
