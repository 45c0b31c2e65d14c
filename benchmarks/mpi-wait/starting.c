// Writes the time at which all ranks take part: in a run, or with `starting FILE alone` in MPI. FILE gets the
// time, in ns of CLOCK_MONOTONIC.
#include <ligament_mpi.h>

#include <stdio.h>

#include "../lib/timing.h"

int main(int argc, char **argv) {
    lig_mpi_instance *all = NULL;
    lig_error error = {""};
    int rank;
    bool again;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc < 3 && lig_mpi_instance_create(NULL, MPI_COMM_WORLD, &all, &error) != LIG_OK) goto failed;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        FILE *file = fopen(argv[1], "w");
        fprintf(file, "%llu\n", (unsigned long long)nanoseconds());
        fclose(file);
    }
    do {
        if (!all) break;
        if (lig_mpi_reuse_instance(all, &again, &error) != LIG_OK) goto failed;
    } while (again);
    lig_mpi_instance_free(all);
    MPI_Finalize();
    return 0;
failed:
    fprintf(stderr, "rank %d: %s\n", rank, error.message);
    return 1;
}
