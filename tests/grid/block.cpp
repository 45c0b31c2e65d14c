// A block of the wave of wave_model.py in C++, with the settings of block.py. It is for grids of two axes.
#include <cstdio>
#include <ligament/ligament.hpp>

using ligament::Domain, ligament::Field, ligament::Instance;

// The arrays of a block and its ghosts.
struct Arrays {
    std::vector<double> u;
    std::vector<float> v;
};

struct Block {
    std::size_t rows, columns, ghosts;
    bool column_major;

    std::size_t place(std::size_t i, std::size_t j) const {
        return column_major ? i + (rows + 2 * ghosts) * j : i * (columns + 2 * ghosts) + j;
    }
    template <class Function>
    void each_own_point(Function function) const {
        for (std::size_t i = 0; i < rows; ++i) {
            for (std::size_t j = 0; j < columns; ++j) function(i, j, place(i + ghosts, j + ghosts));
        }
    }
    // A step of all points that are at least `margin` points away from the end of the arrays.
    void step(const Arrays &from, Arrays &to, std::size_t margin) const {
        for (std::size_t i = margin; i < rows + 2 * ghosts - margin; ++i) {
            for (std::size_t j = margin; j < columns + 2 * ghosts - margin; ++j) {
                double around = 0;
                for (int x = -1; x <= 1; ++x) {
                    for (int y = -1; y <= 1; ++y) {
                        const std::size_t at = place(i + x, j + y);
                        const float w = from.v[at] * 0.01f;
                        around += from.u[at] * (1 + 0.1 * (x + y)) + w;
                    }
                }
                const std::size_t at = place(i, j);
                const float w = from.v[at] * 0.9f;
                to.u[at] = from.u[at] * 0.5 + around / 9.0 * 0.49;
                to.v[at] = static_cast<float>(w + from.u[at] * 0.05);
            }
        }
    }
};

static void pass(Instance &instance) {
    const auto ghosts = instance.get_setting_as<std::size_t>("ghosts");
    const auto steps = instance.get_setting_as<int>("steps");
    const bool split = instance.get_setting_as<bool>("split");
    const bool column_major = instance.get_setting_as<std::string>("order") == "F";
    Domain domain(instance);
    const auto begin = domain.begin_point(), end = domain.end_point(), whole = domain.shape();
    const Block block{end[0] - begin[0], end[1] - begin[1], ghosts, column_major};
    const std::size_t count = domain.elements(ghosts);
    Arrays arrays{std::vector<double>(count), std::vector<float>(count)};
    const auto order = column_major ? ligament::Order::column_major : ligament::Order::row_major;
    const Field u = domain.add_field("u", arrays.u.data(), ghosts, "m", order);
    const Field v = domain.add_field("v", arrays.v.data(), ghosts, "", order);
    block.each_own_point([&](std::size_t i, std::size_t j, std::size_t at) {
        const std::uint64_t number = (begin[0] + i) * whole[1] + begin[1] + j;
        arrays.u[at] = static_cast<double>(number * 2654435761u & 0xFFFFFFFFu) / 4294967296.0 - 0.5;
        arrays.v[at] = static_cast<float>(static_cast<double>((number * 40503 + 7) & 0xFFFF) / 65536.0 - 0.5);
    });
    for (int number = 0; number < steps; number += static_cast<int>(ghosts)) {
        if (split) {
            domain.begin(number, {u, v});
            domain.end({u, v});
        } else {
            domain.exchange(number, {u, v});
        }
        domain.publish(u);
        Arrays last = arrays, next = arrays;
        for (std::size_t depth = 1; depth <= ghosts; ++depth) {
            block.step(last, next, depth);
            std::swap(last, next);
        }
        Arrays clean{std::vector<double>(count), std::vector<float>(count)};
        block.each_own_point([&](std::size_t, std::size_t, std::size_t at) {
            clean.u[at] = last.u[at], clean.v[at] = last.v[at];
        });
        arrays = std::move(clean);
        domain.set_data(u, arrays.u.data());
        domain.set_data(v, arrays.v.data());
    }
    std::vector<double> own_u, wide_v;
    std::vector<float> own_v;
    block.each_own_point([&](std::size_t, std::size_t, std::size_t at) {
        own_u.push_back(arrays.u[at]), own_v.push_back(arrays.v[at]), wide_v.push_back(arrays.v[at]);
    });
    const double totals[] = {domain.sum(own_u), domain.min(own_u), domain.max(wide_v)};
    const std::string path =
        instance.get_setting_as<std::string>("out") + "/" + std::to_string(domain.block()) + ".bin";
    std::FILE *file = std::fopen(path.c_str(), "wb");
    const std::int64_t axes = static_cast<std::int64_t>(domain.blocks().size());
    std::fwrite(&axes, sizeof axes, 1, file);
    std::fwrite(begin.data(), sizeof begin[0], 2, file);
    std::fwrite(end.data(), sizeof end[0], 2, file);
    std::fwrite(totals, sizeof totals[0], 3, file);
    std::fwrite(own_u.data(), sizeof own_u[0], own_u.size(), file);
    std::fwrite(own_v.data(), sizeof own_v[0], own_v.size(), file);
    std::fclose(file);
}

int main() {
    Instance instance;
    while (instance.reuse_instance()) pass(instance);
}
