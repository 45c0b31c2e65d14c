// One wake-up: two processes of one machine that hand a small message to each other and sleep on a futex meanwhile. Side
// A starts side B; there is no network in it.
#include <sys/prctl.h>

#include "futex.h"

static struct box *boxes;  // by the side that reads
static uint32_t received;

static void peer_open(int argc, char **argv, size_t largest) {
    (void)argv;
    if (argc != 0 || largest > ROOM) fail("usage: wake a PLAN OUT, with small messages");
    boxes = new_boxes(2);
    pid_t parent = getpid(), child = fork();
    if (child < 0) fail("cannot fork");
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) fail("side A has gone");
        side = SIDE_B;
    }
}

static inline void peer_send(void *array, size_t bytes) { put(&boxes[!side], array, bytes); }

static inline const void *peer_receive(size_t bytes) {
    (void)bytes;
    return get(&boxes[side], received++);
}

static inline void peer_release(size_t bytes) { (void)bytes; }

static void peer_close(void) {}
