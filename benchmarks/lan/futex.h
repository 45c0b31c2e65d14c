// A slot for one small message in memory shared by two processes. Its reader sleeps on a futex at once.
#ifndef LAN_FUTEX_H
#define LAN_FUTEX_H
#include <linux/futex.h>
#include <stdatomic.h>
#include <sys/syscall.h>

#include "exchange.h"

enum { ROOM = 4096 };

struct box {
    _Alignas(128) _Atomic uint32_t messages;  // number of messages put here
    _Atomic uint32_t sleeps;                  // 1 if the reader must be woken
    char bytes[ROOM];
};

static struct box *new_boxes(size_t count) {
    void *at =
        mmap(NULL, count * sizeof(struct box), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) fail("cannot map shared memory");
    memset(at, 0, count * sizeof(struct box));
    return at;
}

static inline void put(struct box *box, const void *data, size_t bytes) {
    memcpy(box->bytes, data, bytes);
    atomic_fetch_add(&box->messages, 1);
    if (atomic_load(&box->sleeps)) syscall(SYS_futex, &box->messages, FUTEX_WAKE, 1, NULL, NULL, 0);
}

// Waits for message number `before`, counted from 0.
static inline const char *get(struct box *box, uint32_t before) {
    atomic_store(&box->sleeps, 1);
    while (atomic_load(&box->messages) == before)
        syscall(SYS_futex, &box->messages, FUTEX_WAIT, before, NULL, NULL, 0);
    atomic_store(&box->sleeps, 0);
    return box->bytes;
}
#endif
