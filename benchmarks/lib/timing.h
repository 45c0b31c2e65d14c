// What every C program of a benchmark times with: the clock, the pause of a spinning loop, and an order for times.
#ifndef BENCHMARKS_TIMING_H
#define BENCHMARKS_TIMING_H
#include <stdint.h>
#include <time.h>

static inline void spin_pause(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static inline uint64_t nanoseconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

// For qsort.
static inline int ascending(const void *x, const void *y) {
    uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
    return (a > b) - (a < b);
}
#endif
