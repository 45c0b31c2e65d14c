// Both ends of a link exchange messages with a plan, and write the times at which each message was sent and its
// last byte arrived. The ends are on one machine, so they have one clock.
//
// A plan has the parts COUNT:BYTES:PAUSE[:KIND], with commas between them. A part sends COUNT messages from a
// to b, each PAUSE ms after the answer to the previous one. An answer has 8 bytes; it is as long as the message
// if that has at most 64 bytes, or if KIND is `echo`. With KIND `both` there are no answers: both ends send
// PAUSE ms after their last receive.
#ifndef WAN_H
#define WAN_H
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

static void fail(const char *format, ...) {
    va_list words;
    va_start(words, format);
    vfprintf(stderr, format, words);
    fputc('\n', stderr);
    exit(1);
}

static inline uint64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static void pause_ms(double ms) {
    struct timespec t = {(time_t)(ms / 1e3), (long)(ms * 1e6) % 1000000000};
    if (ms > 0) nanosleep(&t, NULL);
}

// Functions that each program defines.
static void peer_open(int is_a, int argc, char **argv);
static void peer_send(const char *data, size_t bytes);
static void peer_receive(char *data, size_t bytes);
static void peer_close(void);

static double processor(void) {
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return used.ru_utime.tv_sec + used.ru_stime.tv_sec + (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

static char *memory(size_t bytes) {
    char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (at == MAP_FAILED) fail("out of memory");
    return at;
}

enum kind { ANSWERED, ECHO, BOTH };
struct word {
    int count;
    size_t bytes;
    double ms;
    enum kind kind;
};

// Reads the first part of a plan. Returns the place of the next part, or NULL.
static const char *read_word(const char *plan, struct word *word) {
    char kind[8] = "";
    if (sscanf(plan, "%d:%zu:%lf:%7[a-z]", &word->count, &word->bytes, &word->ms, kind) < 3 || word->bytes < 8)
        fail("no plan: %s", plan);
    word->kind = !strcmp(kind, "both") ? BOTH : !strcmp(kind, "echo") || word->bytes <= 64 ? ECHO : ANSWERED;
    const char *comma = strchr(plan, ',');
    return comma ? comma + 1 : NULL;
}

static void stamp(char *data, size_t bytes, uint64_t number) {
    memcpy(data, &number, 8), memcpy(data + bytes - 8, &number, 8);
}

static void check(const char *data, size_t bytes, uint64_t number) {
    uint64_t first, last;
    memcpy(&first, data, 8), memcpy(&last, data + bytes - 8, 8);
    if (first != number || last != number) fail("message %llu came, and not %llu", (unsigned long long)first,
                                                (unsigned long long)number);
}

// Usage: PROGRAM a|b OUT PLAN ...
int main(int argc, char **argv) {
    if (argc < 4) fail("usage: %s a|b OUT PLAN ...", argv[0]);
    int is_a = argv[1][0] == 'a';
    FILE *out = fopen(argv[2], "w");
    if (!out) fail("%s: %s", argv[2], strerror(errno));
    struct word word;
    size_t largest = 64, to_and_fro = 64;
    for (const char *plan = argv[3]; plan;) {
        plan = read_word(plan, &word);
        if (word.bytes > largest) largest = word.bytes;
        if (word.kind != ANSWERED && word.bytes > to_and_fro) to_and_fro = word.bytes;
    }
    // If both ends send, the last message may still be under way, and the one before it has arrived. So two
    // arrays take turns.
    char *data = memory(largest), *other = memory(to_and_fro), *back = memory(to_and_fro);
    uint64_t x = 88172645463325252ull;  // looks random, so that compression gives no advantage
    for (size_t i = 0; i + 8 <= largest; i += 8)
        x ^= x << 13, x ^= x >> 7, x ^= x << 17, memcpy(data + i, &x, 8);
    memcpy(other, data, to_and_fro);
    peer_open(is_a, argc - 4, argv + 4);
    uint64_t number = 0;
    double before = processor();
    for (const char *plan = argv[3]; plan;) {
        plan = read_word(plan, &word);
        size_t answer = word.kind == ANSWERED ? 8 : word.bytes;
        for (int i = 0; i < word.count; i++, number++) {
            if (is_a || word.kind == BOTH) pause_ms(word.ms);
            char *mine = word.kind == BOTH && number % 2 ? other : data;
            uint64_t begun = now();
            if (word.kind == BOTH) {
                stamp(mine, word.bytes, number);
                peer_send(mine, word.bytes);
                peer_receive(back, word.bytes);
                check(back, word.bytes, number);
            } else if (is_a) {
                stamp(mine, word.bytes, number);
                peer_send(mine, word.bytes);
                peer_receive(back, answer);
                check(back, answer, number);
            } else {
                peer_receive(mine, word.bytes);
                check(mine, word.bytes, number);
            }
            uint64_t end = now();
            if (is_a)
                fprintf(out, "%llu %llu\n", (unsigned long long)begun, (unsigned long long)end);
            else
                fprintf(out, "%llu\n", (unsigned long long)end);
            if (!is_a && word.kind != BOTH) peer_send(mine, answer);
        }
    }
    fprintf(out, "%.6f\n", processor() - before);
    fclose(out);
    peer_close();
    return 0;
}
#endif
