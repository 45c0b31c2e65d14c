// One TCP connection between the two ends, opened by side A, and functions for whole messages over it.
#ifndef LAN_TCP_H
#define LAN_TCP_H
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "exchange.h"

static int tcp_open(const char *address, const char *port) {
    struct addrinfo wanted = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST}, *found;
    if (getaddrinfo(address, port, &wanted, &found)) fail("%s is not an address", address);
    int one = 1, connection = -1;
    if (side == SIDE_B) {
        int listener = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
        if (bind(listener, found->ai_addr, found->ai_addrlen) || listen(listener, 1) ||
            (connection = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) < 0)
            fail("cannot listen at %s: %s", address, strerror(errno));
        close(listener);
    }
    for (int tries = 0; connection < 0; tries++) {  // the other end may not listen yet
        connection = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (!connect(connection, found->ai_addr, found->ai_addrlen)) break;
        close(connection), connection = -1;
        if (tries == 1000 || errno != ECONNREFUSED) fail("cannot connect to %s: %s", address, strerror(errno));
        nanosleep(&(struct timespec){0, 10000000}, NULL);
    }
    freeaddrinfo(found);
    setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return connection;
}

static inline void tcp_write(int connection, const char *data, size_t bytes) {
    while (bytes) {
        ssize_t n = send(connection, data, bytes, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) fail("send: %s", strerror(errno));
        data += n, bytes -= (size_t)n;
    }
}

// Returns true if all bytes arrived, and false if the other end closed before the first byte.
static inline int tcp_read(int connection, char *data, size_t bytes) {
    for (size_t got = 0; got < bytes;) {
        ssize_t n = recv(connection, data + got, bytes - got, 0);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) fail("recv: %s", strerror(errno));
        if (n == 0 && got == 0) return 0;
        if (n == 0) fail("the other end closed within a message");
        got += (size_t)n;
    }
    return 1;
}
#endif
