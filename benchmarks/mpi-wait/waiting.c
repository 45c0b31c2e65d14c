// Ranks that wait for a message which comes once a second: what the busiest takes of a core meanwhile, and for
// how long it was, s.
//   waiting SHARES               in Ligament's collective call, until the message is 0
//   waiting SHARES bcast COUNT   in MPI_Bcast, so often, while rank 0 sleeps
#include <ligament_mpi.h>

#include <stdio.h>

#define MAX_WAITS 1000

// Returns the processor seconds of all threads of this process.
static double used(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

int main(int argc, char **argv) {
    lig_port ports[] = {{LIG_S, "in"}};
    lig_instance_options options = {.size = sizeof options, .ports = ports, .port_count = 1};
    lig_mpi_instance *all = NULL;
    lig_error error = {""};
    static double shares[MAX_WAITS], busiest[MAX_WAITS], lengths[MAX_WAITS];
    double value = 0, wall, processor;
    int rank, count = 0, wanted = argc > 3 ? atoi(argv[3]) : 0;
    bool again;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (wanted == 0) {
        lig_array into = {.dtype = LIG_FLOAT64, .ndim = 1, .shape = {1}, .data = &value};
        lig_times times;
        if (lig_mpi_instance_create(&options, MPI_COMM_WORLD, &all, &error) != LIG_OK) goto failed;
        if (lig_mpi_reuse_instance(all, &again, &error) != LIG_OK || !again) goto failed;
        do {
            wall = MPI_Wtime(), processor = used();
            if (lig_mpi_receive_into(all, "in", NULL, &into, &times, &error) != LIG_OK) goto failed;
            lengths[count] = MPI_Wtime() - wall;
            shares[count] = (used() - processor) / lengths[count];
            count++;
        } while (value > 0 && count < MAX_WAITS);
        if (lig_mpi_reuse_instance(all, &again, &error) != LIG_OK || again) goto failed;
        lig_mpi_instance_free(all);
    } else {
        for (; count < wanted && count < MAX_WAITS; count++) {
            const struct timespec second = {1, 0};
            wall = MPI_Wtime(), processor = used();
            if (rank == 0) nanosleep(&second, NULL);
            MPI_Bcast(&value, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
            lengths[count] = MPI_Wtime() - wall;
            shares[count] = (used() - processor) / lengths[count];
        }
    }
    // Only the other ranks are measured: rank 0 waits in Ligament, or sleeps.
    if (rank == 0) memset(shares, 0, sizeof shares);
    MPI_Reduce(shares, busiest, count, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        FILE *file = fopen(argv[1], "w");
        for (int i = 0; i < count; i++) fprintf(file, "%g %g\n", busiest[i], lengths[i]);
        fclose(file);
    }
    MPI_Finalize();
    return 0;
failed:
    fprintf(stderr, "rank %d: %s\n", rank, error.message);
    return 1;
}
