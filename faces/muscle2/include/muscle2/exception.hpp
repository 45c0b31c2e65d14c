// The exception of MUSCLE 2's calls in C++.
#ifndef LIGAMENT_MUSCLE2_EXCEPTION_HPP
#define LIGAMENT_MUSCLE2_EXCEPTION_HPP

#include <stdexcept>
#include <string>

namespace muscle {

// A call that failed. The text says what is wrong and what to do.
class muscle_exception : public std::runtime_error {
public:
    const int error_code;
    explicit muscle_exception(const std::string &text, int code = 0)
        : std::runtime_error(text), error_code(code) {}
    // The third argument says in MUSCLE 2 whether the text is left out of its log. Here nothing is logged.
    muscle_exception(const std::string &text, int code, bool) : muscle_exception(text, code) {}
    explicit muscle_exception(const std::exception &error) : muscle_exception(std::string(error.what())) {}
};

}  // namespace muscle

#endif
