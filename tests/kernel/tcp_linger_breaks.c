// With SO_LINGER and a time of 0, close() breaks the connection: the other end learns this at once, even if it
// has read nothing. Without it, the end of the connection comes after all sent bytes, and waits with them.
#include "proof.h"
#include <netinet/in.h>

static char piece[16 << 10];

// Returns true if the end that reads nothing learns within 200 ms that the other one has closed.
static int hears(int listener, struct sockaddr_in *at, int breaks) {
    int far = socket(AF_INET, SOCK_STREAM, 0), near;
    struct linger linger = {1, 0};
    CLAIM(connect(far, (void *)at, sizeof *at) == 0 && (near = accept(listener, NULL, NULL)) >= 0);
    while (send(far, piece, sizeof piece, MSG_DONTWAIT) > 0) continue;
    CLAIM(errno == EAGAIN);
    if (breaks) CLAIM(setsockopt(far, SOL_SOCKET, SO_LINGER, &linger, sizeof linger) == 0);
    CLAIM(close(far) == 0);
    struct pollfd told = {near, POLLRDHUP, 0};
    CLAIM(poll(&told, 1, 200) >= 0);
    return told.revents != 0;
}

int main(void) {
    int listener = socket(AF_INET, SOCK_STREAM, 0), room = 32 << 10;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    CLAIM(setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &room, sizeof room) == 0);
    CLAIM(bind(listener, (void *)&at, size) == 0 && listen(listener, 2) == 0);
    CLAIM(getsockname(listener, (void *)&at, &size) == 0);
    CLAIM(!hears(listener, &at, 0) && hears(listener, &at, 1));
    printf("a full connection is broken at once with SO_LINGER 0, and not without\n");
}
