// Fields that travel up and down a grid of one axis, and a direction that the grid does not have.
#include <ligament/ligament.hpp>

#include <cstdio>

static bool pass(ligament::Instance &instance) {
    ligament::Domain domain(instance);
    const std::uint64_t first = domain.begin_point()[0], last = domain.end_point()[0];
    const std::uint64_t whole = domain.shape()[0];
    std::vector<double> up(last - first + 2, -1.0);
    for (std::uint64_t point = first; point < last; ++point) up[point - first + 1] = static_cast<double>(point);
    std::vector<double> down = up;
    const std::vector<ligament::Field> fields = {domain.add_field("up", up.data(), 1),
                                                 domain.add_field("down", down.data(), 1)};
    domain.set_direction(fields[0], {1});
    domain.set_direction(fields[1], {-1});
    try {
        domain.set_direction(fields[1], {1, 0});
        return false;
    } catch (const ligament::UsageError &) {
    }
    domain.exchange(0, fields);
    return up.front() == static_cast<double>((first + whole - 1) % whole) && up.back() == -1 &&
           down.back() == static_cast<double>(last % whole) && down.front() == -1;
}

int main() {
    ligament::Instance instance;
    while (instance.reuse_instance()) {
        if (pass(instance)) continue;
        instance.error_shutdown("a ghost is not as it should be");
        return 1;
    }
}
