// A mass between a wall and a neighbour, as in mass.py, for the other end of the middle spring.

#include <cstdio>
#include <ligament/ligament.hpp>

using ligament::Operator;

namespace {

struct State {
    double displacement; // m
    double velocity;     // m/s
};

struct Springs {
    double mass;    // kg
    double wall;    // N/m
    double between; // N/m

    double acceleration(double own, double neighbour) const {
        return (between * neighbour - (wall + between) * own) / mass;
    }
};

// The state after `dt` (s) by the trapezoidal rule. The neighbour moves from `here` to `there` (m).
State stepped(const State &state, double here, double there, double dt, const Springs &springs) {
    const double before = springs.acceleration(state.displacement, here);
    const double pushed = state.displacement + dt * state.velocity +
                          dt * dt / 4 * (before + springs.between * there / springs.mass);
    const double stiffness = (springs.wall + springs.between) / springs.mass;
    const double displacement = pushed / (1 + dt * dt / 4 * stiffness);
    const double after = springs.acceleration(displacement, there);
    return {displacement, state.velocity + dt / 2 * (before + after)};
}

} // namespace

int main() {
    ligament::Instance instance({{Operator::O_I, {"displacement"}}, {Operator::S, {"initial", "neighbour"}}});
    while (instance.reuse_instance()) {
        const Springs springs{instance.get_setting_as<double>("mass"), instance.get_setting_as<double>("wall"),
                              instance.get_setting_as<double>("between")};
        State begin{instance.get_setting_as<double>("displaced"), 0.0}, computed = begin;
        instance.send("displacement", 0.0, begin.displacement);

        const ligament::Message initial = instance.receive("initial");
        double neighbour = initial.data().as<double>(), last = neighbour;
        ligament::Message came = instance.receive("neighbour");
        double time = came.timestamp();
        while (came.has_next_timestamp()) {
            if (came.timestamp() > time) { // the last window is accepted
                time = came.timestamp();
                begin = computed;
                neighbour = last;
            }
            last = came.data().as<double>();
            computed = stepped(begin, neighbour, last, came.next_timestamp() - time, springs);
            instance.send("displacement", came.next_timestamp(), computed.displacement);
            came = instance.receive("neighbour");
        }
        std::printf("at %.1f s: displacement %.17g m, velocity %.17g m/s\n", came.timestamp(),
                    computed.displacement, computed.velocity);
    }
}
