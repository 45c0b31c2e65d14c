// The error of this library.
#pragma once

#include <stdexcept>
#include <string>

namespace precice {

// A call or a configuration that cannot be. The text says what, where, and what to do.
class Error : public std::runtime_error {
public:
    explicit Error(const std::string &what) : std::runtime_error(what) {}
};

}  // namespace precice
