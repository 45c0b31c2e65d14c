// A side of the benchmark, with MUSIC. Its arguments are those of ours.c.
#include "draw.h"
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <music.hh>
#include <string>
#include <vector>

struct Sum : MUSIC::EventHandlerGlobalIndex {
    std::uint64_t sum = 0, received = 0;
    void operator()(double time, MUSIC::GlobalIndex id) override {
        sum += weight(time, id);
        ++received;
    }
};

int main(int argc, char **argv) {
    MUSIC::Setup *setup = new MUSIC::Setup(argc, argv);
    if (argc < 7) return 2;
    const bool sends = std::strcmp(argv[1], "receive") != 0, receives = std::strcmp(argv[1], "send") != 0;
    const int all = std::atoi(argv[3]), ticks = std::atoi(argv[4]);
    const bool sparse = std::atoi(argv[5]) == 1;
    MPI_Comm communicator = setup->communicator();
    int its_rank, its_ranks;
    MPI_Comm_rank(communicator, &its_rank);
    MPI_Comm_size(communicator, &its_ranks);
    const auto rank = static_cast<std::uint32_t>(its_rank), ranks = static_cast<std::uint32_t>(its_ranks);
    const std::int32_t first = first_id(rank, ranks), own = first_id(rank + 1, ranks) - first;
    const std::int64_t every = all;
    const int events = static_cast<int>(every * (rank + 1) / ranks - every * rank / ranks);
    MUSIC::EventOutputPort *out = nullptr;
    Sum taken;
    if (sends) {
        out = setup->publishEventOutput("out");
        MUSIC::LinearIndex index(first, own);
        out->map(&index, MUSIC::Index::GLOBAL, 1);
    }
    if (receives) {
        MUSIC::EventInputPort *in = setup->publishEventInput("in");
        std::vector<MUSIC::GlobalIndex> wanted;
        for (std::int32_t id = 0; id < IDS; ++id)
            if (!sparse || wants(id, rank)) wanted.push_back(id);
        MUSIC::PermutationIndex some(wanted.data(), static_cast<int>(wanted.size()));
        MUSIC::LinearIndex every(0, IDS);
        if (sparse) in->map(&some, &taken, TICK_S, 1);
        else in->map(&every, &taken, TICK_S, 1);
    }
    MUSIC::Runtime *runtime = new MUSIC::Runtime(setup, TICK_S);
    std::uint64_t state = rank;
    const auto begin = std::chrono::steady_clock::now();
    for (int tick = 0; tick < ticks + DRAIN_TICKS; ++tick) {
        if (sends && tick < ticks) {
            const double now = tick * TICK_S;
            for (int i = 0; i < events; ++i) {
                const std::uint64_t number = draw(&state);
                out->insertEvent(time_of(number, now), MUSIC::GlobalIndex(id_of(number, first, own)));
            }
        }
        runtime->tick();
    }
    const auto end = std::chrono::steady_clock::now();
    if (receives) {
        const std::string name = std::string(argv[6]) + "." + std::to_string(rank);
        if (std::FILE *file = std::fopen(name.c_str(), "w")) {
            std::fprintf(file, "%lld %llu %llu\n",
                         static_cast<long long>(std::chrono::nanoseconds(end - begin).count()),
                         static_cast<unsigned long long>(taken.received),
                         static_cast<unsigned long long>(taken.sum));
            std::fclose(file);
        }
    }
    runtime->finalize();
    delete runtime;
    return 0;
}
