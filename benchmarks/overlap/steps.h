// A sender that computes in steps and sends 64 MiB at the end of some of them, and its receiver. Programs
// differ in the peer_* functions. The step of the sender is timed: computing, writing the array, and sending.
#ifndef OVERLAP_STEPS_H
#define OVERLAP_STEPS_H
// Compile with -D_GNU_SOURCE.
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../lib/timing.h"

// ---- what each program defines ------------------------------------------------------------------------------
static void peer_open(int argc, char **argv, size_t bytes);
static inline void *peer_array(size_t bytes);             // returns the place for the next message
static inline void peer_send(void *array, size_t bytes);  // returns as soon as the sender may go on
static inline const void *peer_receive(size_t bytes);
static inline void peer_release(void);
static void peer_close(void);

// ---- what the harness gives to programs ---------------------------------------------------------------------
static int sends;          // true if this process is the sender
static char *own_array;    // size of the message, pages exist; written in steps that do not send

static _Noreturn void fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "%s: ", sends ? "sender" : "receiver");
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    fflush(stderr);
    exit(1);
}

// ---- computing ----------------------------------------------------------------------------------------------
// The computation is a chain of dependent multiplications: it needs a core, and no bandwidth of memory. So if
// it takes longer while messages are sent, the sending has used its core. Only the writing of the array depends
// on memory.
static double compute(uint64_t rounds) {
    double x = 1.0;
    for (uint64_t i = 0; i < rounds; i++) {
        x = x * 1.000000001 + 1e-9;
        __asm__ volatile("" : "+x"(x));
    }
    return x;
}

static uint64_t own_nanoseconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

// Returns the number of rounds that take this time on an idle core.
static uint64_t rounds_of(double seconds) {
    uint64_t rounds = 1 << 24, best = UINT64_MAX;
    for (int i = 0; i < 5; i++) {
        uint64_t begun = own_nanoseconds();
        compute(rounds);
        uint64_t took = own_nanoseconds() - begun;
        if (took < best) best = took;
    }
    return (uint64_t)((double)rounds * seconds * 1e9 / (double)best);
}

static void write_array(void *array, size_t bytes, uint64_t step) {
    uint64_t *words = array;
    for (size_t i = 0; i < bytes / sizeof *words; i++) words[i] = random_word(step ^ i << 8);
}

static void check_array(const void *array, size_t bytes, uint64_t step) {
    const uint64_t *words = array;
    for (size_t i = 0; i < bytes / sizeof *words; i += 512)
        if (words[i] != random_word(step ^ i << 8))
            fail("what came of step %llu is not what was sent", (unsigned long long)step);
}

static void keep_to(int core) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    if (sched_setaffinity(0, sizeof one, &one)) fail("cannot keep to core %d", core);
}

// ---- the two programs ---------------------------------------------------------------------------------------
// Blocks of steps without sends and blocks of steps with sends follow each other. The first step of a block is
// not written out: a message of the previous block may still be leaving, or the first message of this block has
// not begun to leave.
static void run_sender(size_t bytes, double seconds, int blocks, int steps, const char *path) {
    FILE *out = fopen(path, "w");
    if (!out) fail("cannot write %s", path);
    uint64_t rounds = rounds_of(seconds), number = 0;
    for (int block = 0; block < 2 * blocks; block++) {
        for (int i = 0; i < steps; i++) {
            uint64_t begun = nanoseconds();
            compute(rounds);
            void *array = block % 2 ? peer_array(bytes) : own_array;
            write_array(array, bytes, number);
            if (block % 2) peer_send(array, bytes), number++;
            double took = 1e-9 * (double)(nanoseconds() - begun);
            if (i > 0) fprintf(out, "{\"sends\":%s,\"seconds\":%.6f}\n", block % 2 ? "true" : "false", took);
        }
    }
    if (fclose(out)) fail("cannot write the results");
}

static void run_receiver(size_t bytes, int messages) {
    for (int number = 0; number < messages; number++) {
        check_array(peer_receive(bytes), bytes, (uint64_t)number);
        peer_release();
    }
}

int main(int argc, char **argv) {
    if (argc < 8) fail("usage: %s sender|receiver OUT BYTES SECONDS BLOCKS STEPS CORE", argv[0]);
    sends = !strcmp(argv[1], "sender");
    size_t bytes = strtoull(argv[3], NULL, 10);
    int blocks = atoi(argv[5]), steps = atoi(argv[6]);
    alarm(600);
    own_array = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (own_array == MAP_FAILED) fail("out of memory");
    keep_to(atoi(argv[7]));
    peer_open(argc, argv, bytes);
    sends ? run_sender(bytes, atof(argv[4]), blocks, steps, argv[2]) : run_receiver(bytes, blocks * steps);
    peer_close();
    return 0;
}
#endif
