// A process of a run that is killed during the measurement. Processes exchange numbers in pairs without end.
// Each has a child in a session of its own, which signals to a terminal or a process group do not reach.
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void have_a_child(void) {
    if (fork() == 0) {
        setsid();
        for (int fd = 0; fd < 1024; ++fd) close(fd);
        for (;;) pause();
    }
}

#ifdef WITH_MPI
#include <mpi.h>

int main(int argc, char **argv) {
    int rank, count;
    double number = 0;
    have_a_child();
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &count);
    for (;;)
        MPI_Sendrecv_replace(&number, 1, MPI_DOUBLE, rank ^ 1, 0, rank ^ 1, 0, MPI_COMM_WORLD,
                             MPI_STATUS_IGNORE);
}
#else
#include <ligament.h>

int main(int argc, char **argv) {
    const bool asks = argc > 1 && strcmp(argv[1], "asks") == 0;
    const lig_port asking[] = {{LIG_O_I, "out"}, {LIG_S, "in"}},
                   answering[] = {{LIG_S, "in"}, {LIG_O_I, "out"}};
    const lig_instance_options options = {
        .size = sizeof options, .ports = asks ? asking : answering, .port_count = 2};
    lig_instance *instance;
    lig_message *message;
    bool again;
    have_a_child();
    if (lig_instance_create(&options, &instance, NULL) || lig_reuse_instance(instance, &again, NULL)) return 1;
    for (;;) {
        if (asks && lig_send_float(instance, "out", NULL, 1.0, NULL)) return 1;
        if (lig_receive(instance, "in", NULL, &message, NULL)) return 1;
        lig_message_free(message);
        if (!asks && lig_send_float(instance, "out", NULL, 2.0, NULL)) return 1;
    }
}
#endif
