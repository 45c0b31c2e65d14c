// The other end of `waiting` and `giving`.
//   source TIMES sleep COUNT sends a number once a second, so often; the last of them is 0 source TIMES compute
//   COUNT the same, and computes on two cores meanwhile; writes how long that took, s source TIMES alone COUNT
//   only computes, without a run source TIMES burst COUNT BYTES N sends so many messages of so many bytes,
//   waits to be asked for more; N times
#include <ligament.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/timing.h"

// Computes for about a second on one core.
static void *work(void *seed) {
    double x = *(double *)seed;
    for (long i = 0; i < 150000000; i++) x = x * 0.999999 + 1e-6;
    *(double *)seed = x;
    return NULL;
}

static void compute(FILE *file) {
    pthread_t other;
    double one = 1, two = 2;
    uint64_t began = nanoseconds();
    pthread_create(&other, NULL, work, &two);
    work(&one);
    pthread_join(other, NULL);
    // The results are printed, because the compiler would otherwise remove the computation.
    fprintf(file, "%g %g\n", (nanoseconds() - began) / 1e9, one + two);
}

int main(int argc, char **argv) {
    const char *mode = argc > 3 ? argv[2] : "";
    int count = argc > 3 ? atoi(argv[3]) : 0, bursts = argc > 5 ? atoi(argv[5]) : 0;
    size_t elements = argc > 4 ? strtoul(argv[4], NULL, 10) / 8 : 1;
    lig_port ports[] = {{LIG_O_I, "out"}, {LIG_S, "more"}};
    lig_instance_options options = {.size = sizeof options, .ports = ports, .port_count = bursts ? 2 : 1};
    lig_send_options send = {.size = sizeof send};
    double *data = calloc(elements, sizeof *data);
    lig_array array = {.dtype = LIG_FLOAT64, .ndim = 1, .shape = {elements}, .data = data};
    lig_instance *instance = NULL;
    lig_error error = {"there is no file for the times, or no memory"};
    FILE *file = fopen(argc > 1 ? argv[1] : "", "w");
    bool again;

    if (!file || !data) goto failed;
    if (strcmp(mode, "alone") == 0) {
        for (int i = 0; i < count; i++) compute(file);
        return fclose(file);
    }
    if (lig_instance_create(&options, &instance, &error) != LIG_OK) goto failed;
    if (lig_reuse_instance(instance, &again, &error) != LIG_OK) goto failed;
    for (int burst = 0; burst < bursts; burst++) {
        lig_message *message = NULL;
        for (int i = 0; i < count; i++) {
            send.timestamp = burst;
            if (lig_send_array(instance, "out", &send, &array, &error) != LIG_OK) goto failed;
        }
        if (lig_receive(instance, "more", NULL, &message, &error) != LIG_OK) goto failed;
        lig_message_free(message);
    }
    for (int i = 0; bursts == 0 && i < count; i++) {
        const struct timespec second = {1, 0};
        if (strcmp(mode, "compute") == 0)
            compute(file);
        else
            nanosleep(&second, NULL);
        data[0] = i + 1 < count;
        send.timestamp = i;
        if (lig_send_array(instance, "out", &send, &array, &error) != LIG_OK) goto failed;
    }
    if (lig_reuse_instance(instance, &again, &error) != LIG_OK) goto failed;
    lig_instance_free(instance);
    return fclose(file);
failed:
    fprintf(stderr, "source: %s\n", error.message);
    return 1;
}
