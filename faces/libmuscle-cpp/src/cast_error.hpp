// The exception for a value of another type than was asked for.
#ifndef LIGAMENT_FACE_CAST_ERROR_HPP
#define LIGAMENT_FACE_CAST_ERROR_HPP

#include <stdexcept>
#include <string>
#include <typeinfo>

namespace face {

// A std::bad_cast, as MUSCLE 3 throws it, with a text.
class CastError : public std::bad_cast {
public:
    explicit CastError(std::string const &text) : text_(text) {}
    char const *what() const noexcept override { return text_.what(); }

private:
    std::runtime_error text_;  // its copies share the text, and cannot fail
};

}  // namespace face

#endif
