#include "clock.hpp"

#include <cmath>
#include <cstdlib>

namespace muscle {

namespace {

constexpr double MINUTE_S = 60.0, HOUR_S = 3600.0, DAY_S = 86400.0, WEEK_S = 604800.0;
// MUSCLE 2's year has 365 days, and its month is a twelfth of that.
constexpr double MONTH_S = 2628000.0, YEAR_S = 31536000.0;
// Part of a step by which a time may miss the end.
constexpr double TOLERANCE_STEPS = 1e-6;

struct UnitName {
    const char *name;
    double seconds;
};

// `m` is no minute: it is a metre in MUSCLE 2.
constexpr UnitName UNITS[] = {
    {"s", 1.0},          {"sec", 1.0},        {"second", 1.0},      {"seconds", 1.0},    {"ms", 1e-3},
    {"us", 1e-6},        {"ns", 1e-9},        {"min", MINUTE_S},    {"minute", MINUTE_S}, {"minutes", MINUTE_S},
    {"h", HOUR_S},       {"hr", HOUR_S},      {"hrs", HOUR_S},      {"hour", HOUR_S},    {"hours", HOUR_S},
    {"d", DAY_S},        {"day", DAY_S},      {"days", DAY_S},      {"wk", WEEK_S},      {"wks", WEEK_S},
    {"week", WEEK_S},    {"weeks", WEEK_S},   {"month", MONTH_S},   {"months", MONTH_S}, {"yr", YEAR_S},
    {"yrs", YEAR_S},     {"year", YEAR_S},    {"years", YEAR_S},
};

}  // namespace

std::optional<double> read_time(const std::string &text) {
    char *end = nullptr;
    const double number = std::strtod(text.c_str(), &end);
    if (end == text.c_str() || !std::isfinite(number)) return std::nullopt;
    std::string unit(end);
    unit.erase(0, unit.find_first_not_of(" \t"));
    if (!unit.empty()) unit.erase(unit.find_last_not_of(" \t") + 1);
    if (unit.empty()) return number;
    for (const UnitName &known : UNITS) {
        if (unit == known.name) return number * known.seconds;
    }
    return std::nullopt;
}

std::pair<double, double> Clock::sent(const std::string &port) {
    PortTime &of = sending_.try_emplace(port, PortTime{latest_, 0}).first->second;
    const double now = time(of);
    ++of.steps;
    return {now, time(of)};
}

void Clock::received(const std::string &port, double time_s, std::optional<double> next) {
    receiving_[port] = next.value_or(time_s);
    if (time_s > latest_) latest_ = time_s;
    for (auto &[name, of] : sending_) {
        if (time(of) < time_s - TOLERANCE_STEPS * step_) of = PortTime{time_s, 0};
    }
}

bool Clock::will_stop() const {
    const double end = end_ - TOLERANCE_STEPS * step_;
    for (const auto &[name, of] : sending_) {
        if (time(of) >= end) return true;
    }
    for (const auto &[name, time_s] : receiving_) {
        if (time_s >= end) return true;
    }
    return false;
}

}  // namespace muscle
