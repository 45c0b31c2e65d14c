// Builds and reads values without a run, and makes an instance where there is no run.
#include "tree.hpp"

int main() {
    Value map = build_tree();
    check_tree(map.view());
    Value copy = map.copy();
    map = Value();
    HOLDS(map.view().is_none());
    check_tree(copy.view());

    throws<ligament::UsageError>("not UTF-8", [] { Value("\xff"); });
    throws<ligament::UsageError>("not a list", [] { Value::map().append(1); });
    throws<ligament::UsageError>("9", [] { ligament::Extents{1, 1, 1, 1, 1, 1, 1, 1, 1}; });
    throws<ligament::UsageError>("2 byte strides were given for 1", [] {
        ArrayRef<const int>(nullptr, {1}).with_strides({4, 4});
    });

    std::vector<std::int32_t> memory(16);
    for (int i = 0; i < 16; ++i) memory[static_cast<std::size_t>(i)] = i;
    const Value backwards(ArrayRef(&memory[15], {2, 2}).with_strides({-32, -8}));
    HOLDS(backwards.view().array<std::int32_t>().to_vector() == std::vector<std::int32_t>{15, 13, 7, 5});
    const Value borrowed = Value::borrowed(ArrayRef(memory.data(), {4, 4}));
    HOLDS(borrowed.view().array<std::int32_t>().data() == memory.data());

    const Value settings = Value::settings(Value::map().set("micro.k", 3).set("v", Value::list(1.5, 2)));
    const Value plain = settings.view().settings();
    HOLDS(plain.view().at("micro.k").as<int>() == 3 && plain.view().at("v").at(1).as<double>() == 2.0);

    const std::vector<double> elements{1, 2, 3};
    const ligament::Span<const double> part = ligament::Span<const double>(elements).subspan(1);
    const Value row(elements), rest(part);
    HOLDS(rest.view().as<std::vector<double>>() == std::vector<double>{2, 3});
    HOLDS(row.view().array<double>().span().size() == 3 && part.size() == 2 && part[1] == 3);
    const std::vector<bool> truths{true, false, true};
    const Value both(truths);
    HOLDS(both.view().as<std::vector<bool>>() == truths && both.view().array<std::uint8_t>()[1] == 0);
    throws<ligament::UnexpectedError>("where an array of int32 with shape [any] was expected", [&] {
        row.view().as<std::vector<std::int32_t>>();
    });
    throws<ligament::UnexpectedError>("with shape [3, any]",
                                      [&] { row.view().array<double>({3, ligament::any}); });

    const ligament::Message message(1.0, 2.0, std::vector<double>{1, 2, 3});
    HOLDS(message.timestamp() == 1.0 && message.next_timestamp() == 2.0 && message.array<double>()[2] == 3.0);
    throws<ligament::UsageError>("no next timestamp", [] { ligament::Message(1.0, nullptr).next_timestamp(); });

    throws<ligament::RegistrationError>("ligament run", [] { ligament::Instance instance; });
    throws<ligament::Error>("LIGAMENT_AGENT", [] {
        ligament::Instance instance(
            {{ligament::Operator::F_INIT, {"a", "b[]"}}, {ligament::Operator::O_F, {"c"}}});
    });
}
