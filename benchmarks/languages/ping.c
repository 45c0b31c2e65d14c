// C, the reference for other languages. Usage: ping a|b BYTES ROUNDS FILE. Side a times each round trip and
// writes the times to FILE, in ns.
#include <ligament.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static lig_error error;

static void checked(lig_status status) {
    if (status == LIG_OK) return;
    fprintf(stderr, "%s\n", error.message);
    exit(1);
}

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static void give(lig_instance *instance, double *data, uint64_t count) {
    if (count == 0) {
        checked(lig_send(instance, "out", NULL, NULL, &error));
        return;
    }
    lig_array array = {.dtype = LIG_FLOAT64, .ndim = 1, .shape = {count}, .data = data};
    checked(lig_send_array(instance, "out", NULL, &array, &error));
}

static void take(lig_instance *instance, uint64_t count) {
    lig_message *message;
    checked(lig_receive(instance, "in", NULL, &message, &error));
    if (count > 0) {
        lig_array_view view;
        checked(lig_message_array(message, &view, &error));
        if (view.shape[0] != count) exit(2);
    }
    lig_message_free(message);
}

int main(int argc, char **argv) {
    if (argc != 5) return 2;
    uint64_t count = strtoull(argv[2], NULL, 10) / sizeof(double);
    long rounds = atol(argv[3]);
    double *data = calloc(count + 1, sizeof *data);
    int64_t *times = calloc((size_t)rounds, sizeof *times);
    lig_instance *instance;
    bool again;
    checked(lig_instance_create(NULL, &instance, &error));
    checked(lig_reuse_instance(instance, &again, &error));
    for (long i = 0; i < rounds; i++) {
        if (argv[1][0] == 'a') {
            int64_t began = now();
            give(instance, data, count);
            take(instance, count);
            times[i] = now() - began;
        } else {
            take(instance, count);
            give(instance, data, count);
        }
    }
    if (argv[1][0] == 'a') {
        FILE *file = fopen(argv[4], "w");
        for (long i = 0; i < rounds; i++) fprintf(file, "%lld\n", (long long)times[i]);
        fclose(file);
    }
    lig_instance_free(instance);
    free(data);
    free(times);
    return 0;
}
