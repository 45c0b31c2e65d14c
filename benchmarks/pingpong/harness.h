// The ping-pong that every C program of this benchmark runs: the plan, the cores, the two loops, the work on
// the arrays, times and output. A program defines the peer_* functions declared below as `static inline` in its
// own file, so all of them are inlined alike. These functions transport the bytes.
#ifndef PINGPONG_HARNESS_H
#define PINGPONG_HARNESS_H
// Compile with -D_GNU_SOURCE.
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "line.h"

enum side { SIDE_A = 0, SIDE_B = 1 };  // A sends first and measures times; B answers

enum mode {
    PLAIN,   // arrays untouched between exchanges
    WORKED,  // each sender rewrites its whole array first, and each receiver sums the elements
    ECHO     // B sends the received data back; A's array stays untouched
};

struct exchange {  // one line of the plan
    enum mode mode;
    size_t bytes;
    long rounds, warmup;  // timed round trips, and untimed ones before them
    int slabs;            // shared buffers per direction that the bare loops alternate over
};

// ---- what each program defines ------------------------------------------------------------------------------
// Returns the side of this process. A program that starts its own second process forks here (see fork_pair).
static enum side peer_side(int argc, char **argv);
static void peer_open(enum side side, size_t largest);
static void peer_start(const struct exchange *x);               // before the first round of a case
// returns the place for the data of the next message
static inline void *peer_array(size_t bytes);
static inline void peer_send(void *array, size_t bytes);
static inline const void *peer_receive(size_t bytes);           // the received data
static inline void peer_release(void);  // ends the use of the data that peer_receive returned
static inline void peer_echo(const void *data, size_t bytes);   // sends received data, then releases it
static void peer_close(void);

// ---- what the harness gives to programs ---------------------------------------------------------------------
// page-aligned, with the largest size; every page exists; a program may use them
static char *send_array, *receive_array;

static _Noreturn void fail(const char *format, ...);

static pid_t pair_parent, pair_child;  // set by fork_pair; 0 if a launcher started the processes

// Ends both processes, because the other one would spin forever.
static _Noreturn void fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    fflush(stderr);
    if (pair_child) kill(pair_child, SIGTERM);
    if (pair_parent && getppid() == pair_parent) kill(pair_parent, SIGTERM);
    _exit(1);
}

// Forks. The parent becomes side A and the child side B. Shared mappings that exist before are shared between
// them.
static inline enum side fork_pair(void) {
    pid_t parent = getpid(), child = fork();
    if (child < 0) fail("cannot fork");
    if (child > 0) {
        pair_child = child;
        return SIDE_A;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    pair_parent = parent;
    return SIDE_B;
}

static inline void *map_shared(int descriptor, size_t bytes) {
    int flags = MAP_SHARED | (descriptor < 0 ? MAP_ANONYMOUS : 0);
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, descriptor, 0);
    if (at == MAP_FAILED) fail("cannot map %zu bytes of shared memory", bytes);
    return at;
}

// ---- the work of mode WORKED: the same machine code in every program ----------------------------------------
typedef uint64_t lanes __attribute__((vector_size(64), aligned(8), may_alias));
enum { LANES = 8, STRIDE = 4 * LANES };  // four accumulators, so that memory is the bottleneck and not an adder

// array[i] = value + i
static __attribute__((noinline)) void rewrite(void *array, size_t bytes, uint64_t value) {
    lanes next = {0, 1, 2, 3, 4, 5, 6, 7}, *out = array;
    next += value;
    for (size_t i = 0; i < bytes / sizeof(lanes); i++) {
        out[i] = next;
        next += LANES;
    }
}

static __attribute__((noinline)) uint64_t sum(const void *array, size_t bytes) {
    const lanes *in = array;
    lanes a = {0}, b = {0}, c = {0}, d = {0};
    for (size_t i = 0; i < bytes / sizeof(lanes); i += 4) {
        a += in[i];
        b += in[i + 1];
        c += in[i + 2];
        d += in[i + 3];
    }
    a += b + c + d;
    return a[0] + a[1] + a[2] + a[3] + a[4] + a[5] + a[6] + a[7];
}

static inline uint64_t expected_sum(size_t bytes, uint64_t value) {
    uint64_t n = bytes / sizeof(uint64_t);
    return n * value + (n ? n * (n - 1) / 2 : 0);
}

static void check_sum(const void *array, size_t bytes, uint64_t value, long round) {
    if (sum(array, bytes) != expected_sum(bytes, value))
        fail("round %ld with %zu bytes: the received data is not what was sent", round, bytes);
}

// Returns the value that a side writes in a round: a new one in each round, and never the same on both sides.
static inline uint64_t value_of(enum side side, long round) { return 2 * (uint64_t)round + 1000 + side; }
enum { UNTOUCHED = -1 };  // "round" whose value is in arrays that are not rewritten

// ---- clock --------------------------------------------------------------------------------------------------
static inline uint64_t ticks(void) {
#if defined(__x86_64__)
    return __rdtsc();
#else
    return nanoseconds();
#endif
}

static uint64_t first_tick, first_nanosecond;  // both clocks at the start of the program

static double nanoseconds_per_tick(void) {
    return (double)(nanoseconds() - first_nanosecond) / (double)(ticks() - first_tick);
}

static double processor_seconds(void) {
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

// ---- the two loops ------------------------------------------------------------------------------------------
// Returns the number of different values, and sorts the list.
static long distinct(uint64_t *list, long n) {
    qsort(list, (size_t)n, sizeof *list, ascending);
    long count = n > 0;
    for (long i = 1; i < n; i++) count += list[i] != list[i - 1];
    return count;
}

static struct line *line_page;
static double line_before;  // one-way time of a bare line before the current case, ns

static const char *const mode_names[] = {"plain", "worked", "echo"};

// Runs side A. Each round trip is timed. One reading of the clock ends a round and starts the next. The output
// has half of each round trip.
static void ask(const struct exchange *x, FILE *out) {
    size_t n = (size_t)x->rounds;
    uint64_t *took = malloc(n * sizeof *took), *sent_at = malloc(n * sizeof *sent_at);
    uint64_t *received_at = malloc(n * sizeof *received_at);
    if (!took || !sent_at || !received_at) fail("out of memory");
    memset(took, 0, n * sizeof *took), memset(sent_at, 0, n * sizeof *sent_at);
    memset(received_at, 0, n * sizeof *received_at);
    uint64_t last = 0;
    double processor = 0;
    for (long round = -x->warmup; round < x->rounds; round++) {
        if (round == 0) {
            processor = processor_seconds();
            last = ticks();
        }
        char *array = peer_array(x->bytes);
        if (x->mode == WORKED) rewrite(array, x->bytes, value_of(SIDE_A, round));
        peer_send(array, x->bytes);
        const char *data = peer_receive(x->bytes);
        if (x->mode == WORKED) check_sum(data, x->bytes, value_of(SIDE_B, round), round);
        int final = round == x->rounds - 1;
        if (!final) peer_release();
        uint64_t now = ticks();
        if (final) {  // if rounds are not checked, the last one is, without being timed
            if (x->mode != WORKED)
                check_sum(data, x->bytes, value_of(x->mode == ECHO ? SIDE_A : SIDE_B, UNTOUCHED), round);
            peer_release();
        }
        if (round >= 0) {
            took[round] = now - last;
            sent_at[round] = (uint64_t)(uintptr_t)array;
            received_at[round] = (uint64_t)(uintptr_t)data;
        }
        last = now;
    }
    processor = processor_seconds() - processor;
    double line_after = line_measure(line_page, SIDE_A);
    double half = nanoseconds_per_tick() / 2;
    uint64_t total = 0;
    for (size_t i = 0; i < n; i++) total += took[i];
    qsort(took, n, sizeof *took, ascending);
    double median = n % 2 ? (double)took[n / 2] : ((double)took[n / 2 - 1] + (double)took[n / 2]) / 2;
    size_t rank99 = (n * 99 + 99) / 100 - 1;  // nearest rank
    fprintf(out,
            "{\"side\":\"a\",\"mode\":\"%s\",\"bytes\":%zu,\"rounds\":%ld,\"median_ns\":%.2f,\"p99_ns\":%.2f,"
            "\"least_ns\":%.2f,\"mean_ns\":%.2f,\"processor_ns\":%.1f,\"send_buffers\":%ld,"
            "\"receive_buffers\":%ld,\"line_before_ns\":%.1f,\"line_after_ns\":%.1f}\n",
            mode_names[x->mode], x->bytes, x->rounds, median * half, (double)took[rank99] * half,
            (double)took[0] * half, (double)total * half / (double)n, processor * 1e9 / (2.0 * (double)n),
            distinct(sent_at, x->rounds), distinct(received_at, x->rounds), line_before, line_after);
    free(took), free(sent_at), free(received_at);
}

// Runs side B.
static void answer(const struct exchange *x, FILE *out) {
    double processor = 0;
    for (long round = -x->warmup; round < x->rounds; round++) {
        if (round == 0) processor = processor_seconds();
        const char *data = peer_receive(x->bytes);
        if (x->mode == ECHO) {
            peer_echo(data, x->bytes);
            continue;
        }
        if (x->mode == WORKED) check_sum(data, x->bytes, value_of(SIDE_A, round), round);
        int final = round == x->rounds - 1;
        if (!final) peer_release();
        char *array = peer_array(x->bytes);
        if (x->mode == WORKED) rewrite(array, x->bytes, value_of(SIDE_B, round));
        peer_send(array, x->bytes);
        if (final) {  // as in ask: checked after the answer is sent
            if (x->mode == PLAIN) check_sum(data, x->bytes, value_of(SIDE_A, UNTOUCHED), round);
            peer_release();
        }
    }
    processor = processor_seconds() - processor;
    line_measure(line_page, SIDE_B);
    fprintf(out, "{\"side\":\"b\",\"mode\":\"%s\",\"bytes\":%zu,\"rounds\":%ld,\"processor_ns\":%.1f}\n",
            mode_names[x->mode], x->bytes, x->rounds, processor * 1e9 / (2.0 * (double)x->rounds));
}

// ---- the program --------------------------------------------------------------------------------------------
static const char *variable(const char *name) {
    const char *value = getenv(name);
    if (!value) fail("%s is not set; this program is started by benchmarks/run", name);
    return value;
}

// Format of PINGPONG_PLAN: "mode bytes rounds warmup slabs;..." with the mode as a number.
static size_t read_plan(struct exchange *plan, size_t room, size_t *largest) {
    const char *text = variable("PINGPONG_PLAN");
    size_t count = 0;
    *largest = 0;
    while (*text) {
        int mode, used = 0;
        struct exchange x;
        if (count == room ||
            sscanf(text, "%d %zu %ld %ld %d;%n", &mode, &x.bytes, &x.rounds, &x.warmup, &x.slabs, &used) < 5 ||
            !used || mode < PLAIN || mode > ECHO || x.rounds < 1 || x.bytes % (STRIDE * sizeof(uint64_t)))
            fail("PINGPONG_PLAN cannot be read at: %s", text);
        x.mode = (enum mode)mode;
        if (x.bytes > *largest) *largest = x.bytes;
        plan[count++] = x;
        text += used;
    }
    return count;
}

// Format of PINGPONG_CORES: "A,B". This is called before any allocation, so that memory and helper threads
// follow the core.
static void pin(enum side side) {
    int core[2];
    if (sscanf(variable("PINGPONG_CORES"), "%d,%d", &core[0], &core[1]) != 2) fail("PINGPONG_CORES is not A,B");
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(core[side], &set);
    if (sched_setaffinity(0, sizeof set, &set)) fail("cannot run on core %d", core[side]);
}

static char *new_array(size_t bytes) {
    char *array = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096 + 4096);
    if (!array) fail("out of memory");
    memset(array, 1, bytes + 1);
    return array;
}

int main(int argc, char **argv) {
    static struct exchange plan[256];
    size_t largest, count = read_plan(plan, sizeof plan / sizeof *plan, &largest);
    first_tick = ticks(), first_nanosecond = nanoseconds();
    alarm(300);  // ends the program if the partner never answers
    enum side side = peer_side(argc, argv);
    pin(side);
    send_array = new_array(largest), receive_array = new_array(largest);
    char path[4096];
    snprintf(path, sizeof path, "%s.%c", variable("PINGPONG_OUT"), side == SIDE_A ? 'a' : 'b');
    FILE *out = fopen(path, "w");
    if (!out) fail("cannot write %s", path);
    snprintf(path, sizeof path, "%s.line", variable("PINGPONG_OUT"));
    if (!(line_page = line_open(path))) fail("cannot map %s", path);
    peer_open(side, largest);
    for (size_t i = 0; i < count; i++) {
        rewrite(send_array, plan[i].bytes, value_of(side, UNTOUCHED));
        peer_start(&plan[i]);
        line_before = line_measure(line_page, side);
        side == SIDE_A ? ask(&plan[i], out) : answer(&plan[i], out);
    }
    peer_close();
    if (fclose(out)) fail("cannot write the results");
    if (pair_child) {
        int status;
        if (waitpid(pair_child, &status, 0) != pair_child || status) fail("side B failed (status %d)", status);
    }
    return 0;
}
#endif
