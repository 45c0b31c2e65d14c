/* The events of all programs of this benchmark, each drawn with one 64-bit number, and their checksum. */
#ifndef DRAW_H
#define DRAW_H
#include <stdint.h>
#include <string.h>

/* Number of ticks without new events at the end, in which the last events arrive. */
enum { IDS = 100000, DRAIN_TICKS = 3 };
#define TICK_S 0.005

/* splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014). */
static inline uint64_t draw(uint64_t *state) {
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Returns an id from `first` on, one of `count`, from the upper half of the number. */
static inline int32_t id_of(uint64_t number, int32_t first, int32_t count) {
    return first + (int32_t)(((number >> 32) * (uint64_t)count) >> 32);
}

/* Returns a time within the tick that begins at `now`, from the lower half. */
static inline double time_of(uint64_t number, double now) {
    return now + (double)(number & 0xffffffffu) * (TICK_S / 4294967296.0 * 0.999);
}

/* Adds up all events; the sum does not depend on their order. */
static inline uint64_t weight(double time, int32_t id) {
    uint64_t bits;
    memcpy(&bits, &time, sizeof bits);
    return (bits >> 3) * (uint64_t)(2 * id + 1);
}

/* Returns the first id of a rank, and the first id of the next rank. */
static inline int32_t first_id(uint32_t rank, uint32_t ranks) {
    return (int32_t)((uint64_t)IDS * rank / ranks);
}

/* Returns 1 if a receiver of the sparse case wants an id: a seeded tenth of them. */
static inline int wants(int32_t id, uint32_t rank) {
    uint64_t state = (uint64_t)id * 1000003u + rank;
    return draw(&state) % 10 == 0;
}
#endif
