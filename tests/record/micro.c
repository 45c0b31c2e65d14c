// Multiplies each array by a setting. With an argument, it does something else at the time 1.
#include <ligament.h>
#include <stdio.h>
#include <stdlib.h>

static lig_error error;

static void fine(lig_status status) {
    if (status == LIG_OK) return;
    fprintf(stderr, "%s\n", error.message);
    exit(1);
}

int main(int argc, char **argv) {
    (void)argv;
    const lig_port ports[] = {{LIG_F_INIT, "state"}, {LIG_O_F, "result"}};
    const lig_instance_options options = {.size = sizeof options, .ports = ports, .port_count = 2};
    lig_instance *instance;
    bool again;
    fine(lig_instance_create(&options, &instance, &error));
    for (fine(lig_reuse_instance(instance, &again, &error)); again;
         fine(lig_reuse_instance(instance, &again, &error))) {
        lig_message *message;
        lig_times times;
        lig_array_view view;
        double factor, field[6];
        fine(lig_get_setting_float(instance, "factor", &factor, &error));
        fine(lig_receive(instance, "state", NULL, &message, &error));
        fine(lig_message_times(message, &times, &error));
        fine(lig_message_array(message, &view, &error));
        for (int i = 0; i < 6; ++i) field[i] = ((const double *)view.data)[i] * factor;
        lig_message_free(message);
        if (argc > 1 && times.timestamp == 1.0) field[5] += 0.25;
        const lig_send_options send = {.size = sizeof send, .timestamp = times.timestamp};
        const lig_array array = {.dtype = LIG_FLOAT64, .ndim = 2, .shape = {2, 3}, .data = field};
        fine(lig_send_array(instance, "result", &send, &array, &error));
    }
    lig_instance_free(instance);
    return 0;
}
