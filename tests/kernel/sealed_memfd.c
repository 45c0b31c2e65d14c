// A memfd that is sealed against changes of size and future writers: the existing mapping can still write, and
// all others can only read.
#include "proof.h"

int main(void) {
    int fd = memfd_create("slab", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    CLAIM(fd >= 0 && ftruncate(fd, 1 << 16) == 0);
    char *mine = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CLAIM(mine != MAP_FAILED);
    CLAIM(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0);
    CLAIM(fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE) == 0);

    CLAIM(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED && errno == EPERM);
    char *theirs = mmap(NULL, 1 << 16, PROT_READ, MAP_SHARED, fd, 0);
    CLAIM(theirs != MAP_FAILED);
    CLAIM(mprotect(theirs, 4096, PROT_READ | PROT_WRITE) == -1 && errno == EACCES);
    mine[40000] = 42;
    CLAIM(theirs[40000] == 42);
    CLAIM(write(fd, "x", 1) == -1 && errno == EPERM);
    CLAIM(ftruncate(fd, 4096) == -1 && errno == EPERM);
    CLAIM(ftruncate(fd, 1 << 20) == -1 && errno == EPERM);
    CLAIM(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096) == -1 && errno == EPERM);
    printf(
        "old writable mapping writes on; new writable mapping, write, resize, hole: EPERM; reading allowed\n");
}
