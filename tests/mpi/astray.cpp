// Like astray.c, in C++: in the third pass a rank throws, and the exception destroys its instance. The
// arguments give the next step ("returns" or "finalizes"), and the rank.
#include <ligament/mpi.hpp>

#include <cstdlib>
#include <iostream>
#include <stdexcept>

static void run(int astray) {
    using ligament::Operator;
    ligament::mpi::Instance all({{Operator::F_INIT, {"start"}}, {Operator::O_F, {"end"}}});
    std::vector<double> field(1200), whole(1200);
    int ranks;
    MPI_Comm_size(all.comm(), &ranks);
    const int part = 1200 / ranks, from = part * all.rank();
    for (int pass = 1; all.reuse_instance(); pass++) {
        if (pass == 3 && all.rank() == astray) throw std::runtime_error("no such place");
        const auto times = all.receive_into("start", field);
        for (int i = from; i < from + part; i++) field[i] *= all.rank() + 1;
        MPI_Gather(field.data() + from, part, MPI_DOUBLE, whole.data(), part, MPI_DOUBLE, 0, all.comm());
        if (all.root()) all.root()->send("end", times, whole);
    }
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    try {
        run(std::atoi(argv[2]));
    } catch (const std::exception &error) {
        std::cerr << "it failed: " << error.what() << std::endl;
        if (argv[1] == std::string("returns")) return 1;
    }
    MPI_Finalize();
}
