// The same exchange by hand over shared memory, without a library: bare CUT EDGE FIELDS GHOSTS ROUNDS. Faces go
// in pieces of at most 32 KiB. Each side packs a piece before it unpacks the piece before, and spins while it
// waits. Prints the times of an exchange (measure).
#define _GNU_SOURCE
#include "halo.h"

#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SLOTS = 4 };

// The pieces that one side writes and the other one reads.
struct ring {
    _Alignas(128) _Atomic size_t written;
    _Alignas(128) _Atomic size_t read;
    _Alignas(4096) char slots[SLOTS][PIECE_BYTES];
};

// Some rows of a face in a field.
struct piece {
    size_t field, first, end;
    int side;
};

static struct ring *rings;
static struct region own[2], ghost[2];
static struct piece *pieces;
static size_t piece_count;

// Both sides cut the faces in the same way: first the sender's upper face, then its lower one.
static void cut(const struct halo *h) {
    const size_t rows = own[0].planes * own[0].rows, most = PIECE_BYTES / own[0].row_bytes;
    pieces = calloc(2 * h->fields * (rows / most + 1), sizeof *pieces);
    for (int side = 0; side < 2; ++side)
        for (size_t f = 0; f < h->fields; ++f)
            for (size_t first = 0; first < rows; first += most) {
                const size_t end = first + most < rows ? first + most : rows;
                pieces[piece_count++] = (struct piece){f, first, end, side};
            }
}

static void exchange(struct halo *h, size_t round) {
    struct ring *out = &rings[h->side], *in = &rings[1 - h->side];
    const size_t base = round * piece_count;
    for (size_t number = 0; number <= piece_count; ++number) {
        if (number < piece_count) {
            const struct piece *p = &pieces[number];
            const size_t at = base + number;
            while (at - atomic_load_explicit(&out->read, memory_order_acquire) >= SLOTS) spin_pause();
            pack(&own[p->side], (char *)h->data[p->field], p->first, p->end, out->slots[at % SLOTS]);
            atomic_store_explicit(&out->written, at + 1, memory_order_release);
        }
        if (number > 0) {
            const struct piece *p = &pieces[number - 1];
            const size_t at = base + number - 1;
            while (atomic_load_explicit(&in->written, memory_order_acquire) <= at) spin_pause();
            unpack(&ghost[1 - p->side], (char *)h->data[p->field], p->first, p->end, in->slots[at % SLOTS]);
            atomic_store_explicit(&in->read, at + 1, memory_order_release);
        }
    }
}

int main(int argc, char **argv) {
    if (argc != 6) return 2;
    struct halo h = halo_of(argv + 1);
    rings = mmap(NULL, 2 * sizeof *rings, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (rings == MAP_FAILED) fail("there is no shared memory");
    const pid_t child = fork();
    if (child < 0) fail("a second process cannot be started");
    h.side = child == 0;
    pin(h.side);
    make_fields(&h);
    for (int side = 0; side < 2; ++side) {
        own[side] = face(&h, side, true);
        ghost[side] = face(&h, side, false);
    }
    cut(&h);
    measure(&h, exchange, stdout);
    if (child == 0) _exit(0);
    int status;
    if (waitpid(child, &status, 0) != child || status != 0) fail("the other process failed");
    return 0;
}
