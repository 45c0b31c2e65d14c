// A micro model that sends back each message that it receives. (`conformance/` tests that every value can be
// rebuilt.)
#include "check.h"

int main(void) {
    const lig_port ports[] = {{LIG_F_INIT, "in"}, {LIG_O_F, "out"}};
    const lig_instance_options options = {.size = sizeof options, .ports = ports, .port_count = 2};
    lig_instance *instance;
    FINE(lig_instance_create(&options, &instance, &error));
    for (;;) {
        bool again;
        FINE(lig_reuse_instance(instance, &again, &error));
        if (!again) break;
        lig_message *message;
        lig_times times;
        FINE(lig_receive(instance, "in", NULL, &message, &error));
        FINE(lig_message_times(message, &times, &error));
        const lig_send_options at = {.size = sizeof at, .timestamp = times.timestamp,
                                     .next_timestamp = times.next_timestamp,
                                     .has_next_timestamp = times.has_next_timestamp};
        FINE(lig_send(instance, "out", &at, lig_message_value(message), &error));
        lig_message_free(message);
    }
    lig_instance_free(instance);
}
