// The bare loop: the same events between forked processes over shared memory, with counters and nothing else. A
// sender draws events into a block that all receivers read. Arguments: "send" or "both"; ranks of each side;
// total events in a tick; ticks; 1 if a receiver wants a tenth of the ids; the prefix of the result files.
#include "draw.h"
#include <inttypes.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// Blocks that a sender may be ahead, and looks before a process gives its core away.
enum { MAX_RANKS = 16, MAX_EVENTS = 8192, AHEAD = 8, LOOKS = 200 };

typedef struct {
    int64_t count;
    double times[MAX_EVENTS];
    int32_t ids[MAX_EVENTS];
} block;

typedef struct {
    _Alignas(64) _Atomic int64_t ticks;
} counter;

typedef struct {
    counter written[MAX_RANKS], read[MAX_RANKS][MAX_RANKS];
    block blocks[MAX_RANKS][AHEAD];
} side;

static int64_t now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static void wait_for(const counter *counter, int64_t ticks) {
    for (int look = 0; atomic_load_explicit(&counter->ticks, memory_order_acquire) < ticks; ++look)
        if (look >= LOOKS) sched_yield();
}

static void run(side *out, const side *in, uint32_t rank, uint32_t ranks, int all, int ticks, bool sparse,
                const char *name) {
    const int32_t first = first_id(rank, ranks), own = first_id(rank + 1, ranks) - first;
    const int events = (int)((int64_t)all * (rank + 1) / ranks - (int64_t)all * rank / ranks);
    uint64_t state = rank, sum = 0, received = 0;
    uint64_t *wanted = calloc(IDS / 64 + 1, sizeof *wanted);
    for (int32_t id = 0; id < IDS; ++id)
        if (!sparse || wants(id, rank)) wanted[id / 64] |= UINT64_C(1) << (id % 64);
    const int64_t begin = now_ns();
    for (int tick = 0; tick < ticks; ++tick) {
        if (out != NULL) {
            for (uint32_t r = 0; r < ranks; ++r) wait_for(&out->read[rank][r], tick - AHEAD + 1);
            block *to = &out->blocks[rank][tick % AHEAD];
            for (int i = 0; i < events; ++i) {
                const uint64_t number = draw(&state);
                to->times[i] = time_of(number, tick * TICK_S);
                to->ids[i] = id_of(number, first, own);
            }
            to->count = events;
            atomic_store_explicit(&out->written[rank].ticks, tick + 1, memory_order_release);
        }
        if (in == NULL) continue;
        for (uint32_t s = 0; s < ranks; ++s) {
            wait_for(&in->written[s], tick + 1);
            const block *from = &in->blocks[s][tick % AHEAD];
            for (int64_t i = 0; i < from->count; ++i) {
                const int32_t id = from->ids[i];
                const uint64_t taken = wanted[id / 64] >> (id % 64) & 1;
                sum += taken * weight(from->times[i], id);
                received += taken;
            }
            atomic_store_explicit((_Atomic int64_t *)&in->read[s][rank].ticks, tick + 1, memory_order_release);
        }
    }
    const int64_t end = now_ns();
    if (in == NULL) return;
    FILE *file = fopen(name, "w");
    if (file == NULL) _exit(1);
    fprintf(file, "%" PRId64 " %" PRIu64 " %" PRIu64 "\n", end - begin, received, sum);
    if (fclose(file) != 0) _exit(1);
}

int main(int argc, char **argv) {
    if (argc < 7) return 2;
    const bool both = strcmp(argv[1], "both") == 0;
    const uint32_t ranks = (uint32_t)atoi(argv[2]);
    if (ranks < 1 || ranks > MAX_RANKS || atoi(argv[3]) > MAX_EVENTS) return 2;
    side *sides = mmap(NULL, 2 * sizeof *sides, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (sides == MAP_FAILED) return 1;
    for (uint32_t i = 0; i < 2 * ranks; ++i) {
        const uint32_t rank = i % ranks, right = i / ranks;
        const pid_t child = fork();
        if (child < 0) return 1;
        if (child != 0) continue;
        char name[4096];
        snprintf(name, sizeof name, "%s/%s.%" PRIu32, argv[6], right ? "right" : "left", rank);
        side *out = both || !right ? &sides[right] : NULL, *in = both || right ? &sides[1 - right] : NULL;
        run(out, in, rank, ranks, atoi(argv[3]), atoi(argv[4]), atoi(argv[5]) == 1, name);
        _exit(0);
    }
    int status, failed = 0;
    while (wait(&status) > 0) failed |= status != 0;
    return failed;
}
