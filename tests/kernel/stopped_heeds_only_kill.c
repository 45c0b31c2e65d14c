// A stopped process ends at once by SIGKILL, but by SIGTERM only when it is continued. So SIGCONT follows
// SIGTERM.
#include "proof.h"

static pid_t stopped_child(void) {
    int status;
    pid_t child = fork_guarded();
    if (child == 0) for (;;) raise(SIGSTOP);
    CLAIM(waitpid(child, &status, WUNTRACED) == child && WIFSTOPPED(status));
    return child;
}

int main(void) {
    int status;
    pid_t first = stopped_child(), second = stopped_child();
    CLAIM(kill(first, SIGKILL) == 0 && waitpid(first, &status, 0) == first && WTERMSIG(status) == SIGKILL);
    CLAIM(kill(second, SIGTERM) == 0);
    struct timespec moment = {0, 20000000};
    nanosleep(&moment, NULL);
    CLAIM(waitpid(second, &status, WNOHANG) == 0);
    CLAIM(kill(second, SIGCONT) == 0 && waitpid(second, &status, 0) == second && WTERMSIG(status) == SIGTERM);
    printf("SIGKILL ended it as it stood; SIGTERM waited for SIGCONT\n");
}
