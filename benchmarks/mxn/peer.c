// The same exchange with MPI: peer (alltoallw|isend) FROM SENDERS TO RECEIVERS EDGE STEPS. The first ranks send
// and the others receive. Each has its part in private memory. Prints the time of an exchange (ns).
#include "layout.h"
#include <mpi.h>
#include <stdbool.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    if (argc != 8) MPI_Abort(MPI_COMM_WORLD, 2);
    const bool together = strcmp(argv[1], "alltoallw") == 0;
    const int senders = atoi(argv[3]), receivers = atoi(argv[5]), steps = atoi(argv[7]);
    const uint64_t edge = strtoull(argv[6], NULL, 10);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const bool sends = rank < senders;
    const int ranks = senders + receivers;
    const struct part own = sends ? part_of(argv[2], edge, rank, senders)
                                  : part_of(argv[4], edge, rank - senders, receivers);
    double *data = memory(count_of(&own)), nothing;
    if (sends) fill(data, &own, edge);
    int *counts = calloc(ranks, sizeof *counts), *none = calloc(ranks, sizeof *none);
    int *zeros = calloc(ranks, sizeof *zeros);
    MPI_Datatype *types = calloc(ranks, sizeof *types), *plain = calloc(ranks, sizeof *plain);
    MPI_Request *requests = calloc(ranks, sizeof *requests);
    for (int i = 0; i < ranks; ++i) types[i] = plain[i] = MPI_DOUBLE;
    const int begin = sends ? senders : 0, end = sends ? ranks : senders;
    for (int i = begin; i < end; ++i) {
        const struct part other = sends ? part_of(argv[4], edge, i - senders, receivers)
                                        : part_of(argv[2], edge, i, senders);
        const struct part both = common(&own, &other);
        if (count_of(&both) == 0) continue;
        int whole[3], piece[3], at[3];
        for (int axis = 0; axis < 3; ++axis) {
            whole[axis] = (int)own.shape[axis];
            piece[axis] = (int)both.shape[axis];
            at[axis] = (int)(both.start[axis] - own.start[axis]);
        }
        MPI_Type_create_subarray(3, whole, piece, at, MPI_ORDER_C, MPI_DOUBLE, &types[i]);
        MPI_Type_commit(&types[i]);
        counts[i] = 1;
    }
    int64_t began = 0;
    for (int step = 0; step < WARM_UP + steps; ++step) {
        if (step == WARM_UP) {
            MPI_Barrier(MPI_COMM_WORLD);
            began = now_ns();
        }
        if (together) {
            if (sends) MPI_Alltoallw(data, counts, zeros, types, &nothing, none, zeros, plain, MPI_COMM_WORLD);
            else MPI_Alltoallw(&nothing, none, zeros, plain, data, counts, zeros, types, MPI_COMM_WORLD);
            continue;
        }
        int asked = 0;
        for (int i = begin; i < end; ++i) {
            if (counts[i] == 0) continue;
            if (sends) MPI_Isend(data, 1, types[i], i, step, MPI_COMM_WORLD, &requests[asked++]);
            else MPI_Irecv(data, 1, types[i], i, step, MPI_COMM_WORLD, &requests[asked++]);
        }
        MPI_Waitall(asked, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    const int64_t ended = now_ns();
    if (!sends) check(data, &own, edge);
    if (rank == 0) printf("%.0f\n", (double)(ended - began) / steps);
    MPI_Finalize();
    return 0;
}
