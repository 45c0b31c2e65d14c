// Model times of an instance, as MUSCLE 2 keeps them: each port has a time of its own. A message that is sent
// has the port's time, and its next time is a step `dt` later, which becomes the port's time. A received
// message sets the port's time to its next time, and brings sending ports that lie behind up to its time.
#ifndef LIGAMENT_MUSCLE2_CLOCK_HPP
#define LIGAMENT_MUSCLE2_CLOCK_HPP

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace muscle {

// Reads a time such as "1 ms" or "2 years" in s. A number alone is in s. Nothing if it is none.
std::optional<double> read_time(const std::string &text);

class Clock {
public:
    // `step` is above 0, and `end` is the time at which the instance is to stop, both in s.
    Clock(double step, double end) : step_(step), end_(end) {}

    // Returns the time and the next time of a message on a port that sends.
    std::pair<double, double> sent(const std::string &port);
    // Takes the times of a received message.
    void received(const std::string &port, double time, std::optional<double> next);
    // True if a port has reached the end.
    bool will_stop() const;

private:
    // A time as a number of steps since another one, so that sums of steps do not add up errors.
    struct PortTime {
        double begin = 0.0;
        std::uint64_t steps = 0;
    };
    double time(const PortTime &port) const { return port.begin + static_cast<double>(port.steps) * step_; }

    double step_, end_;
    std::map<std::string, PortTime> sending_;
    std::map<std::string, double> receiving_;
    double latest_ = 0.0;
};

}  // namespace muscle

#endif
