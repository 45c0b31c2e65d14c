// As relay.c, in C++.
#include <ligament/mpi.hpp>

#include <iostream>

// A line at once: mpirun passes on what comes as it comes, from all ranks.
static void say(const std::string &line) { std::cout << line + "\n" << std::flush; }

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
                    say("rank " + std::to_string(all.rank()) + " got unexpected: " + error.what());
                }
                MPI_Barrier(all.comm());  // the run may end once rank 0 goes on: by then all have written
                continue;
            }
            const ligament::Times times = all.receive_into("start", field);
            for (std::size_t i = from; i < from + part; i++) field[i] *= all.rank() + 1;
            MPI_Gather(field.data() + from, int(part), MPI_DOUBLE, whole.data(), int(part), MPI_DOUBLE, 0, all.comm());
            if (all.root()) all.root()->send("end", times, whole);
        }
        say("rank " + std::to_string(all.rank()) + " of " + std::to_string(ranks) + ": " + std::to_string(passes) +
            " passes, 1 threads");
    }
    MPI_Finalize();
}
