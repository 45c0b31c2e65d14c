// The hops of a message through two agents, without Ligament. The simulation passes a small message to a
// process on its machine, which sleeps on a futex. This process writes the message to a TCP connection. The
// process at the other end sleeps in recv, and passes the message to its simulation, which sleeps on a futex.
// Nothing is stored, checked, resumed or encrypted.
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "futex.h"
#include "tcp.h"

static struct box *out, *in;  // from the simulation, and to it
static uint32_t received;
static int connection;
static size_t message;  // bytes; messages have no length field, so all of a plan have the same size
static pid_t relay;

static void *relay_inwards(void *unused) {
    (void)unused;
    static char bytes[ROOM];
    while (tcp_read(connection, bytes, message)) put(in, bytes, message);
    exit(0);
}

static _Noreturn void relay_outwards(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, relay_inwards, NULL)) fail("cannot start a thread");
    for (uint32_t number = 0;; number++) tcp_write(connection, get(out, number), message);
}

static void peer_open(int argc, char **argv, size_t largest) {
    if (argc != 2 || largest > ROOM) fail("usage: chain a|b PLAN OUT ADDRESS PORT, with small messages");
    message = largest;
    out = new_boxes(2), in = out + 1;
    pid_t parent = getpid();
    relay = fork();
    if (relay < 0) fail("cannot fork");
    if (relay == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) fail("the simulation has gone");
        connection = tcp_open(argv[0], argv[1]);
        relay_outwards();
    }
}

static inline void peer_send(void *array, size_t bytes) { put(out, array, bytes); }

static inline const void *peer_receive(size_t bytes) {
    (void)bytes;
    return get(in, received++);
}

static inline void peer_release(size_t bytes) { (void)bytes; }

// Side A ends when it has received everything. The relay of side B ends after that of side A, which may still
// send until then.
static void peer_close(void) {
    if (side == SIDE_B) waitpid(relay, NULL, 0);
}
