// A micro model that keeps a sum of all of its passes, and saves within and between them.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <ligament/ligament.hpp>

using ligament::Instance;
using ligament::Operator;

// The state: sum, passes, first time, step, value.
static std::vector<double> state(5);

// Writes the file of the code's own beside its message.
static void write_sum(Instance &instance) {
    std::ofstream file(instance.snapshot_directory() + "/sum.bin", std::ios::binary);
    if (!file.write(reinterpret_cast<const char *>(state.data()), sizeof(double))) std::exit(3);
}

static void load(Instance &instance) {
    double sum = 0;
    std::ifstream file(instance.snapshot_directory() + "/sum.bin", std::ios::binary);
    if (!file.read(reinterpret_cast<char *>(&sum), sizeof sum)) std::exit(4);
    state = instance.load_snapshot().as<std::vector<double>>();
    if (sum != state.at(0)) std::exit(5);
    std::ofstream("resumed.txt") << state[3] << "\n";
}

// A wrong call at the beginning of a pass.
static void call_out_of_order(Instance &instance) {
    try {
        instance.should_init();
        std::exit(6);
    } catch (const ligament::UsageError &error) {
        std::ofstream("order.txt") << error.what() << "\n";
    }
}

static void pass(Instance &instance) {
    if (instance.resuming()) load(instance);
    if (instance.should_init()) {
        const ligament::Message message = instance.receive("in");
        state[2] = message.timestamp();
        state[3] = 0;
        state[4] = message.as<double>();
    }
    while (state[3] < 5) {
        state[4] = state[4] * 0.7 + 0.01 * state[0];
        state[3] += 1;
        const double time = state[2] + 0.1 * state[3];
        if (instance.should_save_snapshot(time)) {
            write_sum(instance);
            instance.save_snapshot(time, state);
        }
    }
    state[0] += state[4];
    state[1] += 1;
    const double end = state[2] + 0.5;
    instance.send("out", end, state[4]);
    if (instance.should_save_final_snapshot()) {
        write_sum(instance);
        instance.save_final_snapshot(end, ligament::ArrayRef<double>(state.data(), {5}));
    }
}

int main() {
    Instance instance({{Operator::F_INIT, {"in"}}, {Operator::O_F, {"out"}}},
                      ligament::Flags::uses_checkpoint_api);
    while (instance.reuse_instance()) {
        if (state[1] == 0) call_out_of_order(instance);
        pass(instance);
    }
    std::FILE *file = std::fopen("end.txt", "w");
    std::fprintf(file, "%.0f %.17g\n", state[1], state[0]);
    std::fclose(file);
}
