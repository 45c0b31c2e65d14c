// The common parts of both programs of the benchmark: the duct, its fluid, and the timing of steps. A process
// has one block, and keeps to a core of its own.
#pragma once
#include <sched.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "../../examples/canal/lattice.hpp"
#include "../lib/timing.h"

namespace steps {

constexpr double viscosity = 0.05, acceleration = 1e-6;
constexpr unsigned limit_seconds = 600;

// The arguments of a program: the way of its exchange, the numbers of steps before the timing and within it,
// the file for the result, to whose name the number of the block is added, and a core for each block.
struct Arguments {
    std::string way;
    long warm, timed;
    std::string file;
    std::vector<int> cores;

    Arguments(int count, char **words) {
        if (count < 6) throw std::runtime_error("usage: PROGRAM WAY WARM STEPS FILE CORE...");
        way = words[1], warm = std::atol(words[2]), timed = std::atol(words[3]), file = words[4];
        for (int i = 5; i < count; ++i) cores.push_back(std::atoi(words[i]));
        alarm(limit_seconds);
    }
};

inline void keep_to(int core) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    if (sched_setaffinity(0, sizeof one, &one)) {
        throw std::runtime_error("cannot keep to core " + std::to_string(core));
    }
}

// Makes all steps by calling `step` with their numbers. Writes when the timed steps began and ended (ns), and a
// sum of some populations of the block, by which the results of programs are compared.
template <class Step>
void run(const Arguments &arguments, std::size_t number, lattice::Block &block, Step step) {
    long done = 0;
    for (; done < arguments.warm; ++done) step(done);
    const std::uint64_t begun = nanoseconds();
    for (; done < arguments.warm + arguments.timed; ++done) step(done);
    const std::uint64_t ended = nanoseconds();
    double sum = 0;
    const lattice::Point end = block.own().end;
    for (int i = 0; i < lattice::populations; ++i) {
        for (std::ptrdiff_t x = 0; x < end[0]; ++x) {
            for (std::ptrdiff_t y = 0; y < end[1]; ++y) {
                const double weight = static_cast<double>(x + y + i);
                sum += block.now(i)[block.place(x, y, end[2] / 2)] * weight;
            }
        }
    }
    std::FILE *out = std::fopen((arguments.file + "." + std::to_string(number)).c_str(), "w");
    if (!out) throw std::runtime_error("cannot write " + arguments.file);
    std::fprintf(out, "%llu %llu %a\n", static_cast<unsigned long long>(begun),
                 static_cast<unsigned long long>(ended), sum);
    if (std::fclose(out)) throw std::runtime_error("cannot write " + arguments.file);
}

}  // namespace steps
