// Parts of the calls of the module `ymmsl`.
#ifndef LIGAMENT_FACE_FORTRAN_YMMSL_CALLS_HPP
#define LIGAMENT_FACE_FORTRAN_YMMSL_CALLS_HPP

#include "calls.hpp"

namespace face_fortran {

using ymmsl::Settings;

// The value of a setting. Throws std::bad_cast if it is of another type.
template <class T>
T value_of(ymmsl::SettingValue const &value) {
    return value.as<T>();
}

// MUSCLE 3 gives a whole number as a real one, too; this is one that a real number holds.
template <>
inline double value_of<double>(ymmsl::SettingValue const &value) {
    constexpr std::int64_t MAX_EXACT = std::int64_t{1} << 53;
    if (value.is_a<std::int64_t>()) {
        auto const whole = value.as<std::int64_t>();
        if (-MAX_EXACT <= whole && whole <= MAX_EXACT) return static_cast<double>(whole);
    }
    return value.as<double>();
}

// The name of a setting, by number from 1. Throws std::out_of_range.
inline std::string key_of(Settings const &settings, std::size_t number) {
    auto const offset = static_cast<std::ptrdiff_t>(position(number, settings.size(), "set of settings"));
    return static_cast<std::string>(std::next(settings.begin(), offset)->first);
}

}  // namespace face_fortran

#endif
