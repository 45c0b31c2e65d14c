// A team of OpenMP threads: each multiplies its part of an array by its number, from 1. The instance belongs to
// the main thread. The first argument tells where it is used: "around" the parallel region, or "within" it, by
// the master.
#include <ligament.h>

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT 1200

static lig_instance *instance;
static double field[COUNT];
static lig_times times;
static lig_error error;
static int threads;

static void fine(lig_status status) {
    if (status == LIG_OK) return;
    fprintf(stderr, "%s: %s\n", lig_status_name(status), error.message);
    exit(1);
}

static void receive(void) {
    lig_array into = {.dtype = LIG_FLOAT64, .ndim = 1, .shape = {COUNT}, .data = field};
    fine(lig_receive_into(instance, "start", NULL, &into, &times, &error));
}

static void multiply(void) {
#pragma omp single
    threads = omp_get_num_threads();
#pragma omp for schedule(static)
    for (int i = 0; i < COUNT; i++) field[i] *= omp_get_thread_num() + 1;
}

static void send(void) {
    lig_send_options options = {.size = sizeof options, .timestamp = times.timestamp};
    lig_array end = {.dtype = LIG_FLOAT64, .ndim = 1, .shape = {COUNT}, .data = field};
    fine(lig_send_array(instance, "end", &options, &end, &error));
}

int main(int argc, char **argv) {
    bool within = argc > 1 && strcmp(argv[1], "within") == 0, again;
    lig_port ports[] = {{LIG_F_INIT, "start"}, {LIG_O_F, "end"}};
    lig_instance_options options = {.size = sizeof options, .ports = ports, .port_count = 2};
    fine(lig_instance_create(&options, &instance, &error));
    while (fine(lig_reuse_instance(instance, &again, &error)), again) {
        if (within) {
#pragma omp parallel
            {
#pragma omp master
                receive();
#pragma omp barrier
                multiply();
#pragma omp master
                send();
            }
        } else {
            receive();
#pragma omp parallel
            multiply();
            send();
        }
    }
    printf("%d threads\n", threads);
    lig_instance_free(instance);
    return 0;
}
