// NAME: starts from a level, and ends with its square, to which each rank adds a part. Replace what is computed
// by your own.
#include <ligament/mpi.hpp>

using ligament::Operator;

static void run() {
    ligament::mpi::Instance all({{Operator::F_INIT, {"start"}}, {Operator::O_F, {"end"}}});
    int ranks;
    MPI_Comm_size(all.comm(), &ranks);
    while (all.reuse_instance()) {
        const auto start = all.receive("start");  // on rank 0
        double level = start ? start->as<double>() : 0.0, whole;
        MPI_Bcast(&level, 1, MPI_DOUBLE, 0, all.comm());
        const double part = level * level / ranks;
        MPI_Reduce(&part, &whole, 1, MPI_DOUBLE, MPI_SUM, 0, all.comm());
        if (all.root()) all.root()->send("end", start->timestamp(), whole);
    }
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    run();  // the instance ends before MPI
    MPI_Finalize();
}
