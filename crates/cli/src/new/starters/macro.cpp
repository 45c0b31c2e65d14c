// NAME: steps forward in time, and in every step asks a finer model. Replace what is computed by your own.
#include <iostream>
#include <ligament/ligament.hpp>

using ligament::Operator;

int main() {
    ligament::Instance instance({{Operator::O_I, {"state"}}, {Operator::S, {"result"}}});
    while (instance.reuse_instance()) {
        const double t_max = instance.get_setting_as<double>("t_max");
        double state = 1;
        for (double t = 0; t < t_max; t += 1) {
            const bool more = t + 1 < t_max;
            instance.send("state", {t, more ? std::optional(t + 1) : std::nullopt}, state);
            const double answer = instance.receive_as<double>("result");
            std::cout << "at " << t << " the finer model says " << answer << std::endl;
            state = answer + 1;
        }
    }
}
