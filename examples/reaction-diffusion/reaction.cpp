// The micro model: a reaction at every point of a field, each point by itself. It starts from the received
// concentrations, integrates for t_max, and sends the result back.
#include <ligament/ligament.hpp>

#include <cmath>
#include <exception>
#include <iostream>
#include <vector>

namespace {

// A + B -> 2 B at rate r: logistic growth of the concentration u of B, relative to the total.
double rate(double r, double u) { return r * u * (1 - u); }

// One step of the classical Runge-Kutta method for every concentration.
void step(std::vector<double> &concentrations, double r, double dt) {
    for (double &u : concentrations) {
        const double k1 = rate(r, u);
        const double k2 = rate(r, u + dt / 2 * k1);
        const double k3 = rate(r, u + dt / 2 * k2);
        const double k4 = rate(r, u + dt * k3);
        u = u + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4);
    }
}

}  // namespace

int main() try {
    using ligament::Operator;
    ligament::Instance instance({{Operator::F_INIT, {"initial_state"}}, {Operator::O_F, {"final_state"}}},
                                ligament::Flags::keeps_no_state_for_next_use);

    while (instance.reuse_instance()) {
        const double t_max = instance.get_setting_as<double>("t_max");
        const double dt = instance.get_setting_as<double>("dt");
        const double r = instance.get_setting_as<double>("r");

        const ligament::Message start = instance.receive("initial_state");
        const auto state = start.array<double>();
        std::vector<double> u(state.begin(), state.end());

        const long steps = std::lround(t_max / dt);
        for (long i = 0; i < steps; ++i) step(u, r, dt);

        instance.send("final_state", start.timestamp() + t_max, u);
    }
} catch (const std::exception &error) {
    // The instance has already reported the failure to the run.
    std::cerr << "reaction: " << error.what() << '\n';
    return 1;
}
