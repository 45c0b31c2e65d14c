// A futex in shared memory wakes a waiter in another process, times out, and refuses to wait on a changed word.
#include <linux/futex.h>
#include "proof.h"

static long futex(_Atomic unsigned *word, int op, unsigned value, const struct timespec *limit) {
    return syscall(SYS_futex, word, op, value, limit, NULL, 0);
}

int main(void) {
    int fd = memfd_create("doorbell", MFD_CLOEXEC);
    CLAIM(fd >= 0 && ftruncate(fd, 4096) == 0);
    _Atomic unsigned *word = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CLAIM(word != MAP_FAILED);
    CLAIM(futex(word, FUTEX_WAIT, 1, NULL) == -1 && errno == EAGAIN);
    struct timespec short_while = {0, 20 * 1000 * 1000}, long_while = {10, 0};
    double begun = milliseconds();
    CLAIM(futex(word, FUTEX_WAIT, 0, &short_while) == -1 && errno == ETIMEDOUT);
    double waited = milliseconds() - begun;
    CLAIM(waited >= 19.9);

    pid_t child = fork_guarded();
    if (child == 0) {  // its own mapping, at another address: the kernel must find the word by its page
        _Atomic unsigned *here = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        _exit(here != word && futex(here, FUTEX_WAIT, 0, &long_while) == 0 ? 0 : 1);
    }
    while (futex(word, FUTEX_WAKE, 1, NULL) == 0) sched_yield();  // 0 woken: the child is not parked yet
    int status;
    CLAIM(waitpid(child, &status, 0) == child && status == 0);
    printf("changed word: EAGAIN; time-out after %.1f ms of 20; wake reaches another process and mapping\n",
           waited);
}
