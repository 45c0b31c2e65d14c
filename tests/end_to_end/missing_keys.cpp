// Receives a map, and asks for keys that it does not have. Each error must name the port of the map.
#include <ligament/ligament.hpp>

#include <cstdio>
#include <functional>

using namespace ligament;

static void told(const std::function<void()> &asks) {
    try {
        asks();
        std::printf("nothing is wrong\n");
    } catch (const UnexpectedError &error) {
        std::printf("%s\n", error.what());
    }
}

int main() {
    Instance instance({{Operator::S, {"in[]"}}});
    while (instance.reuse_instance()) {
        const Message message = instance.receive("in", 1);
        const ValueView map = message.data();
        told([&] { map.at("text").as<double>(); });
        told([&] { map.at("number").as<std::int8_t>(); });
        told([&] { map.at("array").array<float>(); });
        told([&] { map.at("nothing"); });
        told([&] { message.array<double>(); });
        const Message moved = instance.receive("in", 0);
        told([&] { moved.data().as<std::string>(); });
    }
}
