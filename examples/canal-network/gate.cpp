// A gate between two waters: the flow under it follows from the levels on both sides and from its opening.
#include <algorithm>
#include <cmath>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <vector>

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
        {{Operator::F_INIT, {"above", "below"}}, {Operator::S, {"order"}}, {Operator::O_F, {"flow"}}},
        ligament::Flags::uses_checkpoint_api);
    Gate gate(instance);
    Order order(instance);

    // A pass is one step of the waters on both sides. The flow and the order are kept between passes.
    while (instance.reuse_instance()) {
        if (instance.resuming()) {
            const auto saved = instance.load_snapshot().as<std::vector<double>>();
            gate.flow = saved.at(0);
            order.restore(saved.at(1), saved.at(2));
        }
        instance.should_init();  // true in each pass, because nothing is saved within one
        const ligament::Message above = instance.receive("above");
        const ligament::Message below = instance.receive("below");
        if (std::abs(above.timestamp() - below.timestamp()) > gate.dt / 2) {
            throw std::runtime_error("the waters on both sides are at different times; they need the same dt");
        }
        const double opening = order.at(above.timestamp() + gate.dt / 2);
        const double flow = gate.step(above.data().as<double>(), below.data().as<double>(), opening);
        instance.send("flow", above.times(), flow);
        if (instance.should_save_final_snapshot()) {
            const std::vector<double> state = {gate.flow, order.opening(), order.next()};
            instance.save_final_snapshot(above.timestamp() + gate.dt, state);
        }
    }
} catch (const std::exception &error) {
    // The instance has reported the failure to the run already.
    std::cerr << "gate: " << error.what() << '\n';
    return 1;
}
