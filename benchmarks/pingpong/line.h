// The distance of two cores: the one-way time of one cache line between them. The two processes of a benchmark
// measure it before and after every case. On a virtual machine two cores may be two threads of one core now and
// two cores a few seconds later, and all other times then change two- to fivefold.
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

struct line {  // written by one side and read by the other; alone in its pair of cache lines
    _Alignas(128) _Atomic uint64_t count;
};

// Maps the page with the lines of both sides: a file of at least one page, made by the runner. Returns NULL if
// it cannot be mapped.
static inline struct line *line_open(const char *path) {
    int file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0) return NULL;
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    return page == MAP_FAILED ? NULL : page;
}

// Measures the distance in ns, as the least of a few means. Both sides (0 and 1) call it equally often. The
// first exchange yields until the partner is there, so that another thread on this core can finish its work.
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
