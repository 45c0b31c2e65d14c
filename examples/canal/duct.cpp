// A section of a duct. By itself, it flows until t_max, and writes its state to a file. If `flows` and
// `profile` are connected, each pass of t_max gets the inflow and the outflow at the ends of the duct in a
// message.
#include <cmath>
#include <exception>
#include <fstream>
#include <iostream>
#include <optional>

#include "section.hpp"

namespace {

using ligament::Instance;

// The settings of a section.
struct Settings {
    double t_max, dt, noise;
    long show;
    Exchange exchange;
    lattice::Fluid fluid;

    explicit Settings(const Instance &instance)
        : t_max(instance.get_setting_as<double>("t_max")),
          dt(instance.get_setting_as<double>("dt")),
          noise(instance.get_setting_as<double>("noise", 0.0)),
          show(instance.get_setting_as<long>("show", 0)),
          exchange{instance.get_setting_as<std::size_t>("ghosts", 1),
                   instance.get_setting_as<bool>("overlap", true)},
          fluid(instance.get_setting_as<double>("viscosity"),
                instance.get_setting_as<double>("acceleration", 0.0)) {}

    // Returns the number of steps of a pass.
    long steps() const {
        const double ratio = t_max / dt;
        const long steps = std::lround(ratio);
        if (!(std::abs(ratio - static_cast<double>(steps)) < 1e-6) || steps < 1) {
            throw std::runtime_error("t_max must be a multiple of dt");
        }
        return steps;
    }
};

// Throws if the numbers are beyond those of such a fluid.
void check(const lattice::State &state) {
    const auto [u, v, w] = state.velocity;
    if (!(u * u + v * v + w * w < 1.0 / 3) || !(state.density > 0)) {
        throw std::runtime_error("the fluid is faster than its sound; use a smaller acceleration or flow, or a "
                                 "larger viscosity");
    }
}

// Returns the mean density of each cross-section.
std::vector<double> profile(Section &section, const lattice::Fluid &fluid) {
    std::vector<double> densities(static_cast<std::size_t>(section.points(0)), 0.0);
    section.each_point([&](const lattice::Point &p) {
        const lattice::State state = section.block().state(fluid, p);
        check(state);
        densities[static_cast<std::size_t>(p[0])] += state.density;
    });
    for (double &density : densities) density /= static_cast<double>(section.points(1) * section.points(2));
    return densities;
}

// Writes density and velocity of all points: an array of doubles of the shape [x, y, z, 4], in NumPy's format.
void save(Section &section, const lattice::Fluid &fluid, const std::string &file) {
    std::string shape, place;
    for (std::size_t axis = 0; axis < 3; ++axis) shape += std::to_string(section.points(axis)) + ", ";
    std::string header = "{'descr': '<f8', 'fortran_order': False, 'shape': (" + shape + "4), }";
    header.resize((header.size() + 11 + 63) / 64 * 64 - 11, ' ');
    header += '\n';
    std::ofstream out(file, std::ios::binary);
    const auto length = static_cast<unsigned>(header.size());
    out << "\x93NUMPY\x01" << '\0' << static_cast<char>(length & 0xFF) << static_cast<char>(length >> 8);
    out << header;
    section.each_point([&](const lattice::Point &p) {
        const lattice::State state = section.block().state(fluid, p);
        check(state);
        const double all[] = {state.density, state.velocity[0], state.velocity[1], state.velocity[2]};
        out.write(reinterpret_cast<const char *>(all), sizeof all);
    });
    out.close();
    if (!out) throw std::runtime_error("cannot write " + file);
}

void run(Instance &instance) {
    std::optional<Section> section;
    std::optional<Speed> speed;
    long done = 0;
    const Settings settings(instance);
    const long steps = settings.steps();
    const bool has_ends = instance.is_connected("flows");
    // A pass continues from the end of the pass before.
    while (instance.reuse_instance()) {
        double begin = 0;
        std::vector<double> flows;
        if (has_ends) {
            const ligament::Message message = instance.receive("flows");
            const auto numbers = message.array<double>();
            flows.assign(numbers.begin(), numbers.end());
            if (flows.size() != 2) throw std::runtime_error("a message on `flows` has two numbers: in and out");
            begin = message.timestamp();
        }
        if (!section) {
            section.emplace(instance, settings.exchange, has_ends);
            const auto whole = section->domain().shape();
            if (has_ends && (static_cast<std::uint64_t>(section->points(1)) != whole[1] ||
                             static_cast<std::uint64_t>(section->points(2)) != whole[2])) {
                throw std::runtime_error("a duct with `flows` is cut along x only; use blocks such as "
                                         "[2, 1, 1]");
            }
            section->start(begin, settings.noise);
            if (settings.show > 0) speed.emplace(*section);
        }
        if (has_ends) section->set_flows(flows[0], flows[1]);
        for (long step = 1; step <= steps; ++step) {
            const double time = begin + static_cast<double>(step) * settings.dt;
            section->step(settings.fluid, time);
            if (speed && ++done % settings.show == 0) speed->show(settings.fluid, time);
        }
        if (has_ends) instance.send("profile", begin + settings.t_max, profile(*section, settings.fluid));
    }
    if (section && !has_ends) {
        save(*section, settings.fluid, "flow-" + std::to_string(section->domain().block()) + ".npy");
    }
}

}  // namespace

int main() try {
    using ligament::Operator;
    Instance instance({{Operator::F_INIT, {"flows"}}, {Operator::O_F, {"profile"}}});
    run(instance);
} catch (const std::exception &error) {
    // The instance has reported the failure to the run already.
    std::cerr << "duct: " << error.what() << '\n';
    return 1;
}
