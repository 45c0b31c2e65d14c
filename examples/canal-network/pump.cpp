// A pump: its flow follows from its order alone. A message with the level before it only starts a pass.
#include <exception>
#include <iostream>

#include "order.hpp"

int main() try {
    using ligament::Operator;
    ligament::Instance instance(
        {{Operator::F_INIT, {"above"}}, {Operator::S, {"order"}}, {Operator::O_F, {"flow"}}});
    const double capacity = instance.get_setting_as<double>("capacity");
    const double dt = instance.get_setting_as<double>("dt");
    Order order(instance);

    while (instance.reuse_instance()) {
        const ligament::Message above = instance.receive("above");
        instance.send("flow", above.times(), capacity * order.at(above.timestamp() + dt / 2));
    }
} catch (const std::exception &error) {
    std::cerr << "pump: " << error.what() << '\n';
    return 1;
}
