// NAME: starts from a level, and ends with its square, to which each rank adds a part. Replace what is computed
// by your own.
#include <ligament_mpi.h>
#include <stdio.h>
#include <stdlib.h>

static lig_error error;

// All ranks get the same status and text.
static void check(lig_status status) {
    if (status == LIG_OK) return;
    fprintf(stderr, "%s\n", error.message);
    exit(1);
}

int main(int argc, char **argv) {
    const lig_port ports[] = {{LIG_F_INIT, "start"}, {LIG_O_F, "end"}};
    const lig_instance_options options = {.size = sizeof options, .ports = ports, .port_count = 2};
    lig_mpi_instance *all;
    lig_instance *root;
    bool again;
    int ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    check(lig_mpi_instance_create(&options, MPI_COMM_WORLD, &all, &error));
    root = lig_mpi_root(all);  // NULL on all ranks but 0
    for (check(lig_mpi_reuse_instance(all, &again, &error)); again;
         check(lig_mpi_reuse_instance(all, &again, &error))) {
        lig_message *start;
        lig_times times;
        double level = 0, part, whole;
        check(lig_mpi_receive(all, "start", NULL, &start, &times, &error));
        if (root) check(lig_value_float(lig_message_value(start), &level, &error));
        lig_message_free(start);
        MPI_Bcast(&level, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        part = level * level / ranks;
        MPI_Reduce(&part, &whole, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
        const lig_send_options at = {.size = sizeof at, .timestamp = times.timestamp};
        if (root) check(lig_send_float(root, "end", &at, whole, &error));
    }
    lig_mpi_instance_free(all);
    MPI_Finalize();
}
