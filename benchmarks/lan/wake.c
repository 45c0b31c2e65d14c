// Two wake-ups in each direction, without a network: a small message goes from side A to side B through a
// process between them, and back through another one. All four processes are on one machine and sleep on a
// futex at once. With four, each has time to fall asleep while the others have the message; two processes that
// answer each other might not. Side A starts the others.
#include <sys/prctl.h>
#include <sys/wait.h>

#include "futex.h"

enum { SEATS = 4 };  // A, the process from A to B, B, the process from B to A

static struct box *boxes;  // indexed by the seat of the reader
static uint32_t received;
static int seat;
static pid_t answering;  // side B
static size_t message;

static inline void pass_on(const void *data, size_t bytes) { put(&boxes[(seat + 1) % SEATS], data, bytes); }

static void peer_open(int argc, char **argv, size_t largest) {
    (void)argv;
    if (argc != 0 || largest > ROOM) fail("usage: wake a PLAN OUT, with small messages");
    boxes = new_boxes(SEATS), message = largest;
    pid_t parent = getpid();
    for (int i = 1; i < SEATS && seat == 0; i++) {
        pid_t child = fork();
        if (child < 0) fail("cannot fork");
        if (child > 0) {
            if (i == 2) answering = child;
            continue;
        }
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) fail("side A has gone");
        seat = i;
    }
    if (seat == 2) side = SIDE_B;
    while (seat % 2) pass_on(get(&boxes[seat], received++), message);  // until side A ends
}

static inline void peer_send(void *array, size_t bytes) { pass_on(array, bytes); }

static inline const void *peer_receive(size_t bytes) {
    (void)bytes;
    return get(&boxes[seat], received++);
}

static inline void peer_release(size_t bytes) { (void)bytes; }

// The others end with side A, so side B must have written its results before.
static void peer_close(void) {
    if (seat == 0) waitpid(answering, NULL, 0);
}
