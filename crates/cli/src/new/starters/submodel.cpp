// NAME: starts from a level, and ends with its square. Replace what is computed by your own.
#include <ligament/ligament.hpp>

using ligament::Operator;

int main() {
    ligament::Instance instance({{Operator::F_INIT, {"start"}}, {Operator::O_F, {"end"}}});
    while (instance.reuse_instance()) {
        const ligament::Message start = instance.receive("start");
        const double level = start.as<double>();
        instance.send("end", start.timestamp(), level * level);
    }
}
