// An instance that exchanges a number with a peer in each step, and saves a state of some bytes when a
// checkpoint is asked for: saver BYTES STEPS PAUSE_MS LOG. It adds lines to the file LOG:
// `stepping PID NS` after its first step, with the clock of the machine, and `held NS GROWN_KIB` for each
// checkpoint: how long the calls took, and how much more memory the process then had used at its peak.
#include "fine.h"
#include "timing.h"
#include <string.h>
#include <unistd.h>

static uint64_t *state;
static uint64_t words;
static FILE *log_file;

// Returns the peak of the memory of this process, KiB.
static long peak_kib(void) {
    char line[256];
    long kib = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "VmHWM: %ld kB", &kib) == 1) break;
    if (file != NULL) fclose(file);
    return kib;
}

static void save_if_asked(lig_instance *instance, double time) {
    bool yes;
    const long before = peak_kib();
    const uint64_t begun = nanoseconds();
    fine(lig_should_save_snapshot(instance, time, &yes, &error));
    if (!yes) return;
    const lig_array field = {.dtype = LIG_UINT64, .ndim = 1, .shape = {words}, .data = state};
    const lig_times times = {.timestamp = time};
    lig_value *saved;
    fine(lig_value_new_array_borrowed(&field, &saved, &error));
    fine(lig_save_snapshot(instance, &times, saved, &error));
    const uint64_t held = nanoseconds() - begun;
    lig_value_free(saved);
    fprintf(log_file, "held %llu %ld\n", (unsigned long long)held, peak_kib() - before);
    fflush(log_file);
}

// Takes the state of a checkpoint. Its first word is the number of the step.
static void load(lig_instance *instance) {
    lig_message *message;
    lig_array_view view;
    fine(lig_load_snapshot(instance, &message, &error));
    fine(lig_message_array(message, &view, &error));
    if (view.length != words) exit(2);
    memcpy(state, view.data, 8 * words);
    lig_message_free(message);
}

static void exchange(lig_instance *instance, double time) {
    const lig_send_options send = {.size = sizeof send, .timestamp = time};
    lig_message *message;
    fine(lig_send_float(instance, "out", &send, time, &error));
    fine(lig_receive(instance, "in", NULL, &message, &error));
    lig_message_free(message);
}

int main(int count, char **arguments) {
    if (count != 5) return 2;
    words = strtoull(arguments[1], NULL, 10) / 8;
    const uint64_t steps = strtoull(arguments[2], NULL, 10);
    const useconds_t pause_us = 1000 * (useconds_t)atoi(arguments[3]);
    log_file = fopen(arguments[4], "a");
    state = malloc(8 * words);
    if (log_file == NULL || state == NULL) return 2;
    for (uint64_t i = 0; i < words; ++i) state[i] = random_word(i);
    const lig_port ports[] = {{LIG_O_I, "out"}, {LIG_S, "in"}};
    const lig_instance_options options = {
        .size = sizeof options, .ports = ports, .port_count = 2, .flags = LIG_USES_CHECKPOINT_API};
    lig_instance *instance;
    bool again, yes;
    fine(lig_instance_create(&options, &instance, &error));
    for (fine(lig_reuse_instance(instance, &again, &error)); again;
         fine(lig_reuse_instance(instance, &again, &error))) {
        state[0] = 0;
        fine(lig_resuming(instance, &yes, &error));
        if (yes) load(instance);
        fine(lig_should_init(instance, &yes, &error));
        for (bool first = true; state[0] < steps; first = false) {
            state[0] += 1;
            exchange(instance, (double)state[0]);
            if (first) {
                fprintf(log_file, "stepping %d %llu\n", (int)getpid(), (unsigned long long)nanoseconds());
                fflush(log_file);
            }
            save_if_asked(instance, (double)state[0]);
            if (pause_us > 0) usleep(pause_us);
        }
        fine(lig_should_save_final_snapshot(instance, &yes, &error));
        if (yes) fine(lig_save_final_snapshot(instance, NULL, NULL, &error));
    }
    lig_instance_free(instance);
    return 0;
}
