// A gate between two waters: the flow under it follows from the levels on both sides and from its opening.
#include <algorithm>
#include <cmath>
#include <exception>
#include <iostream>
#include <stdexcept>

#include "order.hpp"

namespace {

constexpr double gravity = 9.81;

struct Gate {
    double dt, width, height, sill, coefficient, inertia_length;
    bool one_way;
    double flow = 0;

    explicit Gate(const ligament::Instance &instance)
        : dt(instance.get_setting_as<double>("dt")),
          width(instance.get_setting_as<double>("width")),
          height(instance.get_setting_as<double>("height")),
          sill(instance.get_setting_as<double>("sill")),
          coefficient(instance.get_setting_as<double>("coefficient")),
          inertia_length(instance.get_setting_as<double>("inertia_length")),
          one_way(instance.get_setting_as<bool>("one_way")) {}

    // Returns the flow after a step. A steady flow is coefficient * area * sqrt(2 g (above - below)).
    double step(double above, double below, double opening) {
        const double area = width * std::max(0.0, std::min(height * opening, std::max(above, below) - sill));
        if (area == 0 || (one_way && below > above)) return flow = 0;
        const double loss = dt * std::abs(flow) / (2 * coefficient * coefficient * area * inertia_length);
        return flow = (flow + gravity * dt * area * (above - below) / inertia_length) / (1 + loss);
    }
};

}  // namespace

int main() try {
    using ligament::Operator;
    ligament::Instance instance(
        {{Operator::F_INIT, {"above", "below"}}, {Operator::S, {"order"}}, {Operator::O_F, {"flow"}}});
    Gate gate(instance);
    Order order(instance);

    // A pass is one step of the waters on both sides. The flow is kept between passes.
    while (instance.reuse_instance()) {
        const ligament::Message above = instance.receive("above");
        const ligament::Message below = instance.receive("below");
        if (std::abs(above.timestamp() - below.timestamp()) > gate.dt / 2) {
            throw std::runtime_error("the waters on both sides are at different times; they need the same dt");
        }
        const double opening = order.at(above.timestamp() + gate.dt / 2);
        const double flow = gate.step(above.data().as<double>(), below.data().as<double>(), opening);
        instance.send("flow", above.times(), flow);
    }
} catch (const std::exception &error) {
    // The instance has reported the failure to the run already.
    std::cerr << "gate: " << error.what() << '\n';
    return 1;
}
