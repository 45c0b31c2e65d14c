// The ring that every C program of this benchmark runs: the plan, the way of the token, times and output. A
// program defines the peer_* functions declared below as `static inline` in its own file. These functions
// transport the bytes. The caller of the programs chooses the cores.
#ifndef OVERSUBSCRIBED_RING_H
#define OVERSUBSCRIBED_RING_H
// Compile with -D_GNU_SOURCE.
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../lib/timing.h"

enum kind {
    LAPS,    // the token goes round without a pause; position 0 times the laps
    // The owner of the token sleeps first, so that the next process has parked. Only the hand-over is timed.
    PARKED,
    BLOCKED  // position 0 sleeps once before it sends; the others report the processor time of their wait
};

struct stage {  // one part of the plan
    enum kind kind;
    size_t bytes;  // of the token: 0, or at least 16
    long amount;   // LAPS: duration in ms; PARKED, BLOCKED: sleep in µs
    long laps;     // LAPS: minimum number that is timed, even if it takes longer; PARKED: number
};

// ---- what each program defines ------------------------------------------------------------------------------
static int peer_position(int argc, char **argv);    // 0 … ring_count-1; a program may fork the ring here
static void peer_open(size_t largest);
static inline void peer_send(void *array,
                             // to the next position; the caller may change the array after this call
                             size_t bytes);
// from the position before; returns the place of the bytes
static inline const void *peer_receive(size_t bytes);
// ends the use of the bytes that peer_receive returned
static inline void peer_release(void);
static void peer_close(void);

// ---- what the harness gives to programs ---------------------------------------------------------------------
static int ring_count, ring_position;
static char *send_array, *receive_array;  // page-aligned, with the largest size; every page exists

static _Noreturn void fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "position %d: ", ring_position);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    fflush(stderr);
    exit(1);
}

// ---- the page that all positions see ------------------------------------------------------------------------
struct page {
    // written by position 0 before it sends the last token of a stage
    _Alignas(128) _Atomic uint64_t stages_over;
    // PARKED: time at which the owner of the token began to send, ns
    _Alignas(128) _Atomic uint64_t sent_at;
};

static struct page *page;

static const char *variable(const char *name) {
    const char *value = getenv(name);
    if (!value) fail("%s is not set; this program is started by benchmarks/run", name);
    return value;
}

static struct page *open_page(void) {
    int file = open(variable("RING_PAGE"), O_RDWR | O_CLOEXEC);
    void *at = file < 0 ? MAP_FAILED : mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (at == MAP_FAILED) fail("cannot map %s", variable("RING_PAGE"));
    close(file);
    return at;
}

// ---- the token ----------------------------------------------------------------------------------------------
// A token with bytes has its lap in its first and last eight bytes, so that a program cannot mistake it for an
// older token.
static inline void hand_on(size_t bytes, uint64_t lap) {
    if (bytes) {
        memcpy(send_array, &lap, sizeof lap);
        memcpy(send_array + bytes - sizeof lap, &lap, sizeof lap);
    }
    peer_send(send_array, bytes);
}

static inline void take(size_t bytes, uint64_t lap) {
    const char *data = peer_receive(bytes);
    if (bytes && (memcmp(data, &lap, sizeof lap) || memcmp(data + bytes - sizeof lap, &lap, sizeof lap)))
        fail("lap %llu: the received token is not the one that was sent", (unsigned long long)lap);
    peer_release();
}

static void rest(long microseconds) {
    struct timespec t = {microseconds / 1000000, microseconds % 1000000 * 1000};
    nanosleep(&t, NULL);
}

static double processor_seconds(void) {
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

// ---- one stage, at position 0 and at the others -------------------------------------------------------------
enum { MAX_LAPS = 1 << 20 };

static void laps_first(const struct stage *s, uint64_t number, FILE *out) {
    static uint64_t took[MAX_LAPS];
    uint64_t length = (uint64_t)s->amount * 1000000u, begun = nanoseconds(), warm_until = begun + length / 5;
    uint64_t last = begun, timed_from = 0, lap = 0;
    long timed = -1;  // below 0 during the warm-up
    for (int over = 0; !over; lap++) {
        if (timed < 0 && lap > 0 && last >= warm_until) timed = 0, timed_from = last;
        over = timed >= 0 && timed + 1 >= s->laps && (last - timed_from >= length || timed + 1 == MAX_LAPS);
        if (over) atomic_store(&page->stages_over, number + 1);
        hand_on(s->bytes, lap);
        take(s->bytes, lap);
        uint64_t now = nanoseconds();
        if (timed >= 0) took[timed++] = now - last;
        last = now;
    }
    double hops = (double)timed * ring_count;
    qsort(took, (size_t)timed, sizeof *took, ascending);
    fprintf(out,
            "{\"kind\":\"laps\",\"bytes\":%zu,\"laps\":%ld,\"hop_ns\":%.1f,\"median_lap_ns\":%llu,\"worst_lap_"
            "ns\":%llu}\n",
            s->bytes, timed, (double)(last - timed_from) / hops, (unsigned long long)took[timed / 2],
            (unsigned long long)took[timed - 1]);
}

static void laps_other(const struct stage *s, uint64_t number) {
    uint64_t lap = 0;
    for (int over = 0; !over; lap++) {
        take(s->bytes, lap);
        over = atomic_load(&page->stages_over) > number;
        hand_on(s->bytes, lap);
    }
}

// On several cores, each position keeps to one core. Otherwise the kernel would place positions that sleep at
// once all on one core, and would wake others on a second core that is asleep itself.
static void keep_to_one_core(cpu_set_t *before) {
    if (sched_getaffinity(0, sizeof *before, before)) fail("sched_getaffinity: %s", strerror(errno));
    int left = ring_position % CPU_COUNT(before), core = 0;
    while (!CPU_ISSET(core, before) || left-- > 0) core++;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    if (sched_setaffinity(0, sizeof one, &one)) fail("sched_setaffinity: %s", strerror(errno));
}

// Both positions sleep before they send, and both time the hand-over that they receive.
static void parked(const struct stage *s, FILE *out) {
    uint64_t *took = calloc((size_t)s->laps, sizeof *took);
    if (!took) fail("out of memory");
    cpu_set_t before;
    keep_to_one_core(&before);
    for (long lap = 0; lap < 2 * s->laps; lap++) {
        if (lap % ring_count == ring_position) {
            rest(s->amount);
            atomic_store(&page->sent_at, nanoseconds());
            hand_on(s->bytes, (uint64_t)lap);
        } else {
            take(s->bytes, (uint64_t)lap);
            took[lap / 2] = nanoseconds() - atomic_load(&page->sent_at);
        }
    }
    if (sched_setaffinity(0, sizeof before, &before)) fail("sched_setaffinity: %s", strerror(errno));
    qsort(took, (size_t)s->laps, sizeof *took, ascending);
    fprintf(out, "{\"kind\":\"parked\",\"bytes\":%zu,\"median_ns\":%llu,\"p90_ns\":%llu,\"least_ns\":%llu}\n",
            s->bytes, (unsigned long long)took[s->laps / 2], (unsigned long long)took[s->laps * 9 / 10],
            (unsigned long long)took[0]);
    free(took);
}

static void blocked_first(const struct stage *s) {
    rest(s->amount);
    hand_on(s->bytes, 0);
    take(s->bytes, 0);
}

static void blocked_other(const struct stage *s, FILE *out) {
    double processor = processor_seconds();
    uint64_t begun = nanoseconds();
    take(s->bytes, 0);
    processor = processor_seconds() - processor;
    fprintf(out, "{\"kind\":\"blocked\",\"bytes\":%zu,\"waited_s\":%.3f,\"processor_s\":%.6f}\n", s->bytes,
            1e-9 * (double)(nanoseconds() - begun), processor);
    hand_on(s->bytes, 0);
}

// ---- the program --------------------------------------------------------------------------------------------
// Format of RING_PLAN: "kind bytes amount laps;..." with the kind as a number.
static size_t read_plan(struct stage *plan, size_t room, size_t *largest) {
    const char *text = variable("RING_PLAN");
    size_t count = 0;
    *largest = 0;
    while (*text) {
        int kind, used = 0;
        struct stage s;
        if (count == room ||
            sscanf(text, "%d %zu %ld %ld;%n", &kind, &s.bytes, &s.amount, &s.laps, &used) < 4 || !used ||
            kind < LAPS || kind > BLOCKED || s.laps < 1 || (s.bytes && s.bytes < 16))
            fail("RING_PLAN cannot be read at: %s", text);
        s.kind = (enum kind)kind;
        if (s.kind == PARKED && ring_count != 2) fail("a hand-over is timed between two processes");
        if (s.bytes > *largest) *largest = s.bytes;
        plan[count++] = s;
        text += used;
    }
    return count;
}

static char *new_array(size_t bytes) {
    char *array = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096 + 4096);
    if (!array) fail("out of memory");
    memset(array, 1, bytes + 1);
    return array;
}

int main(int argc, char **argv) {
    static struct stage plan[32];
    size_t largest;
    ring_count = atoi(variable("RING_COUNT"));
    if (ring_count < 2) fail("RING_COUNT is not a number of at least 2");
    size_t count = read_plan(plan, sizeof plan / sizeof *plan, &largest);
    page = open_page();
    ring_position = peer_position(argc, argv);
    alarm(300);  // ends a broken ring, which would otherwise spin forever
    char path[4096];
    snprintf(path, sizeof path, "%s.%d", variable("RING_OUT"), ring_position);
    FILE *out = fopen(path, "w");
    if (!out) fail("cannot write %s", path);
    send_array = new_array(largest), receive_array = new_array(largest);
    peer_open(largest);
    for (size_t i = 0; i < count; i++) {
        const struct stage *s = &plan[i];
        int first = ring_position == 0;
        switch (s->kind) {
            case LAPS: first ? laps_first(s, i, out) : laps_other(s, i); break;
            case PARKED: parked(s, out); break;
            case BLOCKED: first ? blocked_first(s) : blocked_other(s, out); break;
        }
        if (first) atomic_store(&page->stages_over, i + 1);
    }
    if (fclose(out)) fail("cannot write the results");
    peer_close();
    return 0;
}
#endif
