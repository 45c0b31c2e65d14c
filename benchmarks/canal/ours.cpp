// A section of the example's duct: two instances. The way is `exchange`, or `overlap` with the computing.
#include <exception>
#include <iostream>

#include "../../examples/canal/section.hpp"
#include "steps.hpp"

int main(int count, char **words) try {
    const steps::Arguments arguments(count, words);
    ligament::Instance instance;
    while (instance.reuse_instance()) {
        const std::size_t number = ligament::Domain(instance).block();
        // Memory is taken on the core that uses it.
        steps::keep_to(arguments.cores.at(number));
        Section section(instance, {1, arguments.way == "overlap"}, true);
        const lattice::Fluid fluid(steps::viscosity, steps::acceleration);
        section.start(0, 0.01);
        steps::run(arguments, number, section.block(),
                   [&](long step) { section.step(fluid, static_cast<double>(step + 1)); });
    }
} catch (const std::exception &error) {
    std::cerr << "ours: " << error.what() << '\n';
    return 1;
}
