// Vector ports that are joined to vector ports. "dealer" sets the length of its port in each round, and sends
// to the slots in descending order. "player" learns the length, sends everything back, and answers on the same
// number of slots.
#include "check.h"

static lig_instance *instance;
static const size_t lengths[] = {3, 1, 5};

static size_t length_of(const char *port) {
    size_t length;
    FINE(lig_get_port_length(instance, port, &length, &error));
    return length;
}

static void send_number(const char *port, size_t round, size_t slot) {
    const lig_send_options options = {
        .size = sizeof options, .timestamp = (double)round, .has_slot = true, .slot = (uint32_t)slot};
    double number = 10.0 * (double)round + (double)slot;
    const lig_array array = {.dtype = LIG_FLOAT64, .ndim = 1, .shape = {1}, .data = &number};
    lig_loan *loan;
    void *data;
    switch (slot % 3) {
        case 0: FINE(lig_send_float(instance, port, &options, number, &error)); break;
        case 1: FINE(lig_send_array(instance, port, &options, &array, &error)); break;
        default:
            FINE(lig_loan_create(instance, LIG_FLOAT64, 1, array.shape, &loan, &data, &error));
            *(double *)data = number;
            FINE(lig_send_loan(instance, port, &options, loan, &error));
    }
}

static void expect_number(const char *port, size_t round, size_t slot) {
    const lig_receive_options options = {.size = sizeof options, .has_slot = true, .slot = (uint32_t)slot};
    lig_message *message;
    double number;
    lig_times times;
    FINE(lig_receive(instance, port, &options, &message, &error));
    if (slot % 3) {
        lig_array_view view;
        FINE(lig_message_array(message, &view, &error));
        number = *(const double *)view.data;
    } else {
        FINE(lig_value_float(lig_message_value(message), &number, &error));
    }
    FINE(lig_message_times(message, &times, &error));
    HOLDS(number == 10.0 * (double)round + (double)slot && times.timestamp == (double)round);
    lig_message_free(message);
}

static void deal(size_t round) {
    const size_t length = lengths[round];
    FINE(lig_set_port_length(instance, "deal", length, &error));
    HOLDS(length_of("deal") == length);
    const lig_send_options beyond = {.size = sizeof beyond, .has_slot = true, .slot = (uint32_t)length};
    ENDS_WITH(lig_send_float(instance, "deal", &beyond, 0.0, &error), LIG_ERR_USAGE, "set_port_length()");
    for (size_t slot = length; slot-- > 0;) send_number("deal", round, slot);
    const lig_port_slot backs[] = {{"back", true, 0}, {"back", true, 1}};
    size_t which;
    FINE(lig_wait_any(instance, backs, 2, NULL, &which, &error));
    HOLDS(which == 0);
    for (size_t slot = 0; slot < length; ++slot) expect_number("back", round, slot);
    HOLDS(length_of("back") == length);
}

static void play(size_t round) {
    expect_number("deal", round, 0);
    const size_t length = length_of("deal");
    HOLDS(length == lengths[round]);
    for (size_t slot = 1; slot < length; ++slot) {
        const lig_receive_options options = {.size = sizeof options, .has_slot = true, .slot = (uint32_t)slot};
        bool ready;
        FINE(lig_poll(instance, "deal", &options, &ready, &error));
        HOLDS(ready);
        expect_number("deal", round, slot);
    }
    FINE(lig_set_port_length(instance, "back", length, &error));
    for (size_t slot = 0; slot < length; ++slot) send_number("back", round, slot);
}

int main(int argc, char **argv) {
    HOLDS(argc == 2);
    const bool deals = strcmp(argv[1], "dealer") == 0;
    const lig_port ports[] = {{deals ? LIG_O_I : LIG_S, "deal[]"}, {deals ? LIG_S : LIG_O_I, "back[]"}};
    const lig_instance_options options = {.size = sizeof options, .ports = ports, .port_count = 2};
    FINE(lig_instance_create(&options, &instance, &error));
    bool again, resizable;
    FINE(lig_is_resizable(instance, "deal", &resizable, &error));
    HOLDS(resizable && length_of("deal") == 0);
    FINE(lig_reuse_instance(instance, &again, &error));
    for (size_t round = 0; round < 3; ++round) {
        if (deals) {
            deal(round);
        } else {
            play(round);
        }
    }
    if (!deals) {
        const lig_receive_options first = {.size = sizeof first, .has_slot = true};
        lig_message *none;
        ENDS_WITH(lig_receive(instance, "deal", &first, &none, &error), LIG_ERR_CLOSED, "dealer.deal");
    }
    lig_instance_free(instance);
}
