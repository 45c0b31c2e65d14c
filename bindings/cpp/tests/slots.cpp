// Vector ports that are joined to vector ports. "dealer" sets the length of its port in each round, and sends
// to the slots in descending order. "player" learns the length, sends everything back, and answers on the same
// number of slots.
#include "check.hpp"

using namespace ligament;

static const std::size_t lengths[] = {3, 1, 5};

static void send_number(Instance &instance, const char *port, std::size_t round, std::size_t slot) {
    const double number = 10.0 * static_cast<double>(round) + static_cast<double>(slot);
    const Times times(static_cast<double>(round));
    if (slot % 3 == 0) {
        instance.send(port, times, number, slot);
    } else if (slot % 3 == 1) {
        instance.send(port, times, {number}, slot);
    } else {
        auto loan = instance.loan<double>({1});
        loan[0] = number;
        instance.send(port, times, std::move(loan), slot);
    }
}

static void expect_number(Instance &instance, const char *port, std::size_t round, std::size_t slot) {
    const Message message = instance.receive(port, slot);
    const double number = slot % 3 ? message.array<double>()[0] : message.data().as<double>();
    HOLDS(number == 10.0 * static_cast<double>(round) + static_cast<double>(slot));
    HOLDS(message.timestamp() == static_cast<double>(round));
}

static void deal(Instance &instance, std::size_t round) {
    const std::size_t length = lengths[round];
    instance.set_port_length("deal", length);
    HOLDS(instance.get_port_length("deal") == length);
    throws<UsageError>("set_port_length()", [&] { instance.send("deal", 0.0, 0.0, length); });
    for (std::size_t slot = length; slot-- > 0;) send_number(instance, "deal", round, slot);
    HOLDS(instance.wait_any({{"back", 0}, {"back", 1}}) == 0);
    for (std::size_t slot = 0; slot < length; ++slot) expect_number(instance, "back", round, slot);
    HOLDS(instance.get_port_length("back") == length);
}

static void play(Instance &instance, std::size_t round) {
    expect_number(instance, "deal", round, 0);
    const std::size_t length = instance.get_port_length("deal");
    HOLDS(length == lengths[round]);
    for (std::size_t slot = 1; slot < length; ++slot) {
        HOLDS(instance.poll("deal", slot));
        expect_number(instance, "deal", round, slot);
    }
    instance.set_port_length("back", length);
    for (std::size_t slot = 0; slot < length; ++slot) send_number(instance, "back", round, slot);
}

int main(int argc, char **argv) {
    HOLDS(argc == 2);
    const bool deals = std::string(argv[1]) == "dealer";
    Instance instance(deals ? Ports{{Operator::O_I, {"deal[]"}}, {Operator::S, {"back[]"}}}
                            : Ports{{Operator::S, {"deal[]"}}, {Operator::O_I, {"back[]"}}});
    HOLDS(instance.is_resizable("deal") && instance.get_port_length("deal") == 0);
    HOLDS(instance.reuse_instance());
    for (std::size_t round = 0; round < 3; ++round) {
        if (deals) {
            deal(instance, round);
        } else {
            play(instance, round);
        }
    }
    if (!deals) throws<ClosedError>("dealer.deal", [&] { instance.receive("deal", 0); });
}
