// SO_MAX_PACING_RATE limits the rate of a TCP stream, for any user and without a queueing discipline that
// paces. Meanwhile, TCP_INFO tells how much has arrived and how short the round trip was.
#include "proof.h"
#include <netinet/in.h>
#include <netinet/tcp.h>

enum { RATE = 2 << 20 };
static char piece[64 << 10];

static unsigned long long arrived(int fd,
                                  unsigned *round_trip) {  // offsets 120 and 148 of the kernel's tcp_info
    char info[232] = {0};
    socklen_t size = sizeof info;
    unsigned long long bytes;
    CLAIM(getsockopt(fd, IPPROTO_TCP, TCP_INFO, info, &size) == 0 && size >= 152);
    memcpy(&bytes, info + 120, 8), memcpy(round_trip, info + 148, 4);
    return bytes;
}

int main(void) {
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    unsigned long long rate = RATE;
    unsigned round_trip;
    CLAIM(bind(listener, (void *)&at, size) == 0 && listen(listener, 2) == 0);
    CLAIM(getsockname(listener, (void *)&at, &size) == 0);
    if (geteuid() == 0) CLAIM(setresuid(65534, 65534, 65534) == 0);
    int line = socket(AF_INET, SOCK_STREAM, 0), end;
    CLAIM(setsockopt(line, SOL_SOCKET, SO_MAX_PACING_RATE, &rate, sizeof rate) == 0);
    CLAIM(connect(line, (void *)&at, sizeof at) == 0 && (end = accept(listener, NULL, NULL)) >= 0);
    double begun = milliseconds();
    while (milliseconds() - begun < 500) {
        send(line, piece, sizeof piece, MSG_DONTWAIT);
        while (recv(end, piece, sizeof piece, MSG_DONTWAIT) > 0) {}
        poll(NULL, 0, 1);
    }
    double seconds = (milliseconds() - begun) / 1e3;
    unsigned long long bytes = arrived(line, &round_trip);
    // The first ten segments, and those that a timer lets through at once, exceed the rate.
    CLAIM(bytes > 0 && bytes < 1.3 * RATE * seconds + (1 << 20) && round_trip > 0);
    printf("%.1f MiB/s where %.1f are allowed; round trip %u us\n", bytes / seconds / (1 << 20),
           RATE / 1048576., round_trip);
}
