// NAME: steps forward in time, and in every step asks a finer model. Replace what is computed by your own, in
// all ranks.
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
    const lig_port ports[] = {{LIG_O_I, "state"}, {LIG_S, "result"}};
    const lig_instance_options options = {.size = sizeof options, .ports = ports, .port_count = 2};
    lig_mpi_instance *all;
    lig_instance *root;
    bool again;
    MPI_Init(&argc, &argv);
    check(lig_mpi_instance_create(&options, MPI_COMM_WORLD, &all, &error));
    root = lig_mpi_root(all);  // NULL on all ranks but 0
    for (check(lig_mpi_reuse_instance(all, &again, &error)); again;
         check(lig_mpi_reuse_instance(all, &again, &error))) {
        double t_max = 0, state = 1;
        if (root) check(lig_get_setting_float(root, "t_max", &t_max, &error));
        MPI_Bcast(&t_max, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        for (double t = 0; t < t_max; t += 1) {
            const lig_send_options at = {.size = sizeof at,
                                         .timestamp = t,
                                         .next_timestamp = t + 1,
                                         .has_next_timestamp = t + 1 < t_max};
            if (root) check(lig_send_float(root, "state", &at, state, &error));

            lig_message *result;
            double answer = 0;
            check(lig_mpi_receive(all, "result", NULL, &result, NULL, &error));
            if (root) check(lig_value_float(lig_message_value(result), &answer, &error));
            lig_message_free(result);
            MPI_Bcast(&answer, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
            if (root) printf("at %g the finer model says %g\n", t, answer);
            state = answer + 1;
        }
    }
    lig_mpi_instance_free(all);
    MPI_Finalize();
}
