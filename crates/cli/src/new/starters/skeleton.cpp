// ABOUT Made by `ligament new`: put your own code where it says "compute".
#include <cstdint>
#include <ligament/ligament.hpp>
#include <optional>
#include <vector>

using ligament::Operator;

int main() {
    ligament::Instance instance({PORTS});
    while (instance.reuse_instance()) {
        [[maybe_unused]] double t = 0, dt = 1;
        [[maybe_unused]] std::vector<double> state(3);
BODY
    }
}
