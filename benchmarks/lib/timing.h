// Common parts of C programs of benchmarks: the clock, the pause of a spinning loop, an order for times, and
// data that looks random.
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

// Comparison for qsort.
static inline int ascending(const void *x, const void *y) {
    uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
    return (a > b) - (a < b);
}

// Returns a word that depends on its index and looks random (SplitMix64). Random data gives no advantage to
// programs that compress.
static inline uint64_t random_word(uint64_t place) {
    uint64_t x = (place + 1) * 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}
#endif
