// Answers each question once on each port and slot, and tries to answer a second time.
#include <ligament/ligament.hpp>

#include <iostream>
#include <vector>

using namespace ligament;

template <typename Send> static void refused(const char *what, Send send) {
    try {
        send();
        std::cout << what << ": sent" << std::endl;
    } catch (const UsageError &error) {
        std::cout << what << ": " << error.what() << std::endl;
    }
}

int main() {
    Instance instance({{Operator::F_INIT, {"start"}}, {Operator::O_F, {"end", "list", "many[]"}}});
    for (int pass = 0; instance.reuse_instance(); pass++) {
        instance.set_port_length("many", 2);
        const double time = instance.receive("start").timestamp();
        const std::vector<double> list(3, pass);
        instance.send("end", time, 1.0 * pass);
        refused("end", [&] { instance.send("end", time, -1.0); });
        instance.send("list", time, list);
        refused("list", [&] { instance.send("list", time + 1.0, list); });
        for (unsigned slot = 0; slot < 2; slot++) instance.send("many", time, 1.0 * pass + slot, slot);
        refused("many", [&] { instance.send("many", time, -1.0, 1); });
        refused("loan", [&] {
            auto loan = instance.loan<double>({3});
            instance.send("list", time, std::move(loan));
        });
    }
}
