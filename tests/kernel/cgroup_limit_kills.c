// Beyond a memory cgroup's limit, MADV_POPULATE_WRITE gets no error: the kernel kills. Hence memory is
// reserved.
#include "proof.h"
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

static int put(const char *folder, const char *file, const char *text) {
    char path[600];
    snprintf(path, sizeof path, "%s/%s", folder, file);
    int fd = open(path, O_WRONLY), done = fd >= 0 && write(fd, text, strlen(text)) > 0;
    if (fd >= 0) close(fd);
    return done;
}

int main(void) {
    char line[512], folder[560] = "";
    int status, v2 = 0;
    FILE *groups = fopen("/proc/self/cgroup", "r");
    while (groups && fgets(line, sizeof line, groups)) {
        char *path = strrchr(line, ':') + 1, *v1 = strstr(line, ":memory:");
        path[strcspn(path, "\n")] = 0;
        if (strcmp(path, "/") == 0) path = "";
        if (v1 ||
            (!*folder && !strncmp(line, "0::", 3) && access("/sys/fs/cgroup/cgroup.controllers", F_OK) == 0))
            snprintf(folder, sizeof folder, "/sys/fs/cgroup%s%s/proof-%d", v1 ? "/memory" : "", path,
                     (int)getpid()),
                v2 = !v1;
    }
    if (!*folder || mkdir(folder, 0755) != 0) SKIP("needs a memory cgroup that this user may divide");
    int limited = put(folder, v2 ? "memory.max" : "memory.limit_in_bytes", "16777216");
    put(folder, v2 ? "memory.swap.max" : "memory.memsw.limit_in_bytes", v2 ? "0" : "16777216");
    pid_t child = limited ? fork_guarded() : 0;
    if (limited && child == 0) {
        if (!put(folder, "cgroup.procs", "0")) _exit(3);
        int fd = memfd_create("slab", MFD_CLOEXEC);
        if (ftruncate(fd, 64 << 20) != 0) _exit(4);
        char *start = mmap(NULL, 64 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        _exit(madvise(start, 64 << 20, MADV_POPULATE_WRITE) == -1 ? 5 : 6);
    }
    if (limited) CLAIM(waitpid(child, &status, 0) == child);
    while (rmdir(folder) != 0 && errno == EBUSY) sched_yield();
    if (!limited || (WIFEXITED(status) && WEXITSTATUS(status) == 3))
        SKIP("the memory cgroup cannot be limited here");
    CLAIM(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    printf("64 MiB asked for under a limit of 16 MiB (cgroup v%d): killed, no error returned\n", v2 ? 2 : 1);
}
