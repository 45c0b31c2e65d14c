// Gives tasks to three workers (worker.c, worker.cpp), and meanwhile makes all kinds of calls on ports.
#include "check.hpp"

using namespace std::chrono_literals;
using ligament::ArrayRef, ligament::Instance, ligament::Message, ligament::Operator, ligament::Ports;

static void check_ports(Instance &instance) {
    HOLDS(instance.list_ports() ==
          Ports{{Operator::O_I, {"tasks", "spare"}}, {Operator::S, {"results", "nowhere"}}});
    HOLDS(instance.is_connected("tasks") && !instance.is_connected("spare"));
    HOLDS(instance.is_vector_port("results") && instance.get_port_length("results") == 3);
    HOLDS(instance.name() == "boss" && instance.index().empty() && !instance.run_name().empty());
    throws<ligament::UsageError>("not a vector port", [&] { instance.get_port_length("spare"); });
    throws<ligament::UsageError>("no port \"taks\"", [&] { instance.send("taks", 0.0, nullptr); });
    throws<ligament::UsageError>("receives", [&] { instance.send("results", 0.0, 1, 0); });
    throws<ligament::UsageError>("which slot", [&] { instance.send("tasks", 0.0, 1); });
    throws<ligament::UsageError>("no slot 3", [&] { instance.send("tasks", 0.0, 1, 3); });
    throws<ligament::UsageError>("no slot -1", [&] { instance.send("tasks", 0.0, 1, -1); });
    throws<ligament::UsageError>("sends", [&] { instance.receive("tasks"); });
    throws<ligament::UsageError>("nothing is connected", [&] { instance.receive("nowhere"); });
    const Message otherwise = instance.receive("nowhere", Message(0.0, 20.5));
    HOLDS(otherwise.as<double>() == 20.5);
    throws<ligament::UsageError>("sends", [&] { instance.receive("spare", Message(0.0, 1)); });
    instance.send("spare", 0.0, {1.0, 2.0});
}

static void check_settings(Instance &instance) {
    HOLDS(instance.get_setting_as<bool>("flag"));
    HOLDS(instance.get_setting_as<int>("count") == 3 && instance.get_setting_as<double>("count") == 3.0);
    HOLDS(instance.get_setting_as<double>("ratio") == 0.25);
    HOLDS(instance.get_setting_as<std::string>("title") == "a title");
    HOLDS(instance.get_setting_as<std::vector<std::int64_t>>("integers") == std::vector<std::int64_t>{1, -2});
    HOLDS(instance.get_setting_as<std::vector<double>>("integers") == std::vector<double>{1, -2});
    HOLDS(instance.get_setting_as<std::vector<double>>("numbers") == std::vector<double>{0.5, 1.5});
    const std::vector<std::vector<double>> grid = {{1, 2}, {3, 4}};
    HOLDS(instance.get_setting_as<std::vector<std::vector<double>>>("grid") == grid);
    HOLDS(instance.get_setting_type("grid") == ligament::SettingType::grid);
    HOLDS(instance.list_settings().size() == 7);
    throws<ligament::SettingTypeError>("title", [&] { instance.get_setting_as<int>("title"); });
    throws<ligament::SettingUnsetError>("absent", [&] { instance.get_setting_as<int>("absent"); });
    throws<ligament::SettingError>("absent", [&] { instance.get_setting_as<int>("absent"); });
    HOLDS(instance.get_setting_as<int>("absent", 5) == 5 && instance.get_setting_as<int>("count", 5) == 3);
    HOLDS(instance.get_setting_as<std::string>("absent", "text") == "text");
    throws<ligament::SettingTypeError>("title", [&] { instance.get_setting_as<int>("title", 5); });
}

int main() {
    Instance instance({{Operator::O_I, {"tasks[]", "spare"}}, {Operator::S, {"results[]", "nowhere"}}},
                      ligament::Flags::none, {2, 3});
    HOLDS(instance.reuse_instance());
    check_ports(instance);
    check_settings(instance);
    instance.log(ligament::LogLevel::warning, "the boss begins");

    // The workers have no task yet, so no message comes.
    throws<ligament::TimedOutError>("results[0]", [&] { instance.receive_within("results", 20ms, 0); });
    throws<ligament::TimedOutError>("",
                                    [&] { instance.wait_any_within({{"results", 0}, {"results", 1}}, 20ms); });
    throws<ligament::TimedOutError>(
        "", [&] { instance.receive_any_within({{"results", 0}, {"results", 1}}, 20ms); });
    HOLDS(!instance.poll("results", 2));

    // Each worker gets one task. The answers are loans, and come in any order.
    for (int i = 0; i < 3; ++i) instance.send("tasks", 1.0, 10 * i, i);
    std::vector<ligament::PortSlot> left = {{"results", 0}, {"results", 1}, {"results", 2}};
    while (!left.empty()) {
        const auto [which, message] = instance.receive_any(left);
        const auto from = left[which].slot;
        left.erase(left.begin() + static_cast<std::ptrdiff_t>(which));
        const auto view = message.array<double>();
        HOLDS(message.array<double>({40, ligament::any}).span()[7] == view[7]);
        const std::string words = "port \"results[" + std::to_string(from.number()) + "]\" from worker";
        throws<ligament::UnexpectedError>(words.c_str(),
                                          [&, &come = message] { come.array<double>({50, 40}); });
        throws<ligament::UnexpectedError>("an array of int32 was expected",
                                          [&, &come = message] { come.array<int>(); });
        throws<ligament::UnexpectedError>(words.c_str(),
                                          [&, &come = message] { come.as<std::vector<double>>(); });
        throws<ligament::UnexpectedError>(words.c_str(), [&, &come = message] { come.as<double>(); });
        HOLDS(view.shape() == ligament::Extents{40, 50});
        double wanted = 10.0 * from.number();
        for (const double element : view) HOLDS(element == wanted++);
    }

    // Sends every second column of a table. The workers receive it into arrays of their own and send back the
    // sum.
    std::array<std::int32_t, 16> table;
    for (int i = 0; i < 16; ++i) table[static_cast<std::size_t>(i)] = i;
    for (int i = 0; i < 3; ++i) {
        instance.send("tasks", 2.0, ArrayRef(table.data(), {4, 2}).with_strides({16, 8}), i);
    }
    HOLDS(instance.receive_as<int>("results", 0) == 0 + 2 + 4 + 6 + 8 + 10 + 12 + 14);
    for (int i = 1; i < 3; ++i) {
        const Message message = instance.receive("results", i);
        HOLDS(message.data().as<int>() == 0 + 2 + 4 + 6 + 8 + 10 + 12 + 14);
        throws<ligament::UnexpectedError>("an integer", [&] { message.array<double>(); });
    }

    // Sends arrays of another shape and of another type than the workers expect. Then the conduits end.
    std::vector<float> four(4, -1), five(5, -1);
    std::vector<double> doubles(5, -1);
    throws<ligament::UnexpectedError>("[5]", [&] { instance.receive_into("results", four, 0); });
    throws<ligament::UnexpectedError>("float64", [&] { instance.receive_into("results", doubles, 1); });
    HOLDS(four[0] == -1 && doubles[0] == -1);
    const auto times = instance.receive_into("results", ligament::Span<float>(five), 2);
    HOLDS(times.timestamp == 3.0 && !times.next_timestamp && five == std::vector<float>{0, 1, 2, 3, 4});
    throws<ligament::ClosedError>("results[1]", [&] { instance.receive("results", 1); });
    HOLDS(instance.poll("results", 1));
    throws<ligament::ClosedError>(
        "have ended", [&] { instance.receive_any({{"results", 0}, {"results", 1}, {"results", 2}}); });

    HOLDS(!instance.reuse_instance());
    throws<ligament::UsageError>("is over", [&] { instance.send("spare", 0.0, 1); });
    instance.finish();
}
