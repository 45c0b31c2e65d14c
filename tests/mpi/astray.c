// Like relay.c, with a rank that goes astray in its third pass. The arguments give the way, and the rank (by
// default the last one).
#include <ligament_mpi.h>

#include <stdio.h>

#define COUNT 1200

static int rank, ranks, astray, pass;
static const char *mode = "well";

static bool is(const char *name) { return rank == astray && pass == 3 && strcmp(mode, name) == 0; }

static void stay(void) {
    for (;;) pause();
}

static int fail(const char *what, lig_status status, const lig_error *error) {
    fprintf(stderr, "rank %d, %s: %s: %s\n", rank, what, lig_status_name(status), error->message);
    return 1;
}

int main(int argc, char **argv) {
    lig_port ports[] = {{LIG_F_INIT, "start"}, {LIG_O_F, "end"}};
    lig_instance_options options = {.size = sizeof options, .ports = ports, .port_count = 2};
    static double field[COUNT], whole[COUNT];
    MPI_Comm comm = MPI_COMM_WORLD;
    lig_mpi_instance *all;
    lig_error error = {""};
    lig_times times;
    lig_status status;
    bool again;

    if (argc > 1) mode = argv[1];
    if (strcmp(mode, "threads") == 0) {
        int given;
        MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &given);
    } else
        MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    astray = argc > 2 ? atoi(argv[2]) : ranks - 1;
    // Communicators without some of the ranks, or with another order: two halves, and all ranks in another
    // order.
    if (strcmp(mode, "halves") == 0) MPI_Comm_split(MPI_COMM_WORLD, rank < ranks / 2, rank, &comm);
    if (strcmp(mode, "turned") == 0) MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm);
    if (strcmp(mode, "part") == 0) MPI_Comm_split(MPI_COMM_WORLD, rank == astray, rank, &comm);
    if (strcmp(mode, "part") == 0 && rank == astray) {
        // This rank does not call.
        MPI_Finalize();
        return 0;
    }
    MPI_Comm_size(comm, &ranks);
    status = lig_mpi_instance_create(&options, comm, &all, &error);
    if (status != LIG_OK) return fail("create", status, &error);
    while ((status = lig_mpi_reuse_instance(all, &again, &error)) == LIG_OK && again) {
        int part = COUNT / ranks, from = part * rank;
        lig_array into = {.dtype = LIG_FLOAT64, .ndim = 1, .shape = {COUNT}, .data = field};
        lig_send_options send = {.size = sizeof send};
        pass++;
        if (is("late")) stay();
        if (is("finalize")) return MPI_Finalize();
        if (is("frees")) lig_mpi_instance_free(all);
        if (is("order")) lig_mpi_finish(all, &error);
        if (is("steers")) lig_mpi_steer(all, 0.0, &again, &error);
        if (is("small")) into.shape[0] = COUNT / 2;
        status = lig_mpi_receive_into(all, is("port") ? "begin" : "start", NULL, &into, &times, &error);
        if (status != LIG_OK) return fail("receive", status, &error);
        if (is("unsteered")) stay();
        if (strcmp(mode, "unsteered") == 0) lig_mpi_steer(all, times.timestamp, &again, &error);
        for (int i = from; i < from + part; i++) field[i] *= rank + 1;
        MPI_Gather(field + from, part, MPI_DOUBLE, whole, part, MPI_DOUBLE, 0, comm);
        send.timestamp = times.timestamp;
        if (rank == 0) {
            lig_array end = {.dtype = LIG_FLOAT64, .ndim = 1, .shape = {COUNT}, .data = whole};
            status = lig_send_array(lig_mpi_root(all), "end", &send, &end, &error);
            if (status != LIG_OK) return fail("send", status, &error);
        }
        // The other ranks are in their next call by then, or will be soon.
        if (is("busy")) stay();
    }
    if (status != LIG_OK) return fail("reuse", status, &error);
    printf("rank %d of %d: %d passes\n", rank, ranks, pass);
    pass = 3;
    if (is("endless")) stay();
    if (strcmp(mode, "forgets") == 0) {
        // A destructor that runs too late does this: the instance is over, and MPI has ended.
        MPI_Finalize();
        lig_mpi_instance_free(all);
        return 0;
    }
    lig_mpi_instance_free(all);
    if (is("after")) stay();
    MPI_Finalize();
    return 0;
}
