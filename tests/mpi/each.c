// Each rank is an instance of its own. `flow` passes its number on to the rank of the same number in `solid`,
// and answers with the result. It is built with MPI if there is one (-DWITH_MPI). The second argument names a
// fault.
#ifdef WITH_MPI
#include <ligament_mpi.h>
#else
#include <ligament.h>
#endif

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static lig_error error;

static void fine(lig_status status) {
    if (status == LIG_OK) return;
    fprintf(stderr, "%s: %s\n", lig_status_name(status), error.message);
    exit(7);
}

// Receives a number. Returns false if the conduit has ended.
static bool take(lig_instance *own, const char *port, double *value, lig_times *times) {
    lig_message *message;
    const lig_status status = lig_receive(own, port, NULL, &message, &error);
    if (status == LIG_ERR_CLOSED) return false;
    fine(status);
    fine(lig_message_times(message, times, &error));
    fine(lig_value_float(lig_message_value(message), value, &error));
    lig_message_free(message);
    return true;
}

static void give(lig_instance *own, const char *port, double value, double time) {
    const lig_send_options options = {.size = sizeof options, .timestamp = time};
    fine(lig_send_float(own, port, &options, value, &error));
}

int main(int argc, char **argv) {
    const bool is_flow = argc > 1 && strcmp(argv[1], "flow") == 0;
    const char *mode = argc > 2 ? argv[2] : "well";
    lig_port of_flow[] = {{LIG_F_INIT, "start"}, {LIG_O_I, "out"}, {LIG_S, "in"}, {LIG_O_F, "end"}};
    lig_port of_solid[] = {{LIG_S, "in"}, {LIG_O_I, "out"}};
    const lig_instance_options options = {
        .size = sizeof options, .ports = is_flow ? of_flow : of_solid, .port_count = is_flow ? 4 : 2};
    lig_instance *own;
    bool again;
    double value, factor;
    lig_times times;
    int pass = 0;

#ifdef WITH_MPI
    int rank, ranks;
    const char *told = getenv("OMPI_COMM_WORLD_RANK") ? getenv("OMPI_COMM_WORLD_RANK") : getenv("PMI_RANK");
    if (is_flow && strcmp(mode, "stray") == 0 && told && strcmp(told, "3") == 0) {
        // The rank behaves like a program that only prints its version: it does not use MPI. It ends when the
        // test has seen it.
        sleep(1);
        return 0;
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (is_flow && strcmp(mode, "missing") == 0 && rank == 3) return 0;
    if (is_flow && strcmp(mode, "crash") == 0 && rank == 2) raise(SIGSEGV);
    if (is_flow && strcmp(mode, "collective") == 0) {
        lig_mpi_instance *all;
        const lig_status status = lig_mpi_instance_create(&options, MPI_COMM_WORLD, &all, &error);
        fprintf(stderr, "%s: %s\n", lig_status_name(status), error.message);
        return 1;
    }
#endif
    fine(lig_instance_create(&options, &own, &error));
#ifdef WITH_MPI
    if ((int)lig_instance_rank(own) != rank || (int)lig_instance_ranks(own) != ranks) return 9;
#endif
    const unsigned me = lig_instance_rank(own);
    fine(lig_get_setting_float(own, "factor", &factor, &error));
    while (fine(lig_reuse_instance(own, &again, &error)), again) {
        pass++;
        if (is_flow) {
            if (!take(own, "start", &value, &times)) return 8;
            if (pass == 2 && me == 2 && strcmp(mode, "die") == 0) raise(SIGKILL);
            give(own, "out", value, times.timestamp);
            if (!take(own, "in", &value, &times)) return 8;
            give(own, "end", value, times.timestamp);
        } else {
            while (take(own, "in", &value, &times)) give(own, "out", factor * value + me, times.timestamp);
        }
    }
    printf("%s: rank %u of %u, %d passes, a factor of %g\n", lig_instance_name(own), me,
           lig_instance_ranks(own), pass, factor);
    lig_instance_free(own);
#ifdef WITH_MPI
    MPI_Finalize();
#endif
    return 0;
}
