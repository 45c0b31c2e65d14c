// The limit: n plain TCP streams and nothing else. Each piece of a message goes to a stream with room in its
// socket. At most UNSENT bytes in each socket are not sent yet. HOST PORT N UNSENT
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "wan.h"

enum { MAX_STREAMS = 256, PIECE = 64 << 10 };
struct header { uint64_t offset, bytes; };
static struct stream {
    int fd;
    struct header header;  // header of the current piece of this stream
    size_t done;           // bytes done of the header and the piece together
    int busy;
} streams[MAX_STREAMS];
static struct pollfd ready[MAX_STREAMS];
static int n;

static void options(int fd, int unsent) {
    int one = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof unsent);
}

static void peer_open(int is_a, int argc, char **argv) {
    if (argc != 4) fail("usage: bare a|b OUT PLAN HOST PORT N UNSENT");
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(argv[1]))};
    int one = 1, unsent = atoi(argv[3]), listener = -1;
    n = atoi(argv[2]);
    if (n < 1 || n > MAX_STREAMS || !inet_aton(argv[0], &at.sin_addr))
        fail("1 to %d streams, to an address", MAX_STREAMS);
    if (!is_a) {
        listener = socket(AF_INET, SOCK_STREAM, 0);
        setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
        if (bind(listener, (void *)&at, sizeof at) || listen(listener, MAX_STREAMS))
            fail("listen: %s", strerror(errno));
    }
    for (int i = 0; i < n; i++) {
        int fd = -1;
        for (int tries = 0; is_a && fd < 0; tries++) {
            fd = socket(AF_INET, SOCK_STREAM, 0);
            if (!connect(fd, (void *)&at, sizeof at)) break;
            close(fd), fd = -1;
            if (tries == 500) fail("connect: %s", strerror(errno));
            pause_ms(10);
        }
        unsigned char number = (unsigned char)i;
        if (!is_a && (fd = accept(listener, NULL, NULL)) < 0) fail("accept: %s", strerror(errno));
        if (is_a ? write(fd, &number, 1) != 1 : read(fd, &number, 1) != 1) fail("no stream %d", i);
        options(fd, unsent);
        fcntl(fd, F_SETFL, O_NONBLOCK);
        streams[number].fd = fd;
    }
    for (int i = 0; i < n; i++) ready[i].fd = streams[i].fd;
}

static void await(short events) {
    for (int i = 0; i < n; i++) ready[i].events = events;
    if (poll(ready, (nfds_t)n, 30000) <= 0) fail("nothing for 30 s");
}

static void peer_send(const char *data, size_t bytes) {
    for (size_t next = 0, left = bytes; left;) {
        await(POLLOUT);
        for (int i = 0; i < n; i++) {
            struct stream *s = &streams[i];
            if (!(ready[i].revents & (POLLOUT | POLLERR))) continue;
            if (!s->busy) {
                if (next == bytes) continue;
                size_t piece = bytes - next < PIECE ? bytes - next : PIECE;
                s->header = (struct header){next, piece}, s->done = 0, s->busy = 1;
                next += piece;
            }
            size_t in = s->done > sizeof s->header ? s->done - sizeof s->header : 0;
            size_t head = s->done < sizeof s->header ? s->done : sizeof s->header;
            struct iovec parts[2] = {{(char *)&s->header + head, sizeof s->header - head},
                                     {(char *)data + s->header.offset + in, s->header.bytes - in}};
            ssize_t sent = writev(s->fd, parts, 2);
            if (sent < 0 && (errno == EAGAIN || errno == EINTR)) continue;
            if (sent < 0) fail("send: %s", strerror(errno));
            s->done += (size_t)sent;
            if (s->done == sizeof s->header + s->header.bytes)
                s->busy = 0, s->done = 0, left -= s->header.bytes;
        }
    }
}

static void peer_receive(char *data, size_t bytes) {
    for (size_t left = bytes; left;) {
        await(POLLIN);
        for (int i = 0; i < n && left; i++) {
            struct stream *s = &streams[i];
            if (!(ready[i].revents & (POLLIN | POLLERR | POLLHUP))) continue;
            // No byte after the message is read: if both ends send, the next message may have arrived already.
            for (int reads = 0; left && reads < 64; reads++) {
                char *to = s->done < sizeof s->header ? (char *)&s->header + s->done
                                                      : data + s->header.offset + s->done - sizeof s->header;
                size_t want = s->done < sizeof s->header ? sizeof s->header - s->done
                                                         : s->header.bytes + sizeof s->header - s->done;
                ssize_t got = read(s->fd, to, want);
                if (got < 0 && (errno == EAGAIN || errno == EINTR)) break;
                if (got == 0 && !s->done) {  // the other end has sent its last message
                    ready[i].fd = -1;
                    break;
                }
                if (got <= 0) fail("receive: %s", got ? strerror(errno) : "the other end has gone");
                s->done += (size_t)got;
                if (s->done >= sizeof s->header && s->header.offset + s->header.bytes > bytes) fail("nonsense");
                if (s->done == sizeof s->header + s->header.bytes) s->done = 0, left -= s->header.bytes;
            }
        }
    }
}

static void peer_close(void) {
    for (int i = 0; i < n; i++) close(streams[i].fd);
}
