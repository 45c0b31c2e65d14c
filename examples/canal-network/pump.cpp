// A pump: its flow follows from its order alone. A message with the level before it only starts a pass.
#include <exception>
#include <iostream>
#include <vector>

#include "order.hpp"

int main() try {
    using ligament::Operator;
    ligament::Instance instance(
        {{Operator::F_INIT, {"above"}}, {Operator::S, {"order"}}, {Operator::O_F, {"flow"}}},
        ligament::Flags::uses_checkpoint_api);
    const double capacity = instance.get_setting_as<double>("capacity");
    const double dt = instance.get_setting_as<double>("dt");
    Order order(instance);

    while (instance.reuse_instance()) {
        if (instance.resuming()) {
            const auto saved = instance.load_snapshot().as<std::vector<double>>();
            order.restore(saved.at(0), saved.at(1));
        }
        instance.should_init();  // true in each pass, because nothing is saved within one
        const ligament::Message above = instance.receive("above");
        instance.send("flow", above.times(), capacity * order.at(above.timestamp() + dt / 2));
        if (instance.should_save_final_snapshot()) {
            const std::vector<double> state = {order.opening(), order.next()};
            instance.save_final_snapshot(above.timestamp() + dt, state);
        }
    }
} catch (const std::exception &error) {
    std::cerr << "pump: " << error.what() << '\n';
    return 1;
}
