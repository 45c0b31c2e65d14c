// The exchange that every C program of this benchmark runs between two ends of a link: the plan, the two loops,
// times and counts, and output. A program defines the peer_* functions declared below as `static inline` in its
// own file. These functions transport the bytes.
#ifndef LAN_EXCHANGE_H
#define LAN_EXCHANGE_H
// Compile with -D_GNU_SOURCE.
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../lib/timing.h"
#include "effort.h"

enum side { SIDE_A, SIDE_B };  // A sends first and measures times; B answers

enum kind {
    LATENCY,  // messages in both directions; each round trip is timed
    // messages from A to B without pauses; timed from the first send until A knows that B has the last
    STREAM
};

struct stage {  // one part of the plan
    enum kind kind;
    size_t bytes;  // of a message; at least 16
    long count;    // LATENCY: round trips; STREAM: messages
    long warmup;   // untimed round trips or messages before them
};

// ---- what each program defines ------------------------------------------------------------------------------
static void peer_open(int argc, char **argv, size_t largest);  // arguments after SIDE, PLAN and OUT
// the caller may change the array after this call
static inline void peer_send(void *array, size_t bytes);
static inline const void *peer_receive(size_t bytes);          // returns the place of the received bytes
// ends the use of the bytes that peer_receive returned
static inline void peer_release(size_t bytes);
static void peer_close(void);

// ---- what the harness gives to programs ---------------------------------------------------------------------
static enum side side;
static char *send_array;  // page-aligned, with the largest size; every page exists

static _Noreturn void fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "side %c: ", side == SIDE_A ? 'a' : 'b');
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    fflush(stderr);
    exit(1);
}

// ---- messages -----------------------------------------------------------------------------------------------
enum { REPLY = 64 };  // bytes of the message by which B reports that it has received a whole stream

// Each message has its number in its first and last eight bytes, so that a program cannot mistake it for
// another message.
static inline void hand_over(size_t bytes, uint64_t number) {
    memcpy(send_array, &number, sizeof number);
    memcpy(send_array + bytes - sizeof number, &number, sizeof number);
    peer_send(send_array, bytes);
}

static inline void take(size_t bytes, uint64_t number) {
    const char *data = peer_receive(bytes);
    if (memcmp(data, &number, sizeof number) || memcmp(data + bytes - sizeof number, &number, sizeof number))
        fail("message %llu of %zu bytes is not the one that was sent", (unsigned long long)number, bytes);
    peer_release(bytes);
}

// ---- the two loops, at each side ----------------------------------------------------------------------------
static void print_effort(FILE *out, const struct effort *before, const struct effort *after) {
    fprintf(out, "\"processor_s\":%.6f,\"switches\":%llu}\n", after->processor_s - before->processor_s,
            (unsigned long long)(after->switches - before->switches));
}

static void to_and_fro(const struct stage *s, FILE *out) {
    uint64_t *took = calloc((size_t)s->count, sizeof *took), last = 0;
    if (!took) fail("out of memory");
    struct effort before = {0}, after;
    for (long round = -s->warmup; round < s->count; round++) {
        if (round == 0) before = effort_here(), last = nanoseconds();
        if (side == SIDE_A) hand_over(s->bytes, (uint64_t)round);
        take(s->bytes, (uint64_t)round);
        if (side == SIDE_B) hand_over(s->bytes, (uint64_t)round);
        uint64_t now = nanoseconds();
        if (round >= 0) took[round] = now - last;
        last = now;
    }
    after = effort_here();
    qsort(took, (size_t)s->count, sizeof *took, ascending);
    fprintf(out,
            "{\"kind\":\"latency\",\"bytes\":%zu,\"count\":%ld,\"median_ns\":%.1f,\"p99_ns\":%.1f,\"least_ns\":"
            "%.1f,",
            s->bytes, s->count, (double)took[s->count / 2] / 2, (double)took[s->count * 99 / 100] / 2,
            (double)took[0] / 2);
    print_effort(out, &before, &after);
    free(took);
}

static void back_to_back(const struct stage *s, FILE *out) {
    struct effort before = {0}, after;
    uint64_t begun = 0;
    for (long number = -s->warmup; number < s->count; number++) {
        if (number == 0) before = effort_here(), begun = nanoseconds();
        side == SIDE_A ? hand_over(s->bytes, (uint64_t)number) : take(s->bytes, (uint64_t)number);
        if (number != -1 && number != s->count - 1) continue;
        side == SIDE_A ? take(REPLY, (uint64_t)number) : hand_over(REPLY, (uint64_t)number);
    }
    double seconds = 1e-9 * (double)(nanoseconds() - begun);
    after = effort_here();
    fprintf(out, "{\"kind\":\"stream\",\"bytes\":%zu,\"count\":%ld,\"seconds\":%.6f,", s->bytes, s->count,
            seconds);
    print_effort(out, &before, &after);
}

// ---- the program --------------------------------------------------------------------------------------------
// Format of PLAN: "kind bytes count warmup;..." with the kind as a number.
static size_t read_plan(const char *text, struct stage *plan, size_t room, size_t *largest) {
    size_t count = 0;
    *largest = REPLY;
    while (*text) {
        int kind, used = 0;
        struct stage s;
        if (count == room ||
            sscanf(text, "%d %zu %ld %ld;%n", &kind, &s.bytes, &s.count, &s.warmup, &used) < 4 || !used ||
            kind < LATENCY || kind > STREAM || s.count < 1 || s.warmup < 1 || s.bytes < 16)
            fail("the plan cannot be read at: %s", text);
        s.kind = (enum kind)kind;
        if (s.bytes > *largest) *largest = s.bytes;
        plan[count++] = s;
        text += used;
    }
    return count;
}

int main(int argc, char **argv) {
    static struct stage plan[32];
    size_t largest;
    if (argc < 4 || (argv[1][0] != 'a' && argv[1][0] != 'b')) fail("usage: %s a|b PLAN OUT ...", argv[0]);
    side = argv[1][0] == 'a' ? SIDE_A : SIDE_B;
    size_t count = read_plan(argv[2], plan, sizeof plan / sizeof *plan, &largest);
    alarm(600);  // ends a broken exchange
    send_array = mmap(NULL, largest, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (send_array == MAP_FAILED) fail("out of memory");
    for (size_t i = 0; i < largest / 8; i++) ((uint64_t *)send_array)[i] = random_word(i);
    peer_open(argc - 4, argv + 4, largest);
    char path[4096];
    snprintf(path, sizeof path, "%s.%c", argv[3],
             side == SIDE_A ? 'a' : 'b');  // a program may fork the other side
    FILE *out = fopen(path, "w");
    if (!out) fail("cannot write %s", path);
    for (size_t i = 0; i < count; i++)
        plan[i].kind == LATENCY ? to_and_fro(&plan[i], out) : back_to_back(&plan[i], out);
    if (fclose(out)) fail("cannot write the results");
    peer_close();
    return 0;
}
#endif
