// All ranks get an array, each multiplies its part of it, and rank 0 sends the result. The first argument names
// a fault.
#include <ligament_mpi.h>

#include <signal.h>
#include <stdio.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#define COUNT 1200

static int fail(const char *what, int rank, lig_status status, const lig_error *error) {
    fprintf(stderr, "rank %d, %s: %s: %s\n", rank, what, lig_status_name(status), error->message);
    return 1;
}

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "well";
    lig_port ports[] = {{LIG_F_INIT, "start"}, {LIG_O_F, "end"}};
    lig_instance_options options = {.size = sizeof options, .ports = ports, .port_count = 2};
    static double field[COUNT], whole[COUNT];
    int rank, ranks, pass = 0, threads = 1;
    lig_mpi_instance *all;
    lig_error error = {""};
    lig_status status;
    bool again, changed;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (strcmp(mode, "alone") == 0) {
        // Each rank makes an instance for itself, which only rank 0 may do.
        lig_instance *own = NULL;
        if (rank > 0) {
            status = lig_instance_create(&options, &own, &error);
            if (status != LIG_OK) fail("create", rank, status, &error);
        }
        // Rank 0 ends when the others have been told.
        MPI_Barrier(MPI_COMM_WORLD);
        return 1;
    }
    // Each rank prints its process number, for tests that end one.
    fprintf(stderr, "process %d is rank %d\n", (int)getpid(), rank);
    if (rank == ranks - 1 && strcmp(mode, "absent") == 0) exit(0);
    status = lig_mpi_instance_create(&options, MPI_COMM_WORLD, &all, &error);
    if (status != LIG_OK) return fail("create", rank, status, &error);
    if ((lig_mpi_root(all) != NULL) != (rank == 0)) return 9;
    if (strcmp(mode, "afar") == 0) printf("%d: %s\n", rank, all->word ? "sees it" : "is afar");
    while ((status = lig_mpi_reuse_instance(all, &again, &error)) == LIG_OK && again) {
        int part = COUNT / ranks, from = part * rank;
        lig_array into = {.dtype = LIG_FLOAT64, .ndim = 1, .shape = {COUNT}, .data = field};
        lig_send_options send = {.size = sizeof send};
        lig_times times;
        pass++;
        if (strcmp(mode, "unlike") == 0) {
            into.shape[0] = 7;
            status = lig_mpi_receive_into(all, "start", NULL, &into, &times, &error);
            printf("rank %d got %s: %s\n", rank, lig_status_name(status), error.message);
            fflush(stdout);
            // The run may end when rank 0 goes on, so all ranks have written by then.
            MPI_Barrier(MPI_COMM_WORLD);
            continue;
        }
        if (pass % 4 == 0) {
            // Rank 0 gets the message, and passes it on by itself.
            lig_message *message;
            status = lig_mpi_receive(all, "start", NULL, &message, &times, &error);
            if ((message != NULL) != (rank == 0 && status == LIG_OK)) return 8;
            if (message) {
                lig_array_view view;
                status = lig_message_array(message, &view, &error);
                if (status == LIG_OK) memcpy(field, view.data, sizeof field);
                lig_message_free(message);
            }
            MPI_Bcast(field, COUNT, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        } else {
            status = lig_mpi_receive_into(all, "start", NULL, &into, &times, &error);
        }
        if (status != LIG_OK) return fail("receive", rank, status, &error);
        // All ranks together get the same answer, and rank 0 has the settings.
        status = lig_mpi_steer(all, times.timestamp, &changed, &error);
        if (status != LIG_OK) return fail("steer", rank, status, &error);
        if (changed) {
            double factor = 0;
            if (rank == 0) status = lig_get_setting_float(lig_mpi_root(all), "factor", &factor, &error);
            if (status != LIG_OK) return fail("setting", rank, status, &error);
            MPI_Bcast(&factor, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
            printf("rank %d is steered at %g to %g\n", rank, times.timestamp, factor);
        }
        if (pass == 3 && rank == ranks - 1) {
            if (strcmp(mode, "abort") == 0) MPI_Abort(MPI_COMM_WORLD, 5);
            if (strcmp(mode, "exit") == 0) exit(3);
            if (strcmp(mode, "leave") == 0) exit(0);
            if (strcmp(mode, "crash") == 0) raise(SIGSEGV);
        }
#ifdef _OPENMP
#pragma omp parallel for
#endif
        for (int i = 0; i < part; i++) {
#ifdef _OPENMP
            threads = omp_get_num_threads();
#endif
            field[from + i] *= rank + 1;
        }
        MPI_Gather(field + from, part, MPI_DOUBLE, whole, part, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        send.timestamp = times.timestamp;
        if (rank == 0) {
            lig_array end = {.dtype = LIG_FLOAT64, .ndim = 1, .shape = {COUNT}, .data = whole};
            status = lig_send_array(lig_mpi_root(all), "end", &send, &end, &error);
            if (status != LIG_OK) return fail("send", rank, status, &error);
        }
    }
    if (status != LIG_OK) return fail("reuse", rank, status, &error);
    printf("rank %d of %d: %d passes, %d threads\n", rank, ranks, pass, threads);
    status = lig_mpi_finish(all, &error);
    if (status != LIG_OK) return fail("finish", rank, status, &error);
    lig_mpi_instance_free(all);
    MPI_Finalize();
    return 0;
}
