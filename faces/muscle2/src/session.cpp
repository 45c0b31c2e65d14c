#include "session.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <limits>

#include "muscle2/cppmuscle.hpp"

namespace muscle {

namespace {

// Returns a number as Ruby and Java write it: with a point always.
std::string written(double number) {
    char text[40];
    const auto end = std::to_chars(text, text + sizeof text, number).ptr;
    std::string shown(text, end);
    const bool is_whole = shown.find_first_of(".en") == std::string::npos;
    return is_whole ? shown + ".0" : shown;
}

template <class T, class Write>
std::string listed(const std::vector<T> &numbers, Write &&write) {
    std::string text;
    for (const T &number : numbers) text += (text.empty() ? "" : " ") + write(number);
    return text;
}

// Returns a scale of the instance in s: `name`, or else `default_name`.
std::optional<double> scale(const Session &session, const std::string &name, const std::string &otherwise) {
    auto text = session.setting(name);
    if (!text && !otherwise.empty()) text = session.setting(otherwise);
    if (!text) return std::nullopt;
    const auto time = read_time(*text);
    if (!time) {
        throw muscle_exception("the setting " + name + " is \"" + *text +
                               "\", which is no time; write a number of s, or a number with a unit such as "
                               "\"1 ms\"");
    }
    return time;
}

// Returns what MUSCLE 2 has under `command` and `args`: the program that runs, and its arguments.
std::optional<std::string> started_with(const std::string &name) {
    if (name != "command" && name != "args") return std::nullopt;
    std::ifstream line("/proc/self/cmdline", std::ios::binary);
    std::string command, arguments;
    if (!std::getline(line, command, '\0')) return std::nullopt;
    if (name == "command") return command;
    for (std::string word; std::getline(line, word, '\0');) arguments += (arguments.empty() ? "" : " ") + word;
    return arguments.empty() ? std::nullopt : std::optional<std::string>(arguments);
}

}  // namespace

std::string in_model(std::string name) {
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
}

std::unique_ptr<Session> &Session::slot() {
    static std::unique_ptr<Session> session;
    return session;
}

Session &Session::current(const char *call) {
    if (!env::is_main_processor) {
        throw muscle_exception(std::string("call ") + call + " from rank 0 of MPI only");
    }
    if (!slot()) {
        throw muscle_exception(std::string(call) + " is called before init or after finalize; call init first");
    }
    return *slot();
}

Clock &Session::times() {
    if (!clock) {
        const double step = scale(*this, "dt", "default_dt").value_or(1.0);
        if (!(step > 0.0)) {
            throw muscle_exception("the setting dt is " + written(step) + ", and must be above 0");
        }
        const double none = std::numeric_limits<double>::infinity();
        const double end = scale(*this, "T", "default_T").value_or(none);
        clock = std::make_unique<Clock>(step, std::min(end, scale(*this, "max_timesteps", "").value_or(none)));
    }
    return *clock;
}

std::optional<std::string> Session::setting(const std::string &name) const {
    // A name may begin with that of the instance, as in the cxa file.
    const std::string own = instance.name() + ":";
    std::string key = in_model(name);
    if (key.compare(0, own.size(), own) == 0) key.erase(0, own.size());
    try {
        switch (instance.get_setting_type(key)) {
            case ligament::SettingType::boolean: return instance.get_setting_as<bool>(key) ? "true" : "false";
            case ligament::SettingType::integer:
                return std::to_string(instance.get_setting_as<std::int64_t>(key));
            case ligament::SettingType::number: return written(instance.get_setting_as<double>(key));
            case ligament::SettingType::string: return instance.get_setting_as<std::string>(key);
            case ligament::SettingType::integers:
                return listed(instance.get_setting_as<std::vector<std::int64_t>>(key),
                              [](std::int64_t number) { return std::to_string(number); });
            case ligament::SettingType::numbers:
                return listed(instance.get_setting_as<std::vector<double>>(key), written);
            case ligament::SettingType::grid: break;
        }
        throw muscle_exception("the setting " + name + " is a table, which MUSCLE 2 does not have");
    } catch (const ligament::SettingError &) {
        return started_with(key);
    }
}

}  // namespace muscle
