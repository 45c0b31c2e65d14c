// NAME: steps forward in time, and in every step asks a finer model. Replace what is computed by your own, in
// all ranks.
#include <iostream>
#include <ligament/mpi.hpp>

using ligament::Operator;

static void run() {
    ligament::mpi::Instance all({{Operator::O_I, {"state"}}, {Operator::S, {"result"}}});
    while (all.reuse_instance()) {
        double t_max = all.root() ? all.root()->get_setting_as<double>("t_max") : 0.0, state = 1;
        MPI_Bcast(&t_max, 1, MPI_DOUBLE, 0, all.comm());
        for (double t = 0; t < t_max; t += 1) {
            const bool more = t + 1 < t_max;
            if (all.root()) all.root()->send("state", {t, more ? std::optional(t + 1) : std::nullopt}, state);
            const auto result = all.receive("result");  // on rank 0
            double answer = result ? result->as<double>() : 0.0;
            MPI_Bcast(&answer, 1, MPI_DOUBLE, 0, all.comm());
            if (all.root()) std::cout << "at " << t << " the finer model says " << answer << std::endl;
            state = answer + 1;
        }
    }
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    run();  // the instance ends before MPI
    MPI_Finalize();
}
