// Like relay.c, in C++.
#include <ligament/mpi.hpp>

#include <algorithm>
#include <cstdio>
#include <iostream>
#ifdef _OPENMP
#include <omp.h>
#endif

// Each line is written at once, because mpirun mixes the outputs of all ranks in the order in which they come.
static void say(const std::string &line) { std::cout << line + "\n" << std::flush; }

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int ranks, passes = 0, threads = 1;
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
                MPI_Barrier(all.comm());  // the run may end when rank 0 goes on
                continue;
            }
            ligament::Times times(0.0);
            if (passes % 4 == 0) {
                // Rank 0 gets the message, and passes it on by itself.
                if (const auto message = all.receive("start")) {
                    times = message->times();
                    const auto came = message->array<double>();
                    std::copy(came.begin(), came.end(), field.begin());
                }
                MPI_Bcast(field.data(), int(field.size()), MPI_DOUBLE, 0, all.comm());
            } else {
                times = all.receive_into("start", field);
            }
            // Only rank 0 knows the times of a message, and its times count.
            if (all.steer(times.timestamp)) {
                double now[] = {times.timestamp, 0.0};
                if (all.root()) now[1] = all.root()->get_setting_as<double>("factor");
                MPI_Bcast(now, 2, MPI_DOUBLE, 0, all.comm());
                char text[80];
                std::snprintf(text, sizeof text, "rank %d is steered at %g to %g", all.rank(), now[0], now[1]);
                say(text);
            }
#ifdef _OPENMP
#pragma omp parallel for reduction(max : threads)
#endif
            for (std::size_t i = from; i < from + part; i++) {
#ifdef _OPENMP
                threads = omp_get_num_threads();
#endif
                field[i] *= all.rank() + 1;
            }
            MPI_Gather(field.data() + from, int(part), MPI_DOUBLE, whole.data(), int(part), MPI_DOUBLE, 0,
                       all.comm());
            if (all.root()) all.root()->send("end", times, whole);
        }
        say("rank " + std::to_string(all.rank()) + " of " + std::to_string(ranks) + ": " +
            std::to_string(passes) + " passes, " + std::to_string(threads) + " threads");
        all.finish();
    }
    MPI_Finalize();
}
