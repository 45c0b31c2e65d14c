// Processor time of all processes of this side so far: all processes in the network namespace of the caller,
// with their threads. This includes each process that carries messages, whatever its name or parent.
#ifndef LAN_EFFORT_H
#define LAN_EFFORT_H
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

struct effort {
    double processor_s;  // of all threads, user and system
    // number of times that a thread gave up the processor, to wait or because of another thread
    uint64_t switches;
};

// Adds a thread's values from the kernel: nanoseconds on a processor, and context switches.
static void add_thread(struct effort *sum, const char *process, const char *thread) {
    char path[600], line[256];
    snprintf(path, sizeof path, "/proc/%s/task/%s/schedstat", process, thread);
    FILE *file = fopen(path, "r");
    if (!file) return;  // the thread has ended meanwhile
    unsigned long long ran = 0, count;
    if (fscanf(file, "%llu", &ran) == 1) sum->processor_s += 1e-9 * (double)ran;
    fclose(file);
    snprintf(path, sizeof path, "/proc/%s/task/%s/status", process, thread);
    file = fopen(path, "r");
    if (!file) return;
    while (fgets(line, sizeof line, file))
        if (sscanf(line, "voluntary_ctxt_switches: %llu", &count) == 1 ||
            sscanf(line, "nonvoluntary_ctxt_switches: %llu", &count) == 1)
            sum->switches += count;
    fclose(file);
}

static struct effort effort_here(void) {
    struct effort sum = {0, 0};
    struct stat here, there;
    DIR *all = opendir("/proc");
    if (!all || stat("/proc/self/ns/net", &here)) return sum;
    for (struct dirent *p; (p = readdir(all));) {
        char path[300];
        if (p->d_name[0] < '0' || p->d_name[0] > '9') continue;
        snprintf(path, sizeof path, "/proc/%s/ns/net", p->d_name);
        if (stat(path, &there) || there.st_ino != here.st_ino || there.st_dev != here.st_dev) continue;
        snprintf(path, sizeof path, "/proc/%s/task", p->d_name);
        DIR *threads = opendir(path);
        if (!threads) continue;
        for (struct dirent *t; (t = readdir(threads));)
            if (t->d_name[0] != '.') add_thread(&sum, p->d_name, t->d_name);
        closedir(threads);
    }
    closedir(all);
    return sum;
}
#endif
