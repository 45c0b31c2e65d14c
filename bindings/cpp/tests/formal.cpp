// A formal submodel that counts to three with an echo. With an argument, its third step throws.
#include "check.hpp"

struct NoConvergence : std::runtime_error {
    NoConvergence() : std::runtime_error("the third step does not converge") {}
};

struct Counter : ligament::Submodel {
    int step = 0, initialised = 0, observed = 0, finished = 0;
    bool fails = false;

    void initialise(ligament::Instance &) override { ++initialised; }
    bool is_done() override { return step == 3; }
    void observe(ligament::Instance &instance) override {
        ++observed;
        instance.send("out", static_cast<double>(step), step);
    }
    void solve(ligament::Instance &instance) override {
        const ligament::Message message = instance.receive("in");
        HOLDS(message.data().as<int>() == step);
        if (fails && step == 2) throw NoConvergence();
        ++step;
    }
    void observe_final(ligament::Instance &) override { ++finished; }
};

int main(int argc, char **) {
    ligament::Instance instance;
    Counter counter;
    counter.fails = argc > 1;
    if (counter.fails) {
        throws<NoConvergence>("does not converge", [&] { run_submodel(instance, counter); });
        return 0;
    }
    run_submodel(instance, counter);
    HOLDS(counter.step == 3 && counter.initialised == 1 && counter.observed == 3 && counter.finished == 1);
}
