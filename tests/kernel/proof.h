// The parts that the kernel proofs share: a claim that ends the program when it fails, a skip, a clock, a
// watchdog.
#pragma once
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stddef.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// Ends with status 1, saying which claim failed and what errno was.
#define CLAIM(held)                                                                     \
    do {                                                                                \
        if (!(held)) {                                                                  \
            printf("does not hold: %s (errno: %s)\n", #held, strerror(errno));          \
            exit(1);                                                                    \
        }                                                                               \
    } while (0)

// Ends with status 77, which the runner counts as skipped.
#define SKIP(...) (printf(__VA_ARGS__), putchar('\n'), exit(77))

static inline double milliseconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

// Forks a child that dies with this process, whatever happens.
static inline pid_t fork_guarded(void) {
    pid_t parent = getpid(), child = fork();
    CLAIM(child >= 0);
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) _exit(1);
    }
    return child;
}
