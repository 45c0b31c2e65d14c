// Like team.c, in C++.
#include <ligament/ligament.hpp>

#include <omp.h>

#include <iostream>

static int threads;

static void multiply(std::vector<double> &field) {
#pragma omp single
    threads = omp_get_num_threads();
#pragma omp for schedule(static)
    for (std::size_t i = 0; i < field.size(); i++) field[i] *= omp_get_thread_num() + 1;
}

int main(int argc, char **argv) {
    using ligament::Operator;
    const bool within = argc > 1 && std::string(argv[1]) == "within";
    ligament::Instance instance({{Operator::F_INIT, {"start"}}, {Operator::O_F, {"end"}}});
    std::vector<double> field(1200);
    double time = 0;
    while (instance.reuse_instance()) {
        if (within) {
#pragma omp parallel
            {
#pragma omp master
                time = instance.receive_into("start", field).timestamp;
#pragma omp barrier
                multiply(field);
#pragma omp master
                instance.send("end", time, field);
            }
        } else {
            time = instance.receive_into("start", field).timestamp;
#pragma omp parallel
            multiply(field);
            instance.send("end", time, field);
        }
    }
    std::cout << threads << " threads\n";
}
