// NAME: starts from a level, and ends with its square. Replace what is computed by your own.
#include <ligament.h>
#include <stdio.h>
#include <stdlib.h>

static lig_error error;

static void check(lig_status status) {
    if (status == LIG_OK) return;
    fprintf(stderr, "%s\n", error.message);
    exit(1);
}

int main(void) {
    const lig_port ports[] = {{LIG_F_INIT, "start"}, {LIG_O_F, "end"}};
    const lig_instance_options options = {.size = sizeof options, .ports = ports, .port_count = 2};
    lig_instance *instance;
    bool again;
    check(lig_instance_create(&options, &instance, &error));
    for (check(lig_reuse_instance(instance, &again, &error)); again;
         check(lig_reuse_instance(instance, &again, &error))) {
        lig_message *start;
        lig_times times;
        double level;
        check(lig_receive(instance, "start", NULL, &start, &error));
        check(lig_value_float(lig_message_value(start), &level, &error));
        check(lig_message_times(start, &times, &error));
        lig_message_free(start);
        const lig_send_options at = {.size = sizeof at, .timestamp = times.timestamp};
        check(lig_send_float(instance, "end", &at, level * level, &error));
    }
    lig_instance_free(instance);
}
