#include "clock.hpp"

#include <charconv>
#include <cmath>
#include <system_error>

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
    {"s", 1.0},         {"sec", 1.0},        {"second", 1.0},    {"seconds", 1.0},    {"min", MINUTE_S},
    {"h", HOUR_S},      {"minute", MINUTE_S}, {"hour", HOUR_S},  {"minutes", MINUTE_S}, {"hr", HOUR_S},
    {"hrs", HOUR_S},    {"hours", HOUR_S},   {"d", DAY_S},       {"day", DAY_S},      {"days", DAY_S},
    {"wk", WEEK_S},     {"wks", WEEK_S},     {"week", WEEK_S},   {"weeks", WEEK_S},   {"month", MONTH_S},
    {"months", MONTH_S}, {"yr", YEAR_S},     {"yrs", YEAR_S},    {"year", YEAR_S},    {"years", YEAR_S},
};

// Prefixes of the second.
constexpr UnitName PREFIXES[] = {
    {"deca", 1e1},  {"da", 1e1}, {"hecto", 1e2},  {"h", 1e2},  {"kilo", 1e3},   {"k", 1e3},
    {"K", 1e3},     {"M", 1e6},  {"mega", 1e6},   {"G", 1e9},  {"giga", 1e9},   {"T", 1e12},
    {"tera", 1e12}, {"P", 1e15}, {"peta", 1e15},  {"E", 1e18}, {"exa", 1e18},   {"d", 1e-1},
    {"deci", 1e-1}, {"c", 1e-2}, {"centi", 1e-2}, {"m", 1e-3}, {"milli", 1e-3}, {"u", 1e-6},
    {"micro", 1e-6}, {"n", 1e-9}, {"nano", 1e-9}, {"p", 1e-12}, {"pico", 1e-12}, {"f", 1e-15},
    {"femto", 1e-15}, {"a", 1e-18}, {"atto", 1e-18},
};

// Returns the size of a unit in s; nothing if it is no time.
std::optional<double> seconds_of(const std::string &unit) {
    for (const UnitName &known : UNITS) {
        if (unit == known.name) return known.seconds;
    }
    for (const UnitName &prefix : PREFIXES) {
        for (const char *second : {"s", "sec", "second", "seconds"}) {
            if (unit == std::string(prefix.name) + second) return prefix.seconds;
        }
    }
    return std::nullopt;
}

}  // namespace

std::optional<double> read_time(const std::string &text) {
    const char *begin = text.c_str(), *end = begin + text.size();
    while (*begin == ' ' || *begin == '\t') ++begin;
    if (begin[0] == '+' && begin[1] != '-') ++begin;
    double number = 0.0;
    // A point is a point, whatever the program's locale says.
    const auto read = std::from_chars(begin, end, number);
    if (read.ec != std::errc() || !std::isfinite(number)) return std::nullopt;
    std::string unit(read.ptr, end);
    unit.erase(0, unit.find_first_not_of(" \t"));
    if (!unit.empty()) unit.erase(unit.find_last_not_of(" \t") + 1);
    if (unit.empty()) return number;
    const std::optional<double> seconds = seconds_of(unit);
    if (!seconds) return std::nullopt;
    return number * *seconds;
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
    // The ports that were not used yet stand at 0.
    if (end <= 0.0) return true;
    for (const auto &[name, of] : sending_) {
        if (time(of) >= end) return true;
    }
    for (const auto &[name, time_s] : receiving_) {
        if (time_s >= end) return true;
    }
    return false;
}

}  // namespace muscle
