// Both sides of a dialogue: `macro` asks and `micro` answers, until a fault happens (see peer.h).
#include "peer.h"

#include <ligament.h>

static lig_error error;

static void fine(lig_status status) {
    if (status == LIG_OK) return;
    fprintf(stderr, "%s\n", error.message);
    exit(1);
}

static void send(lig_instance *instance, const char *port, const lig_array *array, double time) {
    const lig_send_options options = {.size = sizeof options, .timestamp = time};
    fine(lig_send_array(instance, port, &options, array, &error));
}

static void receive(lig_instance *instance, const char *port, double time) {
    lig_message *message;
    lig_times times;
    fine(lig_receive(instance, port, NULL, &message, &error));
    fine(lig_message_times(message, &times, &error));
    if (times.timestamp != time) {
        fprintf(stderr, "a message of time %g came, not of %g\n", times.timestamp, time);
        exit(98);
    }
    lig_message_free(message);
}

// Saves the array, if a checkpoint is due at the end of a step, or of a pass.
static void save(lig_instance *instance, const lig_array *array, long step, bool is_final) {
    const lig_times times = {.timestamp = (double)step};
    bool is_due;
    fine(is_final ? lig_should_save_final_snapshot(instance, &is_due, &error)
                  : lig_should_save_snapshot(instance, (double)step, &is_due, &error));
    if (!is_due) return;
    at("saving", step);
    lig_value *state;
    fine(lig_value_new_array_borrowed(array, &state, &error));
    fine(is_final ? lig_save_final_snapshot(instance, &times, state, &error)
                  : lig_save_snapshot(instance, &times, state, &error));
    lig_value_free(state);
}

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    at("starting", -1);
    const bool macro = strcmp(argv[1], "macro") == 0;
    const lig_port macros[] = {{LIG_O_I, "out"}, {LIG_S, "in"}},
                   micros[] = {{LIG_F_INIT, "in"}, {LIG_O_F, "out"}};
    const lig_instance_options options = {
        .size = sizeof options, .ports = macro ? macros : micros, .port_count = 2,
        .flags = LIG_USES_CHECKPOINT_API};
    lig_instance *instance;
    fine(lig_instance_create(&options, &instance, &error));
    const uint64_t length = (uint64_t)atol(text("FAULT_SIZE"));
    double *data = calloc(length + 1, sizeof *data);
    const lig_array array = {.dtype = LIG_FLOAT64, .ndim = 1, .shape = {length}, .data = data};
    bool again, resumes, inits;
    long step = 0;
    for (fine(lig_reuse_instance(instance, &again, &error)); again;
         fine(lig_reuse_instance(instance, &again, &error))) {
        fine(lig_resuming(instance, &resumes, &error));
        fine(lig_should_init(instance, &inits, &error));
        do {
            if (macro) send(instance, "out", &array, (double)step);
            else receive(instance, "in", (double)step);
            if (step == 0) at("first", -1);
            at("steady", step);
            if (macro) receive(instance, "in", (double)step);
            else send(instance, "out", &array, (double)step);
            if (++step, macro) save(instance, &array, step, false);
        } while (!is_over(step) && macro);
        save(instance, &array, step, true);
        if (macro && is("FAULT_SIGNED", "no")) at("ending", -1);
    }
    if (!macro || !is("FAULT_SIGNED", "no")) at("ending", -1);
    lig_instance_free(instance);
}
