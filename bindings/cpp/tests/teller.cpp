// Sends every kind of value on "out" and checks that the same value comes back on "in".
#include "tree.hpp"

using ligament::Instance, ligament::Message, ligament::Operator, ligament::Times;

int main() {
    Instance instance({{Operator::O_I, {"out"}}, {Operator::S, {"in"}}});
    HOLDS(instance.reuse_instance());
    double time = 0;
    const auto told = [&](const auto &data) {
        time += 1;
        instance.send("out", {time, time + 0.5}, data);
        Message answer = instance.receive("in");
        HOLDS(answer.timestamp() == time && answer.next_timestamp() == time + 0.5);
        return answer;
    };

    const Message nothing = told(nullptr);
    HOLDS(nothing.data().is_none());
    const Message truth = told(true);
    HOLDS(truth.data().as<bool>());
    const Message integer = told(-3);
    HOLDS(integer.data().as<int>() == -3);
    const Message large = told(std::uint64_t{1} << 63);
    HOLDS(large.data().as<std::uint64_t>() == std::uint64_t{1} << 63);
    const Message number = told(1e-300);
    HOLDS(number.data().as<double>() == 1e-300);
    const Message complex = told(std::complex<double>(0, 1));
    HOLDS(complex.data().as<std::complex<double>>().imag() == 1);
    const Message text = told("some text"s);
    HOLDS(text.data().as<std::string_view>() == "some text");
    const Message bytes = told(ligament::Bytes{"\0\1\2", 3});
    HOLDS(bytes.data().as<ligament::Bytes>().size == 3);
    const Message tree = told(build_tree());
    check_tree(tree.data());
    // A received value can be sent on unchanged.
    const Message again = told(tree.data());
    check_tree(again.data());
    const Message grid = told(tree.data().at("grid").array<double>());
    HOLDS(grid.array<double>().at(2, 1) == 5 && grid.array<double>().shape() == ligament::Extents{3, 2});

    const Message truths = told(std::vector<bool>{true, false, true});
    HOLDS(truths.as<std::vector<bool>>() == std::vector<bool>{true, false, true});
    const Message span = told(ligament::Span<const double>(grid.array<double>().span()));
    HOLDS(span.as<std::vector<double>>().size() == 6);

    std::vector<double> sent(65536);
    for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<double>(i);
    std::optional<Instance> moved(std::move(instance));
    moved->send("out", 100.0, sent);
    sent.assign(sent.size(), 0);
    const Message array = moved->receive("in");
    HOLDS(!array.has_next_timestamp());
    const auto view = array.array<double>();
    moved.reset();
    // A view can still be read after the instance has ended.
    HOLDS(view.size() == 65536 && view[65535] == 65535 && *(view.end() - 1) == 65535);
}
