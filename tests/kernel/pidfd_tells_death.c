// A pidfd becomes readable at once when its process dies, even if a grandchild holds the dead process's socket
// open.
#include "proof.h"

int main(void) {
    int pair[2], status;
    char grandchild_lives;
    CLAIM(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    CLAIM(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
    pid_t child = fork_guarded();
    if (child == 0) {
        close(pair[0]);
        if (fork() == 0) {  // inherits pair[1], and no death signal
            if (write(pair[1], "g", 1) != 1) _exit(1);
            _exit(read(pair[1], &grandchild_lives, 1) == 0 ? 0 : 1);  // ends when the first process hangs up
        }
        for (;;) pause();
    }
    close(pair[1]);
    int pidfd = syscall(SYS_pidfd_open, child, 0);
    CLAIM(pidfd >= 0 && read(pair[0], &grandchild_lives, 1) == 1);
    struct pollfd process = {pidfd, POLLIN, 0}, sock = {pair[0], POLLIN, 0};
    CLAIM(poll(&process, 1, 0) == 0);
    double begun = milliseconds();
    CLAIM(kill(child, SIGKILL) == 0 && poll(&process, 1, 10000) == 1);
    double took = milliseconds() - begun;
    CLAIM(poll(&sock, 1, 0) == 0);  // the socket knows of nothing
    CLAIM(waitpid(child, &status, 0) == child);
    close(pair[0]);
    CLAIM(wait(&status) > 0 && status == 0);
    printf("pidfd readable %.2f ms after the kill, while the socket showed nothing\n", took);
}
