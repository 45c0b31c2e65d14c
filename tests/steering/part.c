// A macro and a micro model that record the settings of each of their steps: part macro|micro steers|deaf GO.
// Also a program that computes until the file `go` exists, and makes no calls meanwhile: part lone deaf GO.
#define _POSIX_C_SOURCE 200809L
#include <ligament.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static lig_error error;
static lig_instance *instance;
static bool steers;

static void fine(lig_status status) {
    if (status != LIG_OK) {
        fprintf(stderr, "%s\n", error.message);
        exit(3);
    }
}

static double setting(const char *name) {
    double value;
    fine(lig_get_setting_float(instance, name, &value, &error));
    return value;
}

static void says(const char *port, double time, double value) {
    const lig_send_options options = {.size = sizeof options, .timestamp = time};
    fine(lig_send_float(instance, port, &options, value, &error));
}

// Makes one step, which begins at `time`, and records the settings.
static void step(FILE *steps, double time, double *D) {
    bool changed = false;
    if (steers) fine(lig_steer(instance, time, &changed, &error));
    if (changed) *D = setting("D");
    fprintf(steps, "%.17g %.17g\n", time, *D);
    fflush(steps);
}

// Makes steps of 1 s until `t_max`, each some milliseconds long, and starts the micro model in each. After the
// first steps it is slow until the file `go` exists, so that changes come in time on a busy machine, too.
static void macro(const char *go) {
    double D = setting("D");
    const double end = setting("t_max");
    FILE *steps = fopen("steps.txt", "w");
    for (double time = 0; time < end; time += 1) {
        step(steps, time, &D);
        lig_message *message;
        says("out", time, D);
        fine(lig_receive(instance, "back", NULL, &message, &error));
        lig_message_free(message);
        const bool rests = time >= 20 && access(go, F_OK) != 0;
        nanosleep(&(struct timespec){.tv_nsec = rests ? 250000000 : 4000000}, NULL);
    }
    fclose(steps);
}

// Makes four steps in each second, and records once a pass a setting that is read once a pass.
static void micro(FILE *steps, FILE *passes) {
    lig_message *message;
    fine(lig_receive(instance, "in", NULL, &message, &error));
    lig_times times = {0};
    fine(lig_message_times(message, &times, &error));
    const double start = times.timestamp;
    lig_message_free(message);
    double D = setting("D");
    fprintf(passes, "%.17g %.17g\n", start, setting("k"));
    fflush(passes);
    for (int i = 0; i < 4; ++i) step(steps, start + i / 4.0, &D);
    says("out", start, D);
}

static void lone(const char *go) {
    while (access(go, F_OK) != 0) nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
}

int main(int count, char **words) {
    if (count != 4) return 2;
    const bool is_lone = strcmp(words[1], "lone") == 0;
    const bool is_macro = strcmp(words[1], "macro") == 0;
    bool again;
    steers = strcmp(words[2], "steers") == 0;
    fine(lig_instance_create(NULL, &instance, &error));
    const bool is_micro = !is_macro && !is_lone;
    FILE *steps = !is_micro ? NULL : fopen("steps.txt", "w"),
         *passes = !is_micro ? NULL : fopen("passes.txt", "w");
    if (is_micro) fine(lig_declare_steerable(instance, "k", 0, 10, "1/s", true, &error));
    for (fine(lig_reuse_instance(instance, &again, &error)); again;
         fine(lig_reuse_instance(instance, &again, &error))) {
        if (is_lone) lone(words[3]);
        else if (is_macro) macro(words[3]);
        else micro(steps, passes);
    }
    lig_instance_free(instance);
    return 0;
}
