// A process whose parent ends becomes the child of the nearest subreaper above, even if it has left the
// session.
#include "proof.h"

int main(void) {
    int told[2], status;
    pid_t orphan;
    CLAIM(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0 && pipe(told) == 0);
    pid_t child = fork_guarded();
    if (child == 0) {
        prctl(PR_SET_CHILD_SUBREAPER, 0);  // the child is none, and the mark is not inherited
        if (fork() == 0) {
            prctl(PR_SET_PDEATHSIG, 0);
            setsid();
            orphan = getpid();
            if (write(told[1], &orphan, sizeof orphan) != sizeof orphan) _exit(1);
            for (;;) pause();
        }
        for (;;) pause();
    }
    CLAIM(read(told[0], &orphan, sizeof orphan) == sizeof orphan);
    CLAIM(waitpid(orphan, &status, WNOHANG) == -1 && errno == ECHILD);  // not ours yet
    CLAIM(kill(child, SIGKILL) == 0 && waitpid(child, &status, 0) == child);
    CLAIM(kill(orphan, SIGKILL) == 0 && waitpid(orphan, &status, 0) == orphan && WTERMSIG(status) == SIGKILL);
    CLAIM(waitpid(-1, &status, 0) == -1 && errno == ECHILD);
    printf("a grandchild in a session of its own was adopted, killed and waited for\n");
}
