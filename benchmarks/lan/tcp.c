// The limit: a TCP connection and nothing else. The receiver sleeps in recv. A message of a page or more is
// read into new memory of its size, as in a program that keeps received data.
#include "tcp.h"

enum { SMALL = 4096 };

static int connection;
static char *fresh, small[SMALL];

static void peer_open(int argc, char **argv, size_t largest) {
    (void)largest;
    if (argc != 2) fail("usage: tcp a|b PLAN OUT ADDRESS PORT");
    connection = tcp_open(argv[0], argv[1]);
}

static inline void peer_send(void *array, size_t bytes) { tcp_write(connection, array, bytes); }

static inline const void *peer_receive(size_t bytes) {
    char *to = small;
    if (bytes > SMALL) {
        to = fresh = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (fresh == MAP_FAILED) fail("out of memory");
    }
    if (!tcp_read(connection, to, bytes)) fail("the other end has gone");
    return to;
}

static inline void peer_release(size_t bytes) {
    if (bytes > SMALL) munmap(fresh, bytes);
}

static void peer_close(void) { close(connection); }
