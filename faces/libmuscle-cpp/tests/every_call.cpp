// The components of faces/libmuscle-python/tests/programs/every_call.py in C++: `every_call ROLE FOLDER`. Each
// writes what it receives and is told as a record into the folder.
#include <fstream>
#include <libmuscle/libmuscle.hpp>
#include <limits>
#include <ymmsl/ymmsl.hpp>

#include "repr.hpp"

using libmuscle::Data;
using libmuscle::Instance;
using libmuscle::InstanceFlags;
using libmuscle::Message;
using libmuscle::PortsDescription;
using libmuscle::StorageOrder;
using ymmsl::Operator;
using ymmsl::Settings;
using ymmsl::SettingValue;

static std::ofstream record;

static std::vector<Data> values() {
    double const reals[] = {0, 1, 2, 3, 4, 5};
    float const columns[] = {0, 3, 1, 4, 2, 5};
    std::int32_t const small[] = {0, 1, 2, 3};
    std::int64_t const whole[] = {0, 1, 2};
    bool const truths[] = {true, false};
    double const zeros[] = {0, 0, 0, 0};
    Settings settings;
    settings["a"] = 1;
    settings["b"] = {1.0, 2.0};
    Data bytes = Data::byte_array(5);
    std::copy_n("bytes", 5, bytes.as_byte_array());
    Data inner = Data::dict();
    inner["n"] = Data();
    std::vector<Data> all;
    for (Data const &one : {
             Data(), Data(true), Data(7), Data(-(std::int64_t{1} << 62)), Data(0.1),
             Data(std::numeric_limits<double>::infinity()), Data("a text with ü"), bytes,
             Data::list(1, Data::list(2.5, "x")), Data::dict("k", inner), Data::grid(reals, {2, 3}),
             Data::grid(small, {4}, {"x"}), Data::grid(truths, {2}),
             Data::grid(columns, {2, 3}, {}, StorageOrder::first_adjacent), Data(settings),
             Data::dict("grid", Data::grid(zeros, {2, 2}, {"x", "y"}), "list",
                        Data::list(Data::grid(whole, {3}))),
             Data::list(1, 2), Data::list(), Data::dict(), Data::grid(zeros, {0, 3})}) {
        all.push_back(one);
    }
    return all;
}

static void note(std::string const &what, std::string const &port, int slot, Message const &message) {
    record << what << " " << port << " " << (slot < 0 ? "None" : std::to_string(slot)) << " "
           << repr(message.timestamp()) << " "
           << (message.has_next_timestamp() ? repr(message.next_timestamp()) : "None") << " "
           << repr(message.data()) << (message.has_settings() ? " " + repr(message.settings()) : "") << "\n";
}

static void describe(Instance const &instance) {
    auto const ports = instance.list_ports();
    for (Operator const op : {Operator::F_INIT, Operator::O_F, Operator::O_I, Operator::S}) {
        if (ports.count(op) == 0) continue;
        auto names = ports.at(op);
        std::sort(names.begin(), names.end());
        for (auto const &name : names) {
            bool const vector = instance.is_vector_port(name), resizable = instance.is_resizable(name);
            std::string length = "None";
            if (vector && instance.is_connected(name) && !resizable) {
                length = std::to_string(instance.get_port_length(name));
            }
            record << "port " << ymmsl::operator_name(op) << " " << name << " "
                   << repr(instance.is_connected(name)) << " " << repr(vector) << " " << length << " "
                   << repr(resizable) << "\n";
        }
    }
}

template <class T>
static void ask_one(Instance const &instance, std::string const &name) {
    record << "setting " << name << " " << repr(instance.get_setting_as<T>(name)) << " "
           << repr(instance.get_setting(name)) << "\n";
}

static void ask(Instance const &instance) {
    ask_one<std::string>(instance, "text");
    ask_one<std::int64_t>(instance, "whole");
    ask_one<double>(instance, "real");
    ask_one<bool>(instance, "on_or_off");
    ask_one<std::vector<std::int64_t>>(instance, "wholes");
    ask_one<std::vector<double>>(instance, "reals");
    ask_one<std::vector<std::vector<double>>>(instance, "table");
    record << "default " << instance.get_setting_as<int>("unset", 4) << "\n";
    auto names = instance.list_settings();
    std::sort(names.begin(), names.end());
    record << "names " << repr(names) << "\n";
}

static void driver(int argc, char *argv[]) {
    Instance instance(argc, argv, {{Operator::O_I, {"settings_out[]", "work_out[]"}},
                                   {Operator::S, {"work_in[]"}}});
    describe(instance);
    while (instance.reuse_instance()) {
        ask(instance);
        auto const all = values();
        for (std::size_t number = 0; number < all.size(); ++number) {
            double const time = static_cast<double>(number);
            for (int slot = 0; slot < instance.get_port_length("work_out"); ++slot) {
                Settings overlay;
                overlay["amount"] = static_cast<int>(number);
                overlay["scale"] = 10.0 * slot;
                Message settings(time, overlay), work(time, all[number], overlay);
                if (number + 1 < all.size()) {
                    settings.set_next_timestamp(time + 1);
                    work.set_next_timestamp(time + 1);
                }
                instance.send("settings_out", settings, slot);
                instance.send("work_out", work, slot);
            }
            for (int slot = 0; slot < instance.get_port_length("work_in"); ++slot) {
                note("with settings", "work_in", slot, instance.receive_with_settings("work_in", slot));
            }
        }
    }
}

static void worker(int argc, char *argv[]) {
    Instance instance(argc, argv);  // with the ports of the model
    describe(instance);
    while (instance.reuse_instance()) {
        record << "overlay " << instance.get_setting_as<std::int64_t>("amount") << " "
               << repr(instance.get_setting_as<double>("scale")) << "\n";
        Message const work = instance.receive("work_in");
        note("receive", "work_in", -1, work);
        Message state(0.0, Data());
        for (int step = 0; step < instance.get_setting_as<int>("steps"); ++step) {
            instance.send("state_out", Message(work.timestamp() + step, work.data()));
            state = instance.receive("state_in");
            note("receive", "state_in", -1, state);
        }
        instance.send("work_out", Message(state.timestamp(), state.data()));
    }
}

static void helper(int argc, char *argv[]) {
    InstanceFlags const flags = InstanceFlags::DONT_APPLY_OVERLAY | InstanceFlags::KEEPS_NO_STATE_FOR_NEXT_USE;
    Instance instance(argc, argv, {{Operator::F_INIT, {"state_in"}}, {Operator::O_F, {"state_out"}}}, flags);
    while (instance.reuse_instance()) {
        Message const state = instance.receive_with_settings("state_in");
        note("with settings", "state_in", -1, state);
        record << "not applied " << repr(instance.get_setting("amount", SettingValue("none"))) << "\n";
        instance.send("state_out", Message(state.timestamp(), state.data(), state.settings()));
    }
}

static void splitter(int argc, char *argv[]) {
    Instance instance(argc, argv, {{Operator::O_F, {"parts[]"}}});
    Instance const copy = instance;
    while (instance.reuse_instance()) {
        instance.set_port_length("parts", 3);
        for (int slot = 0; slot < copy.get_port_length("parts"); ++slot) {
            instance.send("parts", Message(0.0, slot), slot);
        }
    }
}

static void collector(int argc, char *argv[]) {
    PortsDescription ports;
    ports[Operator::F_INIT] = {"parts[]", "unconnected"};
    Instance instance(argc, argv, ports);
    Message const otherwise(5.0, Data("default"));
    while (instance.reuse_instance()) {
        record << "length " << instance.get_port_length("parts") << " " << repr(otherwise.data()) << "\n";
        for (int slot = 0; slot < instance.get_port_length("parts"); ++slot) {
            note("receive", "parts", slot, slot == 0 ? instance.receive("parts", slot, otherwise)
                                                     : instance.receive("parts", slot));
        }
        Message const got = instance.receive("unconnected", otherwise);
        Message const alike = instance.receive_with_settings("unconnected", otherwise);
        bool const same = got.data().as<std::string>() == "default" && alike.timestamp() == 5.0;
        record << "the default " << repr(same) << "\n";
    }
}

int main(int argc, char *argv[]) {
    std::string const role = argv[1];
    record.open(std::string(argv[2]) + "/" + std::getenv("LIGAMENT_INSTANCE") + ".record");
    if (role == "driver") driver(argc, argv);
    else if (role == "worker") worker(argc, argv);
    else if (role == "helper") helper(argc, argv);
    else if (role == "splitter") splitter(argc, argv);
    else collector(argc, argv);
}
