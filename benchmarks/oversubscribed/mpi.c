// MPI_Send and MPI_Recv round a ring of ranks, from a send array into a receive array. Compiled with Open MPI
// and with MPICH. programs.py has the tuning of each.
#include <mpi.h>

#include "ring.h"

static int next, before;

static int peer_position(int argc, char **argv) {
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size != ring_count) fail("%d ranks instead of %d", size, ring_count);
    next = (rank + 1) % size, before = (rank + size - 1) % size;
    return rank;
}

static void peer_open(size_t largest) { (void)largest; }

static inline void peer_send(void *array, size_t bytes) {
    MPI_Send(array, (int)bytes, MPI_BYTE, next, 0, MPI_COMM_WORLD);
}

static inline const void *peer_receive(size_t bytes) {
    MPI_Recv(receive_array, (int)bytes, MPI_BYTE, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return receive_array;
}

static inline void peer_release(void) {}

static void peer_close(void) { MPI_Finalize(); }
