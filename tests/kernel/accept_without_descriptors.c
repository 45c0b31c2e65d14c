// A process without free descriptors leaves connections in the queue: connect() succeeds, and no connection is
// ever accepted.
#include <sys/resource.h>
#include "proof.h"

int main(void) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    socklen_t length =
        offsetof(struct sockaddr_un, sun_path) + 1 + snprintf(address.sun_path + 1, 100, "proof-%d", getpid());
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0), caller = socket(AF_UNIX, SOCK_STREAM, 0);
    CLAIM(bind(listener, (struct sockaddr *)&address, length) == 0 && listen(listener, 8) == 0);
    struct rlimit limit;
    CLAIM(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    limit.rlim_cur = (rlim_t)caller + 1;
    CLAIM(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    CLAIM(connect(caller, (struct sockaddr *)&address, length) == 0);
    struct pollfd fd = {listener, POLLIN, 0};
    CLAIM(poll(&fd, 1, 1000) == 1);
    CLAIM(accept(listener, NULL, NULL) == -1 && errno == EMFILE);
    CLAIM(poll(&fd, 1, 0) == 1);  // still there
    printf("connect() succeeded, accept() said EMFILE, and the connection waits\n");
}
