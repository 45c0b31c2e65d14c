// How far apart two cores are: the one-way time of one cache line between them, measured by the two processes
// that are being benchmarked, before and after every case. On a virtual machine two cores may be two threads of
// one core now and two cores a few seconds later, and every other time changes two- to fivefold with that.
#ifndef PINGPONG_LINE_H
#define PINGPONG_LINE_H
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../lib/timing.h"

struct line {  // written by one side, watched by the other; alone in its pair of cache lines
    _Alignas(128) _Atomic uint64_t count;
};

// The page of both sides' lines: a file of at least one page that the runner made. NULL when it cannot be
// mapped.
static inline struct line *line_open(const char *path) {
    int file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0) return NULL;
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    return page == MAP_FAILED ? NULL : page;
}

// Called by both sides (0 and 1) the same number of times. The first exchange waits, yielding, for the partner,
// so that a thread that still has to deliver something on this core can; then the least of a few means is
// taken, in ns.
static inline double line_measure(struct line *lines, int side) {
    enum { BATCHES = 4, ROUNDS = 100 };
    _Atomic uint64_t *mine = &lines[side].count, *theirs = &lines[1 - side].count;
    uint64_t count = atomic_load_explicit(mine, memory_order_relaxed);
    double least = 1e9;
    for (int batch = 0; batch < BATCHES; batch++) {
        uint64_t begun = nanoseconds();
        for (int round = 0; round < ROUNDS; round++) {
            count++;
            if (side == 0) atomic_store_explicit(mine, count, memory_order_release);
            while (atomic_load_explicit(theirs, memory_order_acquire) < count) {
                spin_pause();
                if (batch == 0 && round == 0) sched_yield();
            }
            if (side == 1) atomic_store_explicit(mine, count, memory_order_release);
        }
        double mean = (double)(nanoseconds() - begun) / (2.0 * ROUNDS);
        if (batch > 0 && mean < least) least = mean;
    }
    return least;
}
#endif
