// The division of a cube of doubles among ranks, and functions that make and check its elements. All programs
// of this benchmark include it.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// Number of exchanges before the clock starts. In them, memory is made and blocks are released for the first
// time.
enum { WARM_UP = 5 };

struct part {
    uint64_t start[3], shape[3];
};

static int64_t now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

// Returns the part of a rank. "first" and "last" are slabs in this dimension, "blocks" are eight cubes.
static struct part part_of(const char *how, uint64_t edge, uint64_t rank, uint64_t ranks) {
    struct part part = {{0, 0, 0}, {edge, edge, edge}};
    if (strcmp(how, "blocks") == 0) {
        for (int axis = 0; axis < 3; ++axis) {
            part.shape[axis] = edge / 2;
            part.start[axis] = (rank >> axis & 1) * (edge / 2);
        }
        return part;
    }
    const int axis = strcmp(how, "first") == 0 ? 0 : 2;
    part.start[axis] = edge * rank / ranks;
    part.shape[axis] = edge * (rank + 1) / ranks - part.start[axis];
    return part;
}

static uint64_t count_of(const struct part *part) { return part->shape[0] * part->shape[1] * part->shape[2]; }

// Returns the number of a part's element in the cube.
static uint64_t number_of(const struct part *part, uint64_t i, uint64_t j, uint64_t k, uint64_t edge) {
    return ((part->start[0] + i) * edge + part->start[1] + j) * edge + part->start[2] + k;
}

// Sets each element to its number in the cube.
static void fill(double *data, const struct part *part, uint64_t edge) {
    for (uint64_t i = 0; i < part->shape[0]; ++i)
        for (uint64_t j = 0; j < part->shape[1]; ++j)
            for (uint64_t k = 0; k < part->shape[2]; ++k)
                *data++ = (double)number_of(part, i, j, k, edge);
}

static void check(const double *data, const struct part *part, uint64_t edge) {
    for (uint64_t i = 0; i < part->shape[0]; ++i)
        for (uint64_t j = 0; j < part->shape[1]; ++j)
            for (uint64_t k = 0; k < part->shape[2]; ++k, ++data) {
                const uint64_t number = number_of(part, i, j, k, edge);
                if (*data == (double)number) continue;
                fprintf(stderr, "element %llu came as %g\n", (unsigned long long)number, *data);
                exit(1);
            }
}

// Returns memory whose pages exist, so that no page fault is timed.
static double *memory(uint64_t count) {
    double *data = aligned_alloc(4096, (count * sizeof *data + 4095) / 4096 * 4096);
    if (data == NULL) {
        fprintf(stderr, "there is no memory for %llu elements\n", (unsigned long long)count);
        exit(1);
    }
    memset(data, 0xff, count * sizeof *data);
    return data;
}

// Returns the intersection of two parts.
static inline struct part common(const struct part *one, const struct part *other) {
    struct part both;
    for (int axis = 0; axis < 3; ++axis) {
        const uint64_t a = one->start[axis], b = other->start[axis];
        const uint64_t end_a = a + one->shape[axis], end_b = b + other->shape[axis];
        const uint64_t begin = a > b ? a : b, end = end_a < end_b ? end_a : end_b;
        both.start[axis] = begin;
        both.shape[axis] = end > begin ? end - begin : 0;
    }
    return both;
}
