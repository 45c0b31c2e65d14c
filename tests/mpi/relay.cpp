// As relay.c, in C++.
#include <ligament/mpi.hpp>

#include <iostream>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int ranks, passes = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    {
        using ligament::Operator;
        ligament::mpi::Instance all({{Operator::F_INIT, {"start"}}, {Operator::O_F, {"end"}}});
        std::vector<double> field(1200), whole(1200);
        const std::size_t part = field.size() / ranks, from = part * all.rank();
        while (all.reuse_instance()) {
            passes++;
            if (argc > 1 && std::string(argv[1]) == "unlike") {
                std::vector<double> seven(7);
                try {
                    all.receive_into("start", seven);
                } catch (const ligament::UnexpectedError &error) {
                    std::cout << "rank " << all.rank() << " got unexpected: " << error.what() << std::endl;
                }
                continue;
            }
            const ligament::Times times = all.receive_into("start", field);
            for (std::size_t i = from; i < from + part; i++) field[i] *= all.rank() + 1;
            MPI_Gather(field.data() + from, int(part), MPI_DOUBLE, whole.data(), int(part), MPI_DOUBLE, 0, all.comm());
            if (all.root()) all.root()->send("end", times, whole);
        }
        std::cout << "rank " << all.rank() << " of " << ranks << ": " << passes << " passes, 1 threads" << std::endl;
    }
    MPI_Finalize();
}
