// PR_SET_PDEATHSIG fires when the *thread* that forked ends, although its process lives on.
#include <pthread.h>
#include "proof.h"

static int ready[2];

static void *fork_and_end(void *child) {
    if ((*(pid_t *)child = fork()) == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (write(ready[1], "r", 1) != 1) _exit(1);
        for (;;) pause();
    }
    char told;  // the thread must outlive the child's prctl
    CLAIM(*(pid_t *)child > 0 && read(ready[0], &told, 1) == 1);
    return NULL;
}

int main(void) {
    pthread_t thread;
    pid_t child;
    int status;
    alarm(10);
    CLAIM(pipe(ready) == 0);
    CLAIM(pthread_create(&thread, NULL, fork_and_end, &child) == 0 && pthread_join(thread, NULL) == 0);
    CLAIM(waitpid(child, &status, 0) == child);
    CLAIM(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    printf("the child was killed when the thread that forked it ended; the process lives on\n");
}
