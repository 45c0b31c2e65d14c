// MADV_POPULATE_WRITE returns an error where an access would cause a SIGBUS: beyond the end, and on a full file
// system.
#include "proof.h"
#include <sys/mount.h>
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

static int signal_when_touched(char *place) {
    pid_t child = fork_guarded();
    int status;
    if (child == 0) *(volatile char *)place = 1, _exit(0);
    CLAIM(waitpid(child, &status, 0) == child);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static char *map(int fd, size_t size) {
    char *start = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CLAIM(start != MAP_FAILED);
    return start;
}

static int put(const char *file, const char *text) {
    int fd = open(file, O_WRONLY), written = fd >= 0 && write(fd, text, strlen(text)) > 0;
    close(fd);
    return written;
}

// A user namespace in which this user is root: what an ordinary user needs before it may mount.
static int own_namespace(void) {
    char user[32], group[32];
    snprintf(user, sizeof user, "0 %d 1", (int)getuid());
    snprintf(group, sizeof group, "0 %d 1", (int)getgid());
    return unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 && put("/proc/self/uid_map", user) &&
        put("/proc/self/setgroups", "deny") && put("/proc/self/gid_map", group);
}

int main(void) {
    char folder[] = "/tmp/kernel-proof-XXXXXX", file[64];
    int fd = memfd_create("short", MFD_CLOEXEC);
    CLAIM(ftruncate(fd, 4096) == 0);
    char *start = map(fd, 8192);
    if (madvise(start, 4096, MADV_POPULATE_WRITE) == -1 && errno == EINVAL) SKIP("needs kernel 5.14 or newer");
    CLAIM(start[0] == 0 && madvise(start, 8192, MADV_POPULATE_WRITE) == -1 && errno == EFAULT);
    CLAIM(signal_when_touched(start + 4096) == SIGBUS);

    CLAIM(mkdtemp(folder) != NULL);
    if (unshare(CLONE_NEWNS) != 0 && !own_namespace()) {
        rmdir(folder);
        printf(
            "past the end: EFAULT, where touching is SIGBUS (a full file system needs a namespace: not "
            "tried)\n");
        return 0;
    }
    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL);  // the mount below is seen by this process alone
    int mounted = mount("none", folder, "tmpfs", 0, "size=1m");
    snprintf(file, sizeof file, "%s/slab", folder);
    if (mounted == 0) {
        CLAIM((fd = open(file, O_RDWR | O_CREAT, 0600)) >= 0 && ftruncate(fd, 4 << 20) == 0);
        start = map(fd, 4 << 20);
        CLAIM(madvise(start, 4 << 20, MADV_POPULATE_WRITE) == -1 && errno == EFAULT);
        CLAIM(signal_when_touched(start + (4 << 20) - 1) == SIGBUS);
        umount2(folder, MNT_DETACH);
    }
    rmdir(folder);
    printf("EFAULT where touching is SIGBUS: past the end%s\n", mounted == 0 ? ", and in a full tmpfs" : "");
}
