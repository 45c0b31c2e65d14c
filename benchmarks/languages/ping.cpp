// C++: does the same as ping.c.
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <vector>

#include <ligament/ligament.hpp>

static void give(ligament::Instance &instance, const std::vector<double> &data) {
    if (data.empty()) {
        instance.send("out", 0.0, nullptr);
    } else {
        instance.send("out", 0.0, data);
    }
}

static void take(ligament::Instance &instance, std::size_t count) {
    const ligament::Message message = instance.receive("in");
    if (count > 0 && message.array<double>().size() != count) std::exit(2);
}

int main(int argc, char **argv) {
    if (argc != 5) return 2;
    const std::size_t count = std::strtoull(argv[2], nullptr, 10) / sizeof(double);
    const std::vector<double> data(count);
    std::vector<std::int64_t> times(std::strtoull(argv[3], nullptr, 10));
    ligament::Instance instance;
    instance.reuse_instance();
    for (std::int64_t &time : times) {
        if (argv[1][0] == 'a') {
            const auto began = std::chrono::steady_clock::now();
            give(instance, data);
            take(instance, count);
            time = std::chrono::nanoseconds(std::chrono::steady_clock::now() - began).count();
        } else {
            take(instance, count);
            give(instance, data);
        }
    }
    if (argv[1][0] == 'a') {
        std::ofstream file(argv[4]);
        for (std::int64_t time : times) file << time << '\n';
    }
}
