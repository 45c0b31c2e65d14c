// The same exchange by hand over shared memory: bare (copies|shared) FROM SENDERS TO RECEIVERS EDGE STEPS. With
// "copies", each sender copies its array into shared memory, and receivers copy their elements out of it. With
// "shared", the sender's array is in shared memory. Prints the time of an exchange (ns).
#define _GNU_SOURCE
#include "layout.h"
#include <pthread.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

struct team {
    pthread_barrier_t barrier;
    int64_t began, ended;
};

static void *shared(size_t bytes) {
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) exit(1);
    return memory;
}

static void copy(double *to, const struct part *own, const double *from, const struct part *theirs) {
    const struct part both = common(own, theirs);
    for (uint64_t i = 0; i < both.shape[0]; ++i)
        for (uint64_t j = 0; j < both.shape[1]; ++j) {
            const uint64_t a = both.start[0] + i, b = both.start[1] + j, c = both.start[2];
            const uint64_t row = (a - own->start[0]) * own->shape[1] + b - own->start[1];
            const uint64_t their_row = (a - theirs->start[0]) * theirs->shape[1] + b - theirs->start[1];
            const uint64_t target = row * own->shape[2] + c - own->start[2];
            const uint64_t source = their_row * theirs->shape[2] + c - theirs->start[2];
            memcpy(to + target, from + source, both.shape[2] * sizeof *to);
        }
}

int main(int argc, char **argv) {
    if (argc != 8) return 2;
    const bool copies = strcmp(argv[1], "copies") == 0;
    const int senders = atoi(argv[3]), receivers = atoi(argv[5]), steps = atoi(argv[7]);
    const uint64_t edge = strtoull(argv[6], NULL, 10);
    struct team *all = shared(sizeof *all);
    pthread_barrierattr_t attributes;
    pthread_barrierattr_init(&attributes);
    pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&all->barrier, &attributes, senders + receivers);
    double **slabs = calloc(senders, sizeof *slabs);
    for (int i = 0; i < senders; ++i) {
        const struct part part = part_of(argv[2], edge, i, senders);
        slabs[i] = shared(count_of(&part) * sizeof(double));
        fill(slabs[i], &part, edge);
    }
    for (int rank = 0; rank < senders + receivers; ++rank) {
        if (fork() != 0) continue;
        const bool sends = rank < senders;
        const struct part own = sends ? part_of(argv[2], edge, rank, senders)
                                      : part_of(argv[4], edge, rank - senders, receivers);
        double *data = !sends || copies ? memory(count_of(&own)) : NULL;
        if (sends && copies) fill(data, &own, edge);
        for (int step = 0; step < WARM_UP + steps; ++step) {
            if (sends && copies) memcpy(slabs[rank], data, count_of(&own) * sizeof *data);
            pthread_barrier_wait(&all->barrier);
            for (int i = 0; !sends && i < senders; ++i) {
                const struct part theirs = part_of(argv[2], edge, i, senders);
                copy(data, &own, slabs[i], &theirs);
            }
            pthread_barrier_wait(&all->barrier);
            if (step == WARM_UP - 1 && rank == 0) all->began = now_ns();
        }
        if (rank == 0) all->ended = now_ns();
        if (!sends) check(data, &own, edge);
        _exit(0);
    }
    int status, failed = 0;
    while (wait(&status) > 0) failed |= status;
    if (failed) return 1;
    printf("%.0f\n", (double)(all->ended - all->began) / steps);
    return 0;
}
