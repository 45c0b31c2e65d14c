// Measures the time from the moment at which rank 0 has a message until the last rank has it: by Ligament's
// collective call, and by a receive on rank 0 followed by MPI_Bcast. The two take turns, and each gets a
// message that was just received, so that both find the same state of the caches.
// giving TIMES COUNT BYTES BURSTS; TIMES gets the times of both, ns.
#include <ligament.h>

#include "../lib/timing.h"

// Time at which rank 0 has the message. The call is the one of the header, with a reading of the clock after
// it.
static uint64_t had;
static lig_status noted_receive_into(lig_instance *instance, const char *port,
                                     const lig_receive_options *options, const lig_array *into,
                                     lig_times *times, lig_error *error) {
    lig_status status = lig_receive_into(instance, port, options, into, times, error);
    had = nanoseconds();
    return status;
}
#define lig_receive_into noted_receive_into
#include <ligament_mpi.h>
#undef lig_receive_into

#include <stdio.h>

// Makes rank 0 arrive last, as after a wait for the message.
static void gather(int rank) {
    MPI_Barrier(MPI_COMM_WORLD);
    for (uint64_t until = nanoseconds() + 5000; rank == 0 && nanoseconds() < until;) spin_pause();
}

int main(int argc, char **argv) {
    lig_port ports[] = {{LIG_S, "in"}, {LIG_O_I, "more"}};
    lig_instance_options options = {.size = sizeof options, .ports = ports, .port_count = 2};
    int rank, count = argc > 4 ? atoi(argv[2]) : 0, bursts = argc > 4 ? atoi(argv[4]) : 0;
    size_t bytes = argc > 4 ? strtoul(argv[3], NULL, 10) : 0;
    double *data = calloc(1, bytes);
    lig_array into = {.dtype = LIG_FLOAT64, .ndim = 1, .shape = {bytes / 8}, .data = data};
    lig_mpi_instance *all = NULL;
    lig_times times;
    lig_error error = {"no memory"};
    FILE *file = NULL;
    bool again;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (!data) goto failed;
    if (lig_mpi_instance_create(&options, MPI_COMM_WORLD, &all, &error) != LIG_OK) goto failed;
    if (lig_mpi_reuse_instance(all, &again, &error) != LIG_OK || !again) goto failed;
    if (rank == 0 && !(file = fopen(argv[1], "w"))) goto failed;
    for (int burst = 0; burst < bursts; burst++) {
        for (int i = 0; i < count; i += 2) {
            uint64_t began[2], ended[2], last[2];
            gather(rank);
            if (lig_mpi_receive_into(all, "in", NULL, &into, &times, &error) != LIG_OK) goto failed;
            ended[0] = nanoseconds();
            began[0] = had;
            gather(rank);
            if (rank == 0 && noted_receive_into(lig_mpi_root(all), "in", NULL, &into, &times, &error) != LIG_OK)
                goto failed;
            began[1] = had;
            MPI_Bcast(data, (int)bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
            ended[1] = nanoseconds();
            MPI_Reduce(ended, last, 2, MPI_UINT64_T, MPI_MAX, 0, MPI_COMM_WORLD);
            // The first part of a burst is not counted, because the other end still sends.
            if (rank == 0 && i >= count / 4)
                fprintf(file, "%llu %llu\n", (unsigned long long)(last[0] - began[0]),
                        (unsigned long long)(last[1] - began[1]));
        }
        lig_array nothing = {.dtype = LIG_FLOAT64, .ndim = 1};
        if (rank == 0 && lig_send_array(lig_mpi_root(all), "more", NULL, &nothing, &error) != LIG_OK)
            goto failed;
    }
    if (lig_mpi_reuse_instance(all, &again, &error) != LIG_OK || again) goto failed;
    lig_mpi_instance_free(all);
    MPI_Finalize();
    return file ? fclose(file) : 0;
failed:
    fprintf(stderr, "rank %d: %s\n", rank, error.message);
    return 1;
}
