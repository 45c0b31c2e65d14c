// Calls the operations that the other driver in C++ does not use, and prints their results (README.md).
#include <iostream>
#include <ligament/ligament.hpp>

using ligament::Instance, ligament::Message, ligament::Operator, ligament::Ports, ligament::Slot;

static void about(Instance &instance) {
    instance.set_interrupt_check([](void *user) { return user != nullptr; });
    instance.log(ligament::LogLevel::warning, "said by the giver");
    Ports ports = instance.list_ports();
    std::cout << "name " << instance.name() << "\nindex " << instance.index().size() << "\nrank "
              << instance.rank() << " of " << instance.ranks() << "\nrun "
              << !instance.run_name().empty() << "\nports " << ports[Operator::O_I].size() << ' '
              << ports[Operator::S].size() << "\nconnected " << instance.is_connected("deal") << ' '
              << instance.is_connected("nothing") << "\nvector " << instance.is_vector_port("deal") << ' '
              << instance.is_vector_port("plain") << "\nresizable " << instance.is_resizable("deal") << ' '
              << instance.is_resizable("plain") << '\n';
    instance.set_port_length("deal", 2);
    std::cout << "length " << instance.get_port_length("deal") << "\nsetting "
              << static_cast<int>(4 * instance.get_setting_as<double>("ratio")) << "\nsettings "
              << instance.list_settings().size() << '\n';
    instance.declare_steerable("ratio", 0, 1, "m");
    const bool before = instance.steer(0), from = instance.steer(1);
    std::cout << "steered " << before << ' ' << from << ' '
              << static_cast<int>(4 * instance.get_setting_as<double>("ratio")) << '\n';
}

static void giver() {
    Instance instance({{Operator::O_I, {"deal[]", "plain"}}, {Operator::S, {"back[]", "nothing"}}});
    if (!instance.reuse_instance()) throw std::runtime_error("there is no pass");
    about(instance);
    instance.send("deal", 1.0, 5, 0);
    auto loan = instance.loan<double>({2});
    loan[0] = 1, loan[1] = 2;
    instance.send("deal", 1.0, std::move(loan), 1);

    const std::size_t first = instance.wait_any({{"back", 0}, {"back", 1}});
    std::cout << "first " << first << ' ' << instance.poll("back", 0) << '\n';
    std::cout << "more " << instance.has_next("back", 0) << '\n';
    const Message message = instance.receive("back", 0);
    std::cout << "came " << message.as<int>() << ' ' << static_cast<int>(message.timestamp()) << "\noverlay "
              << message.settings().has_value() << '\n';
    std::vector<double> two(2);
    instance.receive_into("back", two, 1);
    std::cout << "into " << static_cast<int>(two[0] + two[1]) << '\n';
    std::cout << "nothing " << instance.receive("nothing", Message(0.0, 0)).as<int>() << '\n';
    const auto [which, third] = instance.receive_any({{"back", 0}});
    std::cout << "any " << which << ' ' << third.array<std::int64_t>({1})[0] << '\n';
    const Message last = instance.receive_with_settings("back", 1);
    std::cout << "under " << last.settings()->at("k").as<int>() << ' ' << last.as<int>() << std::endl;
    std::cout << "more " << instance.has_next("back", 1) << std::endl;
    instance.finish();
    instance.error_shutdown("it is over, so that nobody hears this");
}

// Receives on two slots, and sends both messages back. Then it sends a third message, and one with an overlay
// of its own.
struct Taker : ligament::Submodel {
    bool done = false;
    explicit Taker(bool from_the_start = false) : done(from_the_start) {}
    void initialise(Instance &) override {}
    bool is_done() override { return done; }
    void observe(Instance &) override {}
    void solve(Instance &instance) override {
        done = true;
        const Message first = instance.receive("deal", 0), second = instance.receive("deal", 1);
        instance.set_port_length("back", 2);
        instance.send("back", first, 0);
        instance.send("back", second, 1);
        instance.send("back", 2.0, std::vector<std::int64_t>{7}, 0);
        instance.send("back", 2.0, 9, 1, ligament::Value::map().set("k", 3));
    }
    void observe_final(Instance &) override {}
};

// Adds up all inputs, and multiplies the number of each slot by a setting.
struct Scale : ligament::Mapper {
    Scale() : Mapper({"a", "b[]"}, {"sum", "each[]", "spare"}) {}
    void map(const ligament::Inputs &inputs, ligament::Outputs &outputs) override {
        Instance &instance = outputs.instance();
        outputs.send("spare", 0.0);
        if (instance.get_setting_as<bool>("lazy")) return;
        const double a = inputs["a"].as<double>();
        const auto &b = inputs.slots("b");
        instance.set_port_length("each", b.size());
        double sum = a;
        for (std::size_t slot = 0; slot < outputs.slots("each"); ++slot) {
            const double one = b[slot].as<double>();
            sum += one;
            outputs.send("each", {a * one, one}, slot);
        }
        outputs.send("sum", instance.get_setting_as<double>("factor") * sum);
    }
};

// Sends the two rows of the array that this rank has.
static void rows() {
    Instance instance({{Operator::O_I, {"rows"}}});
    if (!instance.reuse_instance()) return;
    const std::uint64_t first = 2 * instance.rank();
    instance.map_block("rows", {first, 0}, {2, 6});
    for (int step = 0; step < 3; ++step) {
        std::vector<double> part;
        for (int i = 0; i < 2; ++i)
            for (int j = 0; j < 6; ++j) part.push_back(10.0 * static_cast<double>(first + i) + j + 100 * step);
        instance.send("rows", step, ligament::ArrayRef<const double>(part.data(), {2, 6}));
    }
}

// Receives the part of the array that belongs to this rank.
static void part() {
    Instance instance({{Operator::S, {"part"}}});
    if (!instance.reuse_instance()) return;
    const auto whole = instance.array_shape("part");
    std::cout << "array " << whole.front() << ' ' << whole.back() << '\n';
    const auto rank = instance.rank();
    if (rank == 0) instance.map_range("part", 3, 9);
    if (rank == 1) instance.map_list("part", {23, 0, 7});
    if (rank == 2) instance.map_block("part", {1, 2}, {3, 4});
    for (int step = 0; step < 3; ++step) {
        const Message message = instance.receive("part");
        const auto view = message.array<double>();
        double sum = 0;
        for (std::size_t i = 0; i < view.size(); ++i) sum += static_cast<double>(i + 1) * view.data()[i];
        std::cout << "part " << static_cast<int>(sum) << '\n';
    }
}

// Sends three events in each tick.
static void pulse() {
    Instance instance({{Operator::O_I, {"spikes"}}});
    if (!instance.reuse_instance()) return;
    for (int step = 0; step < 3; ++step) {
        const double now = instance.time();
        const auto first = static_cast<std::int32_t>(10 * step + static_cast<int>(instance.rank()));
        instance.insert_event("spikes", now, first);
        instance.insert_events("spikes", {now + 0.00025, now + 0.0005}, {first + 2, first + 4});
        instance.tick();
    }
}

// Prints the sum of the events that are delivered in each tick. In every second tick, it reads them batch by
// batch.
static void count() {
    Instance instance({{Operator::S, {"input"}}});
    if (!instance.reuse_instance()) return;
    for (int step = 0; step < 3; ++step) {
        int sum = 0;
        double microseconds = 0;
        const auto take = [&](double time, std::int32_t id) {
            sum += id;
            microseconds += 1e6 * time;
        };
        instance.tick();
        if (step == 1) {
            for (auto batch = instance.events("input"); batch.count > 0; batch = instance.events("input")) {
                for (std::size_t i = 0; i < batch.count; ++i) take(batch.times[i], batch.ids[i]);
            }
        }
        instance.for_each_event("input", take);
        std::cout << "tick " << static_cast<int>(1e6 * instance.time() + 0.5) << " ids " << sum << " times "
                  << static_cast<int>(microseconds + 0.5) << '\n';
    }
}

int main(int argc, char **argv) {
    const std::string role = argc > 1 ? argv[1] : "";
    if (role == "mapper") {
        Scale scale;
        ligament::run_mapper(scale);
    }
    if (role == "giver") giver();
    if (role == "rows") rows();
    if (role == "part") part();
    if (role == "pulse") pulse();
    if (role == "count") count();
    if (role == "taker") {
        Instance instance({{Operator::S, {"deal[]"}}, {Operator::O_I, {"back[]"}}});
        Taker taker;
        run_submodel(instance, taker);
    }
    if (role == "lone") ligament::run_light([](Instance &) { return std::make_unique<Taker>(true); });
}
