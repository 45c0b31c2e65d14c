// Light components: each adds its own number to the one that it receives. Each knows its name when it is made.
#include <ligament/ligament.hpp>

#include <cstdio>
#include <stdexcept>

class Adder final : public ligament::Submodel {
public:
    explicit Adder(ligament::Instance &instance)
        : steps_(instance.get_setting_as<int>("steps")), name_(instance.name()) {}

    void initialise(ligament::Instance &) override { step_ = 0; }
    bool is_done() override { return step_ == steps_; }
    void observe(ligament::Instance &instance) override {
        if (instance.get_setting_as<std::string>("fails") == name_)
            throw std::runtime_error("it does not add up");
        instance.send("out", static_cast<double>(step_), sum_ + 1);
    }
    void solve(ligament::Instance &instance) override {
        const ligament::Message message = instance.receive("in");
        sum_ += message.data().as<std::int64_t>();
        step_ += 1;
    }
    void observe_final(ligament::Instance &) override {
        std::printf("%s: %lld\n", name_.c_str(), static_cast<long long>(sum_));
    }

private:
    int steps_, step_ = 0;
    std::int64_t sum_ = 0;
    std::string name_;
};

int main() {
    try {
        ligament::run_light<Adder>();
    } catch (const std::runtime_error &error) {
        std::printf("caught: %s\n", error.what());
        return 1;
    }
}
