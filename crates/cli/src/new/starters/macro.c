// NAME: steps forward in time, and in every step asks a finer model. Replace what is computed by your own.
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
    const lig_port ports[] = {{LIG_O_I, "state"}, {LIG_S, "result"}};
    const lig_instance_options options = {.size = sizeof options, .ports = ports, .port_count = 2};
    lig_instance *instance;
    bool again;
    check(lig_instance_create(&options, &instance, &error));
    for (check(lig_reuse_instance(instance, &again, &error)); again;
         check(lig_reuse_instance(instance, &again, &error))) {
        double t_max, state = 1;
        check(lig_get_setting_float(instance, "t_max", &t_max, &error));
        for (double t = 0; t < t_max; t += 1) {
            const lig_send_options at = {.size = sizeof at,
                                         .timestamp = t,
                                         .next_timestamp = t + 1,
                                         .has_next_timestamp = t + 1 < t_max};
            check(lig_send_float(instance, "state", &at, state, &error));

            lig_message *result;
            double answer;
            check(lig_receive(instance, "result", NULL, &result, &error));
            check(lig_value_float(lig_message_value(result), &answer, &error));
            lig_message_free(result);
            printf("at %g the finer model says %g\n", t, answer);
            state = answer + 1;
        }
    }
    lig_instance_free(instance);
}
