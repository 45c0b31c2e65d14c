// MPI_Send and MPI_Recv between one rank at each end. The send array and the receive array are used again for
// each message.
#include <mpi.h>

#include "exchange.h"

static char *receive_array;

static void peer_open(int argc, char **argv, size_t largest) {
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size != 2 || rank != (int)side) fail("two ranks are needed, side a first");
    receive_array = malloc(largest);
    if (!receive_array) fail("out of memory");
    memset(receive_array, 1, largest);
}

static inline void peer_send(void *array, size_t bytes) {
    MPI_Send(array, (int)bytes, MPI_BYTE, !side, 0, MPI_COMM_WORLD);
}

static inline const void *peer_receive(size_t bytes) {
    MPI_Recv(receive_array, (int)bytes, MPI_BYTE, !side, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return receive_array;
}

static inline void peer_release(size_t bytes) { (void)bytes; }

static void peer_close(void) { MPI_Finalize(); }
