// An abstract Unix socket is gone with its process: no file to sweep up, and the name is free again.
#include "proof.h"

int main(void) {
    struct sockaddr_un address = {AF_UNIX, ""};
    int told[2], status;
    char byte;
    socklen_t size = offsetof(struct sockaddr_un, sun_path) +
        1 + snprintf(address.sun_path + 1, 60, "kernel-proof-%d", (int)getpid());
    CLAIM(pipe(told) == 0);
    pid_t child = fork_guarded();
    if (child == 0) {
        int listener = socket(AF_UNIX, SOCK_STREAM, 0);
        CLAIM(bind(listener, (void *)&address, size) == 0 && listen(listener, 1) == 0);
        CLAIM(write(told[1], "l", 1) == 1);
        for (;;) pause();
    }
    CLAIM(read(told[0], &byte, 1) == 1);
    int line = socket(AF_UNIX, SOCK_STREAM, 0), again = socket(AF_UNIX, SOCK_STREAM, 0);
    CLAIM(connect(line, (void *)&address, size) == 0);
    CLAIM(bind(again, (void *)&address, size) == -1 && errno == EADDRINUSE);
    CLAIM(kill(child, SIGKILL) == 0 && waitpid(child, &status, 0) == child);
    CLAIM(connect(again, (void *)&address, size) == -1 && errno == ECONNREFUSED);
    CLAIM(read(line, &byte, 1) <= 0);  // the open line ends too
    CLAIM(bind(again, (void *)&address, size) == 0);
    printf("after SIGKILL: connecting is refused, the open line ended, the name is free\n");
}
