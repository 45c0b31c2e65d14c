// One of two processes that exchange empty messages, each pinned to a core. The asking process prints the ns of
// one direction for each block of rounds. The other computes for the given ns before it answers.
#define _GNU_SOURCE
#include <ligament.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static lig_instance *instance;
static lig_error error;

static void check(lig_status status) {
    if (status == LIG_OK) return;
    fprintf(stderr, "%s\n", error.message);
    exit(1);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

static void receive(void) {
    lig_message *message;
    check(lig_receive(instance, "in", NULL, &message, &error));
    lig_message_free(message);
}

static void ask(long rounds) {
    for (long i = 0; i < rounds; ++i) {
        check(lig_send(instance, "out", NULL, NULL, &error));
        receive();
    }
}

static void answer(long rounds, double pause) {
    for (long i = 0; i < rounds; ++i) {
        receive();
        if (pause > 0) {
            for (const double end = now() + pause; now() < end;) {
            }
        }
        check(lig_send(instance, "out", NULL, NULL, &error));
    }
}

int main(int argc, char **argv) {
    if (argc != 6) return 2;
    const bool asks = strcmp(argv[1], "asks") == 0;
    const long blocks = atol(argv[3]), rounds = atol(argv[4]);
    cpu_set_t core;
    CPU_ZERO(&core);
    CPU_SET(atoi(argv[2]), &core);
    if (sched_setaffinity(0, sizeof core, &core) != 0) perror("sched_setaffinity");
    const lig_port asking[] = {{LIG_O_I, "out"}, {LIG_S, "in"}},
                   answering[] = {{LIG_S, "in"}, {LIG_O_I, "out"}};
    const lig_instance_options options = {
        .size = sizeof options, .ports = asks ? asking : answering, .port_count = 2};
    bool again;
    check(lig_instance_create(&options, &instance, &error));
    check(lig_reuse_instance(instance, &again, &error));
    for (long block = 0; block <= blocks; ++block) {
        const double began = now();
        if (asks) ask(rounds);
        else answer(rounds, atof(argv[5]));
        // The first block warms up.
        if (asks && block > 0) printf("%.3f\n", (now() - began) / (2.0 * rounds));
    }
    check(lig_reuse_instance(instance, &again, &error));
    lig_instance_free(instance);
}
