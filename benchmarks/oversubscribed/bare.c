// The limit: rings over shared memory without a library, with different ways of waiting. `bare yield` yields
// until the token arrives. `bare futex` sleeps at once. `bare spin` spins for 36 µs, about the time of a
// wake-up, and then sleeps. Forks the whole ring.
#include <linux/futex.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sched.h>

#include "ring.h"

enum { MAX_PROCESSES = 256, SPIN_NS = 36000 };
enum waiting { YIELD, FUTEX, SPIN } waiting;

struct seat {                       // one position of the ring
    _Alignas(128) _Atomic uint32_t tokens;  // number of tokens received; written by the position before
    _Atomic uint32_t sleeps;                // 1 if this position must be woken; written by itself
};

static struct seat *seats, *mine, *next;
static char *slabs;  // one for each position, written by it and read in place by the next
static size_t slab_bytes;
static uint32_t received;
static pid_t children[MAX_PROCESSES];

static void *map_shared(size_t bytes) {
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) fail("cannot map %zu bytes of shared memory", bytes);
    return at;
}

static int peer_position(int argc, char **argv) {
    static const char *const names[] = {"yield", "futex", "spin"};
    int chosen = -1;
    for (int i = 0; i < 3; i++)
        if (argc == 2 && !strcmp(argv[1], names[i])) chosen = i;
    if (chosen < 0) fail("usage: %s yield|futex|spin", argv[0]);
    waiting = (enum waiting)chosen;
    if (ring_count > MAX_PROCESSES) fail("at most %d processes", MAX_PROCESSES);
    static struct stage plan[32];
    size_t largest;
    read_plan(plan, sizeof plan / sizeof *plan, &largest);
    slab_bytes = (largest + 4096) / 4096 * 4096;
    seats = map_shared((size_t)ring_count * sizeof *seats);
    slabs = map_shared((size_t)ring_count * slab_bytes);
    int position = 0;
    for (int i = 1; i < ring_count && position == 0; i++) {
        children[i] = fork();
        if (children[i] < 0) fail("cannot fork");
        if (children[i] == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            position = i;
        }
    }
    mine = &seats[position], next = &seats[(position + 1) % ring_count];
    return position;
}

// Each page is touched by its writer and its reader, so that no page fault is timed.
static void peer_open(size_t largest) {
    int before = (ring_position + ring_count - 1) % ring_count;
    for (size_t i = 0; i <= largest; i += 4096) {
        *(volatile char *)(slabs + (size_t)ring_position * slab_bytes + i) = 0;
        (void)*(volatile char *)(slabs + (size_t)before * slab_bytes + i);
    }
}

static inline void peer_send(void *array, size_t bytes) {
    memcpy(slabs + (size_t)ring_position * slab_bytes, array, bytes);
    atomic_fetch_add(&next->tokens, 1);
    if (waiting != YIELD && atomic_load(&next->sleeps))
        syscall(SYS_futex, &next->tokens, FUTEX_WAKE, 1, 0, 0, 0);
}

static inline int here(void) { return atomic_load_explicit(&mine->tokens, memory_order_acquire) == received; }

static inline const void *peer_receive(size_t bytes) {
    (void)bytes;
    uint32_t before = received++;
    if (waiting == SPIN)
        for (uint64_t until = nanoseconds() + SPIN_NS; !here() && nanoseconds() < until;) spin_pause();
    if (waiting == YIELD) {
        while (!here()) sched_yield();
    } else if (!here()) {
        atomic_store(&mine->sleeps, 1);
        while (!here()) syscall(SYS_futex, &mine->tokens, FUTEX_WAIT, before, 0, 0, 0);
        atomic_store(&mine->sleeps, 0);
    }
    return slabs + (size_t)((ring_position + ring_count - 1) % ring_count) * slab_bytes;
}

static inline void peer_release(void) {}

static void peer_close(void) {
    for (int i = 1; ring_position == 0 && i < ring_count; i++) {
        int status;
        if (waitpid(children[i], &status, 0) < 0 || status) fail("position %d failed (status %d)", i, status);
    }
}
