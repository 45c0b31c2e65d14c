// /proc lists a process's children to other processes, zombies too. A pidfd of a grandchild shows its end at
// once, and /proc its exit status, even if its parent does not wait for it.
#include "proof.h"

int main(void) {
    int told[2], status, listed = 0, number;
    pid_t grandchild;
    char path[64], text[1024];
    CLAIM(pipe(told) == 0);
    pid_t child = fork_guarded();
    if (child == 0) {
        pid_t parent = getpid();
        if ((grandchild = fork()) == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (getppid() != parent || setsid() < 0) _exit(1);
            for (;;) pause();
        }
        if (write(told[1], &grandchild, sizeof grandchild) != sizeof grandchild) _exit(1);
        for (;;) pause();  // never waits for it
    }
    CLAIM(read(told[0], &grandchild, sizeof grandchild) == sizeof grandchild);
    int pidfd = syscall(SYS_pidfd_open, grandchild, 0);
    struct pollfd process = {pidfd, POLLIN, 0};
    CLAIM(pidfd >= 0 && poll(&process, 1, 0) == 0);
    CLAIM(kill(grandchild, SIGKILL) == 0 && poll(&process, 1, 10000) == 1);

    snprintf(path, sizeof path, "/proc/%d/task/%d/children", child, child);
    FILE *file = fopen(path, "r");
    CLAIM(file != NULL);
    while (fscanf(file, "%d", &number) == 1) listed += number == grandchild;
    CLAIM(listed == 1);

    snprintf(path, sizeof path, "/proc/%d/stat", grandchild);
    file = fopen(path, "r");
    CLAIM(file != NULL && fgets(text, sizeof text, file) != NULL);
    CLAIM(strncmp(strrchr(text, ')'), ") Z ", 4) == 0);
    CLAIM(atoi(strrchr(text, ' ')) == SIGKILL);  // the last field, as wait(2) has it
    CLAIM(kill(child, SIGKILL) == 0 && waitpid(child, &status, 0) == child);
    printf("a killed grandchild, which its parent had not waited for, was seen with its signal\n");
}
