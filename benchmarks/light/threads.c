// The web of light.c as hand-written threads, one for each submodel: threads COMPONENTS CONDUITS STEPS. `ends`
// in lib/runs.py defines the conduits. In each step a submodel sends a message on each of its outgoing
// conduits, and takes a message from each incoming conduit. One lock protects all incoming conduits of a
// submodel. Prints the seconds from the first step of all submodels to the last step.
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROOM = 16 };  // capacity of a conduit, in messages

struct message {
    double time;
    void *data;
};

struct submodel;

struct conduit {
    struct submodel *to;
    struct message held[ROOM];
    unsigned long sent, taken;
};

struct submodel {
    pthread_mutex_t lock;
    pthread_cond_t came, left;
    bool waits;    // true while it waits for a message
    int blocked;   // number of senders that wait for room
    struct conduit **out, **in;
    int outs, ins;
    pthread_t thread;
};

static long steps;
static pthread_barrier_t all;

static void send(struct conduit *conduit, struct message message) {
    struct submodel *to = conduit->to;
    pthread_mutex_lock(&to->lock);
    while (conduit->sent - conduit->taken == ROOM) {
        to->blocked++;
        pthread_cond_wait(&to->left, &to->lock);
        to->blocked--;
    }
    conduit->held[conduit->sent++ % ROOM] = message;
    bool wake = to->waits;
    pthread_mutex_unlock(&to->lock);
    if (wake) pthread_cond_signal(&to->came);
}

static struct message receive(struct submodel *me, struct conduit *conduit) {
    pthread_mutex_lock(&me->lock);
    while (conduit->sent == conduit->taken) {
        me->waits = true;
        pthread_cond_wait(&me->came, &me->lock);
        me->waits = false;
    }
    struct message message = conduit->held[conduit->taken++ % ROOM];
    bool wake = me->blocked > 0;
    pthread_mutex_unlock(&me->lock);
    if (wake) pthread_cond_broadcast(&me->left);
    return message;
}

static void *run(void *argument) {
    struct submodel *me = argument;
    pthread_barrier_wait(&all);
    for (long step = 0; step < steps; step++) {
        for (int i = 0; i < me->outs; i++) send(me->out[i], (struct message){step, NULL});
        for (int i = 0; i < me->ins; i++)
            if (receive(me, me->in[i]).time != step) abort();
    }
    return NULL;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + 1e-9 * time.tv_nsec;
}

int main(int count, char **words) {
    if (count != 4) return 2;
    long n = atol(words[1]), m = atol(words[2]);
    steps = atol(words[3]);
    if (n < 2 || m < 1) return 2;
    struct submodel *submodels = calloc(n, sizeof *submodels);
    struct conduit *conduits = calloc(m, sizeof *conduits);
    if (!submodels || !conduits) return 1;
    for (long i = 0; i < n; i++) {
        pthread_mutex_init(&submodels[i].lock, NULL);
        pthread_cond_init(&submodels[i].came, NULL);
        pthread_cond_init(&submodels[i].left, NULL);
        submodels[i].out = calloc(m / n + 1, sizeof *submodels[i].out);
        submodels[i].in = calloc(m / n + 1, sizeof *submodels[i].in);
        if (!submodels[i].out || !submodels[i].in) return 1;
    }
    for (long k = 0; k < m; k++) {
        struct submodel *from = &submodels[k % n], *to = &submodels[(k % n + 1 + k / n % (n - 1)) % n];
        conduits[k].to = to;
        from->out[from->outs++] = to->in[to->ins++] = &conduits[k];
    }
    pthread_barrier_init(&all, NULL, n + 1);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 64 << 10);
    for (long i = 0; i < n; i++)
        if (pthread_create(&submodels[i].thread, &attributes, run, &submodels[i]) != 0) {
            perror("pthread_create");
            return 1;
        }
    pthread_barrier_wait(&all);
    double begun = now();
    for (long i = 0; i < n; i++) pthread_join(submodels[i].thread, NULL);
    printf("%.9f\n", now() - begun);
    return 0;
}
