// The code that is watched and steered. `part steps`: a code in a ring, with steps that sleep 1 ms; it writes
// the time at which a change is in force. `part sender CORE`: computes about 1 ms in each step and sends 1 MiB;
// it writes the time of each block of steps. `part cost`: measures the time of steer(t) without a change.
#define _GNU_SOURCE
#include <ligament.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BLOCK 100
#define CALLS 1000000

static lig_instance *instance;
static lig_error error;

static void fine(lig_status status) {
    if (status == LIG_OK) return;
    // The benchmark ends the run after the measurement.
    if (status == LIG_ERR_RUN_ENDS) exit(0);
    fprintf(stderr, "%s\n", error.message);
    exit(1);
}

static long long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static double number(void) {
    double value;
    fine(lig_get_setting_float(instance, "k", &value, &error));
    return value;
}

static void steps(void) {
    for (double time = 0;; time += 1) {
        bool changed = false;
        fine(lig_steer(instance, time, &changed, &error));
        if (changed) {
            const long long at = now();
            printf("%.17g %lld\n", number(), at);
            fflush(stdout);
        }
        const lig_send_options options = {.size = sizeof options, .timestamp = time};
        fine(lig_send(instance, "out", &options, NULL, &error));
        lig_message *message;
        fine(lig_receive(instance, "in", NULL, &message, &error));
        lig_message_free(message);
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

static volatile double sink;

static void compute(long rounds) {
    double x = 1;
    for (long i = 0; i < rounds; ++i) x = x * 0.999999 + 1e-9;
    sink = x;
}

// Returns the number of rounds that take 1 ms at best.
static long rounds_of_a_step(void) {
    long long best = 1LL << 62;
    const long many = 1000000;
    for (int i = 0; i < 20; ++i) {
        const long long began = now();
        compute(many);
        const long long took = now() - began;
        if (took < best) best = took;
    }
    return (long)(many * 1e6 / (double)best);
}

static void sender(int core) {
    static double field[1 << 17];
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0) perror("sched_setaffinity");
    const long rounds = rounds_of_a_step();
    const lig_array array = {.dtype = LIG_FLOAT64, .ndim = 1, .shape = {1 << 17}, .data = field};
    long step = 0;
    for (;;) {
        const long long began = now();
        for (int i = 0; i < BLOCK; ++i) {
            compute(rounds);
            field[0] = (double)++step;
            const lig_send_options options = {.size = sizeof options, .timestamp = (double)step};
            fine(lig_send_array(instance, "out", &options, &array, &error));
        }
        printf("%lld %lld\n", began, now());
        fflush(stdout);
    }
}

// Prints a line for each block of calls: the mean time of a call, and of a call that does nothing.
static void cost(void) {
    double time = 0;
    for (int block = 0; block < 21; ++block) {
        const long long began = now();
        for (int i = 0; i < CALLS; ++i) {
            bool changed;
            time += 1;
            fine(lig_steer(instance, time, &changed, &error));
        }
        const long long between = now();
        for (int i = 0; i < CALLS; ++i)
            if (!lig_status_name(LIG_OK)) exit(1);
        // The first block warms up.
        if (block > 0)
            printf("%.3f %.3f\n", (double)(between - began) / CALLS, (double)(now() - between) / CALLS);
    }
}

int main(int count, char **words) {
    if (count < 2) return 2;
    bool again;
    fine(lig_instance_create(NULL, &instance, &error));
    fine(lig_reuse_instance(instance, &again, &error));
    if (strcmp(words[1], "steps") == 0) steps();
    if (strcmp(words[1], "sender") == 0 && count == 3) sender(atoi(words[2]));
    if (strcmp(words[1], "cost") == 0) cost();
    fine(lig_reuse_instance(instance, &again, &error));
    lig_instance_free(instance);
    return 0;
}
