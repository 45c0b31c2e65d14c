// The limit: loops over shared memory without a library. Compiled in four variants. BARE_INLINE: one cache line
// in each direction. BARE_ONE: one copy into shared memory, read in place. BARE_TWO: a second copy, into the
// receiver's array. BARE_LOAN: no copy, because the writer works in shared memory. A side alternates over the
// number of shared buffers (slabs) in the plan.
#include "harness.h"

#if defined(BARE_INLINE) + defined(BARE_ONE) + defined(BARE_TWO) + defined(BARE_LOAN) != 1
#error "define one of BARE_INLINE, BARE_ONE, BARE_TWO, BARE_LOAN"
#endif

static struct line *lines;  // one per side
static uint64_t sent, received;
static enum side here, there;
static unsigned next_slab, their_slab, slab_count = 1;
static size_t slab_step;  // distance between slabs in this case
#ifndef BARE_INLINE
static char *slabs[2];  // one area per side, written by this side
static size_t area;     // bytes in each area
#endif

// Shared memory must exist before the fork, so the plan is read before it.
static enum side peer_side(int argc, char **argv) {
    (void)argc, (void)argv;
    lines = map_shared(-1, 4096);
#ifndef BARE_INLINE
    static struct exchange plan[256];
    size_t largest, count = read_plan(plan, sizeof plan / sizeof *plan, &largest);
    for (size_t i = 0; i < count; i++) {
        size_t need = (plan[i].bytes + 4095) / 4096 * 4096 * (size_t)plan[i].slabs;
        if (need > area) area = need;
    }
    if (!area) area = 4096;
    for (int side = 0; side < 2; side++) {
        int memory = memfd_create("pingpong", MFD_CLOEXEC);
        if (memory < 0 || ftruncate(memory, (off_t)area)) fail("no shared memory");
        slabs[side] = map_shared(memory, area);
        close(memory);
    }
#endif
    return fork_pair();
}

// Each page is touched by both sides, so that no page fault is timed.
static void peer_open(enum side side, size_t largest) {
    (void)largest;
    here = side, there = (enum side)(1 - side);
#ifndef BARE_INLINE
    memset(slabs[here], 1, area);
    for (size_t i = 0; i < area; i += 4096) (void)*(volatile char *)(slabs[there] + i);
#endif
}

static void peer_start(const struct exchange *x) {
    slab_count = (unsigned)x->slabs;
    if (x->slabs < 1) fail("at least one slab");
    slab_step = (x->bytes + 4095) / 4096 * 4096;
    next_slab = their_slab = 0;
#ifdef BARE_INLINE
    if (x->bytes) fail("the bare line carries no data");
#endif
#ifdef BARE_LOAN
    if (x->mode != WORKED) fail("a loan is filled by its sender: mode worked only");
#endif
}

static inline void *peer_array(size_t bytes) {
    (void)bytes;
#ifdef BARE_LOAN
    return slabs[here] + next_slab * slab_step;
#else
    return send_array;
#endif
}

static inline void peer_send(void *array, size_t bytes) {
#if defined(BARE_ONE) || defined(BARE_TWO)
    memcpy(slabs[here] + next_slab * slab_step, array, bytes);
#else
    (void)array, (void)bytes;
#endif
    next_slab = next_slab + 1 == slab_count ? 0 : next_slab + 1;
    atomic_store_explicit(&lines[here].count, ++sent, memory_order_release);
}

static inline const void *peer_receive(size_t bytes) {
    received++;
    while (atomic_load_explicit(&lines[there].count, memory_order_acquire) != received) spin_pause();
#ifdef BARE_INLINE
    (void)bytes;
    return receive_array;
#else
    const char *slab = slabs[there] + their_slab * slab_step;
    their_slab = their_slab + 1 == slab_count ? 0 : their_slab + 1;
#ifdef BARE_TWO
    memcpy(receive_array, slab, bytes);
    return receive_array;
#else
    (void)bytes;
    return slab;
#endif
#endif
}

static inline void peer_release(void) {}

static inline void peer_echo(const void *data, size_t bytes) { peer_send((void *)data, bytes); }

static void peer_close(void) {}
