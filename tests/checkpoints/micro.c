// A micro model that keeps a sum of all of its passes, and saves within and between them.
#include <ligament.h>
#include <stdio.h>
#include <stdlib.h>

static lig_error error;

static void fine(lig_status status) {
    if (status == LIG_OK) return;
    fprintf(stderr, "%s\n", error.message);
    exit(1);
}

// The state: sum, passes, first time, step, value.
static double state[5];
static const lig_array field = {.dtype = LIG_FLOAT64, .ndim = 1, .shape = {5}, .data = state};

// The file of the code's own beside its message.
static FILE *own_file(lig_instance *instance, const char *mode) {
    const char *directory;
    char path[4096];
    fine(lig_snapshot_directory(instance, &directory, &error));
    snprintf(path, sizeof path, "%s/sum.bin", directory);
    FILE *file = fopen(path, mode);
    if (file == NULL) exit(2);
    return file;
}

static void save(lig_instance *instance, double time, bool is_final) {
    const lig_times times = {.timestamp = time};
    lig_value *saved;
    FILE *file = own_file(instance, "wb");
    if (fwrite(state, sizeof *state, 1, file) != 1 || fclose(file) != 0) exit(3);
    fine(lig_value_new_array_borrowed(&field, &saved, &error));
    fine(is_final ? lig_save_final_snapshot(instance, &times, saved, &error)
                  : lig_save_snapshot(instance, &times, saved, &error));
    lig_value_free(saved);
}

static void load(lig_instance *instance) {
    lig_message *message;
    lig_array_view view;
    double sum;
    FILE *file = own_file(instance, "rb");
    if (fread(&sum, sizeof sum, 1, file) != 1 || fclose(file) != 0) exit(4);
    fine(lig_load_snapshot(instance, &message, &error));
    fine(lig_message_array(message, &view, &error));
    for (int i = 0; i < 5; ++i) state[i] = ((const double *)view.data)[i];
    lig_message_free(message);
    if (sum != state[0]) exit(5);
    file = fopen("resumed.txt", "w");
    fprintf(file, "%.0f\n", state[3]);
    fclose(file);
}

// A wrong call at the beginning of a pass.
static void call_out_of_order(lig_instance *instance) {
    bool yes;
    FILE *file = fopen("order.txt", "w");
    if (lig_should_init(instance, &yes, &error) != LIG_ERR_USAGE) exit(6);
    fprintf(file, "%s\n", error.message);
    fclose(file);
}

static void pass(lig_instance *instance) {
    bool yes;
    fine(lig_resuming(instance, &yes, &error));
    if (yes) load(instance);
    fine(lig_should_init(instance, &yes, &error));
    if (yes) {
        lig_message *message;
        lig_times times;
        fine(lig_receive(instance, "in", NULL, &message, &error));
        fine(lig_message_times(message, &times, &error));
        fine(lig_value_float(lig_message_value(message), &state[4], &error));
        lig_message_free(message);
        state[2] = times.timestamp;
        state[3] = 0;
    }
    while (state[3] < 5) {
        state[4] = state[4] * 0.7 + 0.01 * state[0];
        state[3] += 1;
        const double time = state[2] + 0.1 * state[3];
        fine(lig_should_save_snapshot(instance, time, &yes, &error));
        if (yes) save(instance, time, false);
    }
    state[0] += state[4];
    state[1] += 1;
    const lig_send_options send = {.size = sizeof send, .timestamp = state[2] + 0.5};
    fine(lig_send_float(instance, "out", &send, state[4], &error));
    fine(lig_should_save_final_snapshot(instance, &yes, &error));
    if (yes) save(instance, state[2] + 0.5, true);
}

int main(void) {
    const lig_port ports[] = {{LIG_F_INIT, "in"}, {LIG_O_F, "out"}};
    const lig_instance_options options = {
        .size = sizeof options, .ports = ports, .port_count = 2, .flags = LIG_USES_CHECKPOINT_API};
    lig_instance *instance;
    bool again;
    fine(lig_instance_create(&options, &instance, &error));
    for (fine(lig_reuse_instance(instance, &again, &error)); again;
         fine(lig_reuse_instance(instance, &again, &error))) {
        if (state[1] == 0) call_out_of_order(instance);
        pass(instance);
    }
    FILE *file = fopen("end.txt", "w");
    fprintf(file, "%.0f %.17g\n", state[1], state[0]);
    fclose(file);
    lig_instance_free(instance);
    return 0;
}
