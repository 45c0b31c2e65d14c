// With TCP_NOTSENT_LOWAT a socket takes only a little more than it may send, and becomes writable when less
// than half of that is unsent. Without it, the socket takes as much as its buffer holds, and these bytes can no
// longer be moved to another stream.
#include "proof.h"
#include <netinet/in.h>
#include <netinet/tcp.h>

enum { LIMIT = 64 << 10, PIECE = 16 << 10 };
static char piece[PIECE];

static int unsent(int fd) {  // offset 144 of the kernel's tcp_info
    char info[232] = {0};
    socklen_t size = sizeof info;
    unsigned bytes;
    CLAIM(getsockopt(fd, IPPROTO_TCP, TCP_INFO, info, &size) == 0 && size >= 148);
    memcpy(&bytes, info + 144, 4);
    return (int)bytes;
}

// Number of bytes that a socket takes while the other end reads nothing, and number of those that it has not
// sent.
static int takes(int listener, struct sockaddr_in *at, int limit, int *left, int ends[2]) {
    int taken = 0;
    ends[0] = socket(AF_INET, SOCK_STREAM, 0);
    CLAIM(connect(ends[0], (void *)at, sizeof *at) == 0 && (ends[1] = accept(listener, NULL, NULL)) >= 0);
    if (limit) CLAIM(setsockopt(ends[0], IPPROTO_TCP, TCP_NOTSENT_LOWAT, &limit, sizeof limit) == 0);
    for (ssize_t n; (n = send(ends[0], piece, PIECE, MSG_DONTWAIT)) > 0;) taken += n;
    CLAIM(errno == EAGAIN);
    *left = unsent(ends[0]);
    return taken;
}

int main(void) {
    int listener = socket(AF_INET, SOCK_STREAM, 0), left, free_left, ends[2], free_ends[2], room = 32 << 10;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    CLAIM(setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &room, sizeof room) == 0);
    CLAIM(bind(listener, (void *)&at, size) == 0 && listen(listener, 2) == 0);
    CLAIM(getsockname(listener, (void *)&at, &size) == 0);
    int all = takes(listener, &at, 0, &free_left, free_ends), some = takes(listener, &at, LIMIT, &left, ends);
    CLAIM(free_left > 4 * LIMIT && left <= 2 * LIMIT && some < all);
    struct pollfd writable = {ends[0], POLLOUT, 0};
    CLAIM(poll(&writable, 1, 0) == 0);
    while (unsent(ends[0]) >= LIMIT / 2) CLAIM(recv(ends[1], piece, PIECE, 0) > 0);
    CLAIM(poll(&writable, 1, 1000) == 1);
    printf("unsent: %d KiB of %d KiB with a limit of %d KiB; %d KiB without\n", left >> 10, some >> 10,
           LIMIT >> 10, free_left >> 10);
}
