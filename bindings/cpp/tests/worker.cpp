// One of three workers, which answers each task of boss.c or boss.cpp.
#include "check.hpp"

int main() {
    ligament::Instance instance;
    HOLDS(instance.reuse_instance());
    HOLDS(instance.index().size() == 1);
    const ligament::Message task = instance.receive("in");
    const int offset = task.data().as<int>();
    HOLDS(offset == 10 * static_cast<int>(instance.index()[0]));

    // A loan is given back, and another one is sent.
    { auto unused = instance.loan<double>({40, 50}); }
    auto loan = instance.loan<double>({40, 50});
    HOLDS(loan.size() == 2000 && reinterpret_cast<std::uintptr_t>(loan.data()) % 64 == 0);
    for (std::size_t i = 0; i < 40; ++i) {
        for (std::size_t j = 0; j < 50; ++j) loan(i, j) = offset + static_cast<double>(50 * i + j);
    }
    throws<std::out_of_range>("beyond", [&] { loan.at(40, 0); });
    HOLDS(loan.at(39, 49) == offset + 1999);
    instance.send("out", 0.0, std::move(loan));

    std::vector<std::int32_t> columns(8);
    const auto times = instance.receive_into("in", ligament::ArrayRef(columns.data(), {4, 2}));
    HOLDS(times.timestamp == 2.0);
    std::int64_t sum = 0;
    for (const std::int32_t element : columns) sum += element;
    instance.send("out", 0.0, sum);
    instance.send("out", 3.0, std::array<float, 5>{0, 1, 2, 3, 4});
}
