// A component with a clock, in MUSIC: it inserts the events of `clock_part.c`, and writes the delivered events
// with the number of the tick.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <music.hh>
#include <string>
#include <vector>

namespace {

constexpr int IDS = 1000;

// The events that have come on a port since the last look. MUSIC calls this within a tick.
struct ArrivedEvents : MUSIC::EventHandlerGlobalIndex {
    std::string port;
    struct Event {
        double time;
        int id;
    };
    std::vector<Event> events;
    void operator()(double time, MUSIC::GlobalIndex id) override { events.push_back({time, id % IDS}); }
};

void show(std::FILE *file, std::deque<ArrivedEvents> &ports, int tick) {
    for (ArrivedEvents &came : ports) {
        for (const ArrivedEvents::Event &event : came.events)
            std::fprintf(file, "0 %s %d %a %d\n", came.port.c_str(), tick, event.time, event.id);
        came.events.clear();
    }
}

} // namespace

// Arguments: the number of this component, its steps, its tick (ns); then for each port "o" or "i", its name,
// the ranks of its sender, the latency (ns), and the ticks that MUSIC may buffer.
int main(int argc, char **argv) {
    MUSIC::Setup *setup = new MUSIC::Setup(argc, argv);
    if (argc < 4) return 2;
    const int number = std::atoi(argv[1]), steps = std::atoi(argv[2]), tick_ns = std::atoi(argv[3]);
    const double step = tick_ns / 1e9;
    MPI_Comm communicator = setup->communicator();
    int rank;
    MPI_Comm_rank(communicator, &rank);
    std::vector<MUSIC::EventOutputPort *> sends;
    std::deque<ArrivedEvents> receives;
    for (int i = 4; i + 4 < argc; i += 5) {
        const std::string name = argv[i + 1];
        const int senders = std::atoi(argv[i + 2]), buffered = std::atoi(argv[i + 4]);
        if (argv[i][0] == 'o') {
            // The ranks of a sender must not share ids in MUSIC, so each has its own thousand.
            MUSIC::LinearIndex own(rank * IDS, IDS);
            sends.push_back(setup->publishEventOutput(name));
            sends.back()->map(&own, MUSIC::Index::GLOBAL, buffered);
        } else {
            MUSIC::LinearIndex all(0, senders * IDS);
            receives.emplace_back().port = name;
            setup->publishEventInput(name)->map(&all, &receives.back(), std::atof(argv[i + 3]) / 1e9, buffered);
        }
    }
    const std::string name = "c" + std::to_string(number) + "." + std::to_string(rank) + ".log";
    std::FILE *file = std::fopen(name.c_str(), "w");
    if (file == nullptr) return 2;
    MUSIC::Runtime *runtime = new MUSIC::Runtime(setup, step);
    show(file, receives, 0);
    for (int tick = 0; tick < steps; ++tick) {
        // The time as `clocks.py` computes it; MUSIC's may differ in its last bit.
        const double time = static_cast<double>(tick) * tick_ns / 1e9;
        for (int port = 0; port < static_cast<int>(sends.size()); ++port) {
            const int events = (tick * 7 + number + rank + port) % 4;
            for (int j = 0; j < events; ++j) {
                const int id = (tick * 31 + j * 7 + number * 13 + rank * 5) % IDS;
                sends[static_cast<std::size_t>(port)]->insertEvent(time + j * (step / 4),
                                                                   MUSIC::GlobalIndex(rank * IDS + id));
            }
        }
        runtime->tick();
        show(file, receives, tick + 1);
    }
    std::fclose(file);
    // This also delivers the events that are left. A receiver whose last step is earlier does not get them.
    runtime->finalize();
    delete runtime;
    return 0;
}
