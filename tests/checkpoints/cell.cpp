// The micro model as a submodel that the library drives: with "light" as argument by run_light, otherwise by
// run_submodel.
#include <cstdio>
#include <cstring>
#include <fstream>
#include <ligament/ligament.hpp>

using ligament::Instance;
using ligament::Operator;

class Cell : public ligament::Submodel, public ligament::SubmodelState {
public:
    explicit Cell(Instance &) {}

    void initialise(Instance &instance) override {
        const ligament::Message message = instance.receive("in");
        state_[2] = message.timestamp();
        state_[3] = 0;
        state_[4] = message.as<double>();
    }

    bool is_done() override { return state_[3] >= 5; }

    void observe(Instance &) override {}

    void solve(Instance &) override {
        state_[4] = state_[4] * 0.7 + 0.01 * state_[0];
        state_[3] += 1;
    }

    void observe_final(Instance &instance) override {
        state_[0] += state_[4];
        state_[1] += 1;
        std::FILE *file = std::fopen("end.txt", "w");
        std::fprintf(file, "%.0f %.17g\n", state_[1], state_[0]);
        std::fclose(file);
        instance.send("out", state_[2] + 0.5, state_[4]);
    }

    double model_time() override { return state_[2] + 0.1 * state_[3]; }

    void save(Instance &instance) override { instance.save_snapshot(model_time(), state_); }

    void restore(Instance &instance) override {
        state_ = instance.load_snapshot().as<std::vector<double>>();
        std::ofstream("resumed.txt") << state_.at(3) << "\n";
    }

private:
    // Sum, passes, first time, step, value.
    std::vector<double> state_ = std::vector<double>(5);
};

int main(int count, char **arguments) {
    const ligament::Flags flags = ligament::Flags::uses_checkpoint_api;
    if (count > 1 && std::strcmp(arguments[1], "light") == 0) {
        ligament::run_light<Cell>(flags);
        return 0;
    }
    Instance instance({{Operator::F_INIT, {"in"}}, {Operator::O_F, {"out"}}}, flags);
    Cell cell(instance);
    ligament::run_submodel(instance, cell);
}
