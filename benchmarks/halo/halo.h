// What all programs of this benchmark share: the fields of a block, the faces that travel, and the clock. Two
// blocks of N³ points lie side by side along one axis, at whose ends the grid is periodic, so each block sends
// both of its faces there to the other block.
#ifndef HALO_H
#define HALO_H
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/timing.h"

enum { AXES = 3, WARM_UP = 20, BATCH = 8 };
#define PIECE_BYTES ((size_t)32 << 10)

struct halo {
    int cut;  // axis along which the blocks lie
    size_t edge, fields, ghosts, rounds;
    int side;  // 0 or 1
    double **data;
};

// A box of points in the array of a field, as rows of bytes that lie together.
struct region {
    size_t start, planes, rows, plane_step, row_step, row_bytes;
};

static void fail(const char *what) {
    fprintf(stderr, "%s\n", what);
    exit(1);
}

static inline size_t length(const struct halo *h) { return h->edge + 2 * h->ghosts; }

// The number of a point in the whole grid, which is the value of field 0 there.
static double number_of(const struct halo *h, const size_t at[AXES], int side) {
    size_t shape[AXES], place[AXES];
    for (int axis = 0; axis < AXES; ++axis) {
        const bool cut = axis == h->cut;
        shape[axis] = cut ? 2 * h->edge : h->edge;
        // Ghosts at a periodic edge have the number of the point at the opposite edge.
        place[axis] = (at[axis] + shape[axis] - h->ghosts + (cut ? (size_t)side * h->edge : 0)) % shape[axis];
    }
    return (double)((place[0] * shape[1] + place[1]) * shape[2] + place[2]);
}

// Makes the fields. The own points have their numbers, and the ghosts are -1.
static void make_fields(struct halo *h) {
    const size_t n = length(h), bytes = n * n * n * sizeof(double);
    h->data = calloc(h->fields, sizeof *h->data);
    for (size_t f = 0; f < h->fields; ++f) {
        double *field = h->data[f] = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
        if (field == NULL) fail("there is no memory for a field");
        for (size_t i = 0; i < n; ++i)
            for (size_t j = 0; j < n; ++j)
                for (size_t k = 0; k < n; ++k) {
                    const size_t at[AXES] = {i, j, k};
                    bool own = true;
                    for (int axis = 0; axis < AXES; ++axis)
                        own = own && at[axis] >= h->ghosts && at[axis] < h->ghosts + h->edge;
                    *field++ = own ? number_of(h, at, h->side) + (double)f : -1;
                }
    }
}

// The points of a field at the lower (0) or upper (1) side of the cut: own ones, or ghosts.
static inline struct region face(const struct halo *h, int upper, bool own) {
    const size_t n = length(h);
    size_t begin[AXES], count[AXES];
    for (int axis = 0; axis < AXES; ++axis) {
        begin[axis] = h->ghosts;
        count[axis] = h->edge;
    }
    count[h->cut] = h->ghosts;
    if (own) begin[h->cut] = upper ? h->edge : h->ghosts;
    else begin[h->cut] = upper ? h->ghosts + h->edge : 0;
    return (struct region){.start = ((begin[0] * n + begin[1]) * n + begin[2]) * sizeof(double),
                           .planes = count[0],
                           .rows = count[1],
                           .plane_step = n * n * sizeof(double),
                           .row_step = n * sizeof(double),
                           .row_bytes = count[2] * sizeof(double)};
}

static inline size_t bytes_of(const struct region *r) { return r->planes * r->rows * r->row_bytes; }

// Copies rows between an array and a buffer. A short row of a constant length is copied without a call.
#define ROWS(statement)                                                            \
    for (size_t row = first; row < end; ++row) {                                   \
        char *place = array + r->start + row / r->rows * r->plane_step + row % r->rows * r->row_step; \
        statement;                                                                 \
        buffer += r->row_bytes;                                                    \
    }

static inline void pack(const struct region *r, char *array, size_t first, size_t end, char *buffer) {
    if (r->row_bytes == 8) {
        ROWS(memcpy(buffer, place, 8))
    } else if (r->row_bytes == 24) {
        ROWS(memcpy(buffer, place, 24))
    } else {
        ROWS(memcpy(buffer, place, r->row_bytes))
    }
}

static inline void unpack(const struct region *r, char *array, size_t first, size_t end, const char *buffer) {
    if (r->row_bytes == 8) {
        ROWS(memcpy(place, buffer, 8))
    } else if (r->row_bytes == 24) {
        ROWS(memcpy(place, buffer, 24))
    } else {
        ROWS(memcpy(place, buffer, r->row_bytes))
    }
}

// Checks each ghost that has travelled.
static void check_fields(const struct halo *h) {
    const size_t n = length(h);
    for (size_t f = 0; f < h->fields; ++f)
        for (int upper = 0; upper < 2; ++upper)
            for (size_t g = 0; g < h->ghosts; ++g)
                for (size_t a = h->ghosts; a < h->ghosts + h->edge; ++a)
                    for (size_t b = h->ghosts; b < h->ghosts + h->edge; ++b) {
                        size_t at[AXES];
                        at[h->cut] = upper ? h->ghosts + h->edge + g : g;
                        at[(h->cut + 1) % AXES] = a;
                        at[(h->cut + 2) % AXES] = b;
                        const double value = h->data[f][(at[0] * n + at[1]) * n + at[2]];
                        if (value != number_of(h, at, h->side) + (double)f) fail("a ghost has a wrong value");
                    }
}

// Reads the last arguments of all programs: CUT EDGE FIELDS GHOSTS ROUNDS.
static struct halo halo_of(char **words) {
    return (struct halo){.cut = atoi(words[0]),
                         .edge = strtoull(words[1], NULL, 10),
                         .fields = strtoull(words[2], NULL, 10),
                         .ghosts = strtoull(words[3], NULL, 10),
                         .rounds = strtoull(words[4], NULL, 10) / BATCH * BATCH};
}

// Keeps a side on its own core: HALO_CORES is such as "0,1".
static void pin(int side) {
    const char *cores = getenv("HALO_CORES");
    int core[2];
    cpu_set_t set;
    CPU_ZERO(&set);
    if (cores == NULL || sscanf(cores, "%d,%d", &core[0], &core[1]) != 2) fail("HALO_CORES names two cores");
    CPU_SET(core[side], &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0) fail("a core of HALO_CORES is not there");
}

// Exchanges the ghosts again and again, and prints the time of one exchange in ns: the median over batches, and
// the least.
static void measure(struct halo *h, void (*exchange)(struct halo *, size_t round), FILE *out) {
    uint64_t *times = calloc(h->rounds / BATCH + 1, sizeof *times);
    size_t count = 0, round = 0;
    while (round < WARM_UP) exchange(h, round++);
    for (uint64_t begun = nanoseconds(); count < h->rounds / BATCH;) {
        for (int i = 0; i < BATCH; ++i) exchange(h, round++);
        const uint64_t now = nanoseconds();
        times[count++] = now - begun;
        begun = now;
    }
    check_fields(h);
    qsort(times, count, sizeof *times, ascending);
    if (count == 0) fail("no exchange was measured");
    if (h->side == 0) fprintf(out, "%.0f %.0f\n", (double)times[count / 2] / BATCH, (double)times[0] / BATCH);
    free(times);
}
#endif
