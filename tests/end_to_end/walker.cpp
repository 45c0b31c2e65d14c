// A submodel that does not know its peers. In each step it sends its number, receives another, and adds one;
// the setting gives the number of steps. At the end it writes its number to a file.
#include <ligament/ligament.hpp>

#include <fstream>

int main() {
    ligament::Instance instance({{ligament::Operator::O_I, {"out"}}, {ligament::Operator::S, {"in"}}});
    while (instance.reuse_instance()) {
        auto number = instance.get_setting_as<std::int64_t>("start");
        const auto steps = instance.get_setting_as<std::int64_t>("steps");
        for (std::int64_t step = 0; step < steps; ++step) {
            instance.send("out", static_cast<double>(step), number);
            const ligament::Message message = instance.receive("in");
            number = message.data().as<std::int64_t>() + 1;
        }
        std::ofstream("number.txt") << number;
    }
}
