// MPI_Send and MPI_Recv between two ranks, from a send array into a receive array. Compiled with Open MPI and
// with MPICH. peers.py has the tuning of each.
#include <mpi.h>

#include "harness.h"

static int other;

static enum side peer_side(int argc, char **argv) {
    (void)argc, (void)argv;
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    if (!rank) rank = getenv("PMI_RANK");
    if (!rank) fail("no rank in the environment; start this with mpirun");
    return atoi(rank) == 0 ? SIDE_A : SIDE_B;
}

static void peer_open(enum side side, size_t largest) {
    (void)largest;
    MPI_Init(NULL, NULL);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size != 2 || rank != (int)side) fail("two ranks are needed");
    other = 1 - rank;
}

static void peer_start(const struct exchange *x) { (void)x; }

static inline void *peer_array(size_t bytes) {
    (void)bytes;
    return send_array;
}

static inline void peer_send(void *array, size_t bytes) {
    MPI_Send(array, (int)bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD);
}

static inline const void *peer_receive(size_t bytes) {
    MPI_Recv(receive_array, (int)bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return receive_array;
}

static inline void peer_release(void) {}

static inline void peer_echo(const void *data, size_t bytes) { peer_send((void *)data, bytes); }

static void peer_close(void) { MPI_Finalize(); }
