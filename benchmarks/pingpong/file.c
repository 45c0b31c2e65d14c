// A file in memory (memfd, which uses the same file system as /dev/shm). The sender calls pwrite, and the
// receiver calls pread into its array. A counter in a shared page tells that the file is complete.
#include <errno.h>
#include "harness.h"

static struct line *lines;  // one per side
static int files[2];        // one per side, written by this side
static enum side here, there;
static uint64_t sent, received;

static enum side peer_side(int argc, char **argv) {
    (void)argc, (void)argv;
    lines = map_shared(-1, 4096);
    for (int side = 0; side < 2; side++)
        if ((files[side] = memfd_create("pingpong", MFD_CLOEXEC)) < 0) fail("no file in memory");
    return fork_pair();
}

static void peer_open(enum side side, size_t largest) {
    (void)largest;
    here = side, there = (enum side)(1 - side);
}

static void peer_start(const struct exchange *x) { (void)x; }

static inline void *peer_array(size_t bytes) {
    (void)bytes;
    return send_array;
}

static inline void peer_send(void *array, size_t bytes) {
    for (size_t done = 0; done < bytes;) {
        ssize_t n = pwrite(files[here], (char *)array + done, bytes - done, (off_t)done);
        if (n <= 0) fail("pwrite: %s", strerror(errno));
        done += (size_t)n;
    }
    atomic_store_explicit(&lines[here].count, ++sent, memory_order_release);
}

static inline const void *peer_receive(size_t bytes) {
    received++;
    while (atomic_load_explicit(&lines[there].count, memory_order_acquire) != received) spin_pause();
    for (size_t done = 0; done < bytes;) {
        ssize_t n = pread(files[there], receive_array + done, bytes - done, (off_t)done);
        if (n <= 0) fail("pread: %s", n ? strerror(errno) : "the file is too short");
        done += (size_t)n;
    }
    return receive_array;
}

static inline void peer_release(void) {}

static inline void peer_echo(const void *data, size_t bytes) { peer_send((void *)data, bytes); }

static void peer_close(void) {}
