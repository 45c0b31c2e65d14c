// Both ends of a link exchange messages after a plan, and write down when each was sent and when its last byte was there.
// The ends are on one machine, so their clocks are one.
//
// A plan is words COUNT:BYTES:PAUSE: so many messages from a to b, each PAUSE ms after the answer (8 bytes) to the one
// before. With BYTES of at most 64 the answer is as long as the message.
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

// What each program has of its own.
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

// PROGRAM a|b OUT PLAN HOST PORT ...
int main(int argc, char **argv) {
    if (argc < 6) fail("usage: %s a|b OUT PLAN HOST PORT ...", argv[0]);
    int is_a = argv[1][0] == 'a';
    FILE *out = fopen(argv[2], "w");
    if (!out) fail("%s: %s", argv[2], strerror(errno));
    size_t largest = 64;
    for (char *word = argv[3]; word; word = strchr(word, ',') ? strchr(word, ',') + 1 : NULL) {
        size_t bytes = 0;
        if (sscanf(word, "%*d:%zu:", &bytes) != 1) fail("no plan: %s", word);
        if (bytes > largest) largest = bytes;
    }
    char *data = memory(largest);
    if (is_a) {  // looks random, so that nothing is won by compressing it
        uint64_t x = 88172645463325252ull;
        for (size_t i = 0; i + 8 <= largest; i += 8)
            x ^= x << 13, x ^= x >> 7, x ^= x << 17, memcpy(data + i, &x, 8);
    }
    peer_open(is_a, argc - 4, argv + 4);
    uint64_t number = 0, got;
    double before = processor();
    for (char *word = argv[3]; word; word = strchr(word, ',') ? strchr(word, ',') + 1 : NULL) {
        int count;
        size_t bytes;
        double ms;
        if (sscanf(word, "%d:%zu:%lf", &count, &bytes, &ms) != 3) fail("no plan: %s", word);
        size_t answer = bytes <= 64 ? bytes : 8;
        for (int i = 0; i < count; i++, number++) {
            if (is_a) {
                pause_ms(ms);
                uint64_t begun = now();
                memcpy(data, &number, 8), memcpy(data + bytes - 8, &number, 8);
                peer_send(data, bytes);
                char back[64];
                peer_receive(back, answer);
                memcpy(&got, back, 8);
                if (got != number) fail("another answer");
                fprintf(out, "%llu %llu\n", (unsigned long long)begun, (unsigned long long)now());
            } else {
                peer_receive(data, bytes);
                uint64_t end = now(), last;
                memcpy(&got, data, 8), memcpy(&last, data + bytes - 8, 8);
                if (got != number || last != number) fail("another message");
                fprintf(out, "%llu\n", (unsigned long long)end);
                peer_send(data, answer);
            }
        }
    }
    fprintf(out, "%.6f\n", processor() - before);
    fclose(out);
    peer_close();
    return 0;
}
#endif
