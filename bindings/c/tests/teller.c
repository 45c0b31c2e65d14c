// Sends every kind of value on "out" and checks that the same value comes back on "in".
#include "tree.h"

static lig_instance *instance;

// Receives the answer to the last message, which has the same time.
static lig_message *answer(double timestamp) {
    lig_message *message;
    lig_times times;
    FINE(lig_receive(instance, "in", NULL, &message, &error));
    FINE(lig_message_times(message, &times, &error));
    HOLDS(times.timestamp == timestamp && times.has_next_timestamp && times.next_timestamp == timestamp + 0.5);
    return message;
}

int main(void) {
    const lig_port ports[] = {{LIG_O_I, "out"}, {LIG_S, "in"}};
    const lig_instance_options options = {.size = sizeof options, .ports = ports, .port_count = 2};
    bool again;
    FINE(lig_instance_create(&options, &instance, &error));
    FINE(lig_reuse_instance(instance, &again, &error));
    HOLDS(again);

    lig_send_options at = {.size = sizeof at, .has_next_timestamp = true};
    lig_message *message;
    const lig_value *value;
#define SEND_WITH(send)                      \
    at.timestamp += 1.0;                     \
    at.next_timestamp = at.timestamp + 0.5;  \
    FINE(send);                              \
    message = answer(at.timestamp);          \
    value = lig_message_value(message)

    SEND_WITH(lig_send(instance, "out", &at, NULL, &error));
    HOLDS(lig_value_kind(value) == LIG_KIND_NONE);
    lig_message_free(message);

    bool truth;
    SEND_WITH(lig_send_bool(instance, "out", &at, true, &error));
    FINE(lig_value_bool(value, &truth, &error));
    HOLDS(truth);
    lig_message_free(message);

    int64_t integer;
    SEND_WITH(lig_send_int(instance, "out", &at, -3, &error));
    FINE(lig_value_int(value, &integer, &error));
    HOLDS(integer == -3);
    lig_message_free(message);

    double number;
    SEND_WITH(lig_send_float(instance, "out", &at, 1e-300, &error));
    FINE(lig_value_float(value, &number, &error));
    HOLDS(number == 1e-300);
    lig_message_free(message);

    lig_string text;
    SEND_WITH(lig_send_string(instance, "out", &at, "", &error));
    FINE(lig_value_string(value, &text, &error));
    HOLDS(text.size == 0);
    lig_message_free(message);

    // The value does not fit into one entry of a ring, so its array is a part of its own.
    static unsigned char bytes[100000];
    for (size_t i = 0; i < sizeof bytes; ++i) bytes[i] = (unsigned char)(i * 7);
    const void *data;
    size_t size;
    SEND_WITH(lig_send_bytes(instance, "out", &at, bytes, sizeof bytes, &error));
    FINE(lig_value_bytes(value, &data, &size, &error));
    HOLDS(size == sizeof bytes && memcmp(data, bytes, size) == 0);
    lig_message_free(message);

    lig_value *tree = build_tree();
    SEND_WITH(lig_send(instance, "out", &at, tree, &error));
    check_tree(value);
    lig_value_free(tree);
    // A received value can be sent on unchanged, and the answer can be read after the message was freed.
    lig_value *copy;
    FINE(lig_value_copy(value, &copy, &error));
    lig_message_free(message);
    SEND_WITH(lig_send(instance, "out", &at, copy, &error));
    lig_value_free(copy);
    check_tree(value);
    lig_message_free(message);

    // A received view can still be read after the instance has ended.
    static double large[65536];
    for (int i = 0; i < 65536; ++i) large[i] = i;
    const lig_array array = {.dtype = LIG_FLOAT64, .ndim = 2, .shape = {256, 256}, .data = large};
    SEND_WITH(lig_send_array(instance, "out", &at, &array, &error));
    memset(large, 0, sizeof large);
    lig_array_view view;
    FINE(lig_message_array(message, &view, &error));
    lig_instance_free(instance);
    HOLDS(view.ndim == 2 && view.shape[0] == 256 && view.shape[1] == 256 && view.dtype == LIG_FLOAT64);
    for (int i = 0; i < 65536; ++i) HOLDS(((const double *)view.data)[i] == i);
    lig_message_free(message);
}
