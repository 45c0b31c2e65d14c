// A side of the benchmark, with Ligament. Arguments: "send", "receive", or "both"; "arrays" or "single"; total
// events in a tick; ticks; 1 if a receiver wants a tenth of the ids; the result file, or "none".
#include "draw.h"
#include <inttypes.h>
#include <ligament.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static lig_error error;

static void fine(lig_status status) {
    if (status == LIG_OK) return;
    fprintf(stderr, "%s\n", error.message);
    exit(1);
}

static int64_t now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

int main(int argc, char **argv) {
    if (argc < 7) return 2;
    const bool sends = strcmp(argv[1], "receive") != 0, receives = strcmp(argv[1], "send") != 0;
    const bool single = strcmp(argv[2], "single") == 0, sparse = atoi(argv[5]) == 1;
    const int all = atoi(argv[3]), ticks = atoi(argv[4]);
    lig_port ports[2];
    size_t port_count = 0;
    if (sends) ports[port_count++] = (lig_port){LIG_O_I, "out"};
    if (receives) ports[port_count++] = (lig_port){LIG_S, "in"};
    const lig_instance_options options = {.size = sizeof options, .ports = ports, .port_count = port_count};
    lig_instance *instance;
    bool again;
    fine(lig_instance_create(&options, &instance, &error));
    const uint32_t rank = lig_instance_rank(instance), ranks = lig_instance_ranks(instance);
    if (receives && sparse) {
        int64_t *wanted = malloc(IDS * sizeof *wanted);
        size_t count = 0;
        for (int32_t id = 0; id < IDS; ++id)
            if (wants(id, rank)) wanted[count++] = id;
        fine(lig_map_list(instance, "in", wanted, count, &error));
        free(wanted);
    }
    fine(lig_reuse_instance(instance, &again, &error));
    const int32_t first = first_id(rank, ranks), own = first_id(rank + 1, ranks) - first;
    const int events = (int)((int64_t)all * (rank + 1) / ranks - (int64_t)all * rank / ranks);
    double *times = malloc((size_t)events * sizeof *times);
    int32_t *ids = malloc((size_t)events * sizeof *ids);
    uint64_t state = rank, sum = 0, received = 0;
    const int64_t begin = now_ns();
    for (int tick = 0; tick < ticks + DRAIN_TICKS; ++tick) {
        if (sends && tick < ticks) {
            const double now = tick * TICK_S;
            for (int i = 0; i < events; ++i) {
                const uint64_t number = draw(&state);
                const double time = time_of(number, now);
                const int32_t id = id_of(number, first, own);
                if (single) {
                    fine(lig_insert_event(instance, "out", time, id, &error));
                } else {
                    times[i] = time;
                    ids[i] = id;
                }
            }
            if (!single) fine(lig_insert_events(instance, "out", (size_t)events, times, ids, &error));
        }
        fine(lig_tick(instance, NULL, &error));
        size_t count;
        const double *their_times;
        const int32_t *their_ids;
        while (receives) {
            fine(lig_events(instance, "in", &count, &their_times, &their_ids, &error));
            if (count == 0) break;
            for (size_t i = 0; i < count; ++i) sum += weight(their_times[i], their_ids[i]);
            received += count;
        }
    }
    const int64_t end = now_ns();
    if (receives) {
        char name[4096];
        snprintf(name, sizeof name, "%s.%" PRIu32, argv[6], rank);
        FILE *file = fopen(name, "w");
        if (file == NULL) return 1;
        fprintf(file, "%" PRId64 " %" PRIu64 " %" PRIu64 "\n", end - begin, received, sum);
        if (fclose(file) != 0) return 1;
    }
    lig_instance_free(instance);
    return 0;
}
