// Parts of the calls of the module `ymmsl`.
#ifndef LIGAMENT_FACE_FORTRAN_YMMSL_CALLS_HPP
#define LIGAMENT_FACE_FORTRAN_YMMSL_CALLS_HPP

#include "calls.hpp"

namespace face_fortran {

using ymmsl::Settings;

// The name of a setting, by number from 1. Throws std::out_of_range.
inline std::string key_of(Settings const &settings, std::size_t number) {
    auto const offset = static_cast<std::ptrdiff_t>(position(number, settings.size(), "set of settings"));
    return static_cast<std::string>(std::next(settings.begin(), offset)->first);
}

}  // namespace face_fortran

#endif
