// Faults in an instance in C. The environment names the fault, its moment and the instance. peer.py has the
// same for Python.
#ifndef PEER_H
#define PEER_H
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char *text(const char *name) {
    const char *value = getenv(name);
    return value ? value : "";
}

static bool is(const char *name, const char *value) { return strcmp(text(name), value) == 0; }

static void say(const char *words) {
    char line[200];
    const int n = snprintf(line, sizeof line, "%s\n", words);
    if (write(2, line, (size_t)n) != n) _exit(99);
}

// Reports the victim's process number to the test, in a file that appears at once.
static void mark(void) {
    char fresh[4096];
    snprintf(fresh, sizeof fresh, "%s.%d", text("FAULT_MARK"), (int)getpid());
    FILE *file = fopen(fresh, "w");
    if (!file) return;
    fprintf(file, "%d", (int)getpid());
    fclose(file);
    rename(fresh, text("FAULT_MARK"));
}

static bool may_go(void) { return access(text("FAULT_GO"), F_OK) == 0; }

static void wait_for_go(void) {
    const struct timespec moment = {0, 2000000};
    while (!may_go()) nanosleep(&moment, NULL);
}

// True if the dialogue is long enough: after this number of steps, or when the test says so.
static bool is_over(long step) {
    return is("FAULT_STEPS", "go") ? may_go() : step >= atol(text("FAULT_STEPS"));
}

static void take_all_memory(void) {
    if (is("FAULT_DETAIL", "group")) {
        FILE *group = fopen(text("FAULT_GROUP"), "w");
        if (group) {
            fprintf(group, "%d", (int)getpid());
            fclose(group);
        }
    } else {
        const struct rlimit limit = {256u << 20, 256u << 20};
        setrlimit(RLIMIT_AS, &limit);
    }
    for (;;) {
        char *more = malloc(1 << 20);
        if (!more) {
            say("there is no memory");
            exit(7);
        }
        memset(more, 1, 1 << 20);
    }
}

static void fill_the_disk(void) {
    static char block[65536];
    if (is("FAULT_DETAIL", "size")) {
        const struct rlimit limit = {1 << 20, 1 << 20};
        setrlimit(RLIMIT_FSIZE, &limit);
    }
    const int file = open("result.bin", O_WRONLY | O_CREAT, 0666);
    while (file >= 0 && write(file, block, sizeof block) > 0) {}
    say(strerror(errno));
    exit(5);
}

static void misfortune(void) {
    mark();
    if (is("FAULT", "kill") && is("FAULT_DETAIL", "itself")) raise(SIGKILL);
    if (is("FAULT", "kill") && is("FAULT_WHO", "child")) for (;;) pause();
    if (is("FAULT", "kill") && is("FAULT_HOLD", "go")) wait_for_go();
    if (is("FAULT", "stop")) raise(SIGSTOP);
    if (is("FAULT", "exit")) {
        if (is("FAULT_DETAIL", "0")) _exit(0);
        exit(3);
    }
    if (is("FAULT", "exception")) {
        say("the mesh is tangled");
        abort();
    }
    if (is("FAULT", "hang")) {
        if (is("FAULT_DETAIL", "stubborn")) signal(SIGTERM, SIG_IGN);
        for (;;)
            if (!is("FAULT_DETAIL", "spinning")) pause();
    }
    if (is("FAULT", "memory")) take_all_memory();
    if (is("FAULT", "files")) while (open("/dev/null", O_RDONLY) >= 0) {}
    if (is("FAULT", "disk")) fill_the_disk();
}

// The code has come to a moment; `step` is -1 if the moment has no step.
static void at(const char *moment, long step) {
    if (!is("FAULT_MOMENT", moment) || (step >= 0 && step != atol(text("FAULT_STEP")))) return;
    say("last words");
    if (is("FAULT_WHO", "manager")) {
        mark();
        if (is("FAULT", "memory")) take_all_memory();
        if (!is("FAULT_DETAIL", "running")) wait_for_go();
    } else if (is("FAULT_WHO", "child")) {
        if (fork() == 0) {
            if (is("FAULT_SESSION", "own")) setsid();
            misfortune();
            _exit(0);
        }
        if (is("FAULT_HOLD", "go")) wait_for_go();
        if (is("FAULT_HOLD", "child")) wait(NULL);
    } else {
        misfortune();
    }
}

#endif
