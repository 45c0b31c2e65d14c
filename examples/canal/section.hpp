// A section of the duct: the block of the lattice that an instance or rank has, and the exchange of its ghosts.
#pragma once
#include <ligament/ligament.hpp>

#include <algorithm>
#include <cmath>
#include <string>

#include "lattice.hpp"

// The exchange of a section's ghosts.
struct Exchange {
    // The width of the ghosts, which is also the number of steps between two exchanges.
    std::size_t ghosts;
    // If true, the points that neighbours need are computed first, and the others during the exchange.
    bool overlap;
};

class Section {
public:
    // If `closed`, the duct has ends along x; otherwise it is periodic there, as the model must say.
    Section(ligament::Instance &instance, const Exchange &exchange, bool closed)
        : domain_(instance),
          exchange_(exchange),
          begin_(domain_.begin_point()),
          shape_(domain_.shape()),
          block_(points(domain_), exchange.ghosts, ends(domain_, closed)) {
        if (exchange_.ghosts < 1) throw std::runtime_error("ghosts must be 1 or more");
        // With ghosts of one point, the exchange sends a population only in its direction. Wider ghosts take
        // part in steps, and need all populations.
        const bool all = exchange_.ghosts > 1;
        for (int i = all ? 0 : 1; i < lattice::populations; ++i) {
            populations_.push_back(i);
            fields_.push_back(domain_.add_field("f" + std::to_string(i), block_.now(i), exchange_.ghosts));
            const auto *c = lattice::velocity[i];
            if (!all) domain_.set_direction(fields_.back(), {c[0], c[1], c[2]});
        }
    }

    ligament::Domain &domain() { return domain_; }
    lattice::Block &block() { return block_; }
    // Calls a function for each point.
    template <class Function>
    void each_point(Function function) const {
        for (std::ptrdiff_t x = 0; x < points(0); ++x) {
            for (std::ptrdiff_t y = 0; y < points(1); ++y) {
                for (std::ptrdiff_t z = 0; z < points(2); ++z) function(lattice::Point{x, y, z});
            }
        }
    }
    // The number of points of the section along an axis.
    std::ptrdiff_t points(std::size_t axis) const { return block_.own().end[axis]; }

    // Starts at rest. The density of a point is 1, plus or minus up to half of `noise`.
    void start(double time, double noise) {
        each_point([&](const lattice::Point &p) {
            std::uint64_t number = 0;
            for (std::size_t axis = 0; axis < 3; ++axis) {
                number = number * shape_[axis] + begin_[axis] + static_cast<std::uint64_t>(p[axis]);
            }
            block_.start(p, 1 + noise * (lattice::random(number) - 0.5));
        });
        // The exchange fills a ghost beyond an edge of the grid only if the grid goes on there.
        for (std::size_t axis = 0; axis < 3; ++axis) {
            if (begin_[axis] == 0) *ghost_before(axis) = std::nan("");
        }
        domain_.exchange(time, fields_);
        for (std::size_t axis = 0; axis < 3; ++axis) {
            if (begin_[axis] == 0) check_edge(axis, !std::isnan(*ghost_before(axis)));
        }
        block_.reflect(block_.own());
        renew_ghosts();
    }

    // Sets the inflow at the lower end of the duct and the outflow at its upper end, from now on: mass per
    // step.
    void set_flows(double in, double out) {
        const double points_of_end = static_cast<double>(shape_[1] * shape_[2]);
        block_.set_flows(in / points_of_end, out / points_of_end);
        lattice::Box end = block_.wider(margin());
        end.end[0] = 1;
        if (begin_[0] == 0) block_.reflect(end);
        end = block_.wider(margin());
        end.begin[0] = points(0) - 1;
        if (begin_[0] + static_cast<std::uint64_t>(points(0)) == shape_[0]) block_.reflect(end);
    }

    // Makes a step, to a time.
    void step(const lattice::Fluid &fluid, double time) {
        if (valid_ > 1) {
            --valid_;
            block_.step(fluid, block_.wider(valid_));
            return block_.swap();
        }
        lattice::Box inner = block_.own();
        if (exchange_.overlap) {
            for (const lattice::Box &layer : layers(inner)) block_.step(fluid, layer);
        } else {
            block_.step(fluid, inner);
        }
        for (std::size_t n = 0; n < fields_.size(); ++n) {
            domain_.set_data(fields_[n], block_.next(populations_[n]));
        }
        if (exchange_.overlap) {
            domain_.begin(time, fields_);
            block_.step(fluid, inner);
            domain_.end(fields_);
        } else {
            domain_.exchange(time, fields_);
        }
        block_.swap();
        renew_ghosts();
    }

private:
    ligament::Domain domain_;
    Exchange exchange_;
    std::vector<std::uint64_t> begin_, shape_;
    lattice::Block block_;
    // The populations that are exchanged, and their fields.
    std::vector<int> populations_;
    std::vector<ligament::Field> fields_;
    // Number of layers of ghosts that are valid.
    std::ptrdiff_t valid_ = 0;

    // Returns the ghost before the first point along an axis, from which the population comes.
    double *ghost_before(std::size_t axis) {
        const auto *c = lattice::velocity[1 + 2 * axis];
        return block_.now(static_cast<int>(1 + 2 * axis)) + block_.place(-c[0], -c[1], -c[2]);
    }
    // Throws if the grid goes on at an end of the duct, or ends where the duct goes on.
    void check_edge(std::size_t axis, bool goes_on) const {
        const bool is_end = block_.wider(1).begin[axis] == 0;
        if (is_end != goes_on) return;
        const std::string name(1, "xyz"[axis]);
        if (is_end) {
            throw std::runtime_error("the duct ends along " + name + ", and its grid goes on there; leave " +
                                     name + " out of `periodic` and `mirrored`");
        }
        throw std::runtime_error("the duct goes on along " + name + ", and its grid ends there; make it " +
                                 "periodic along " + name + ", or join `flows`");
    }
    std::ptrdiff_t margin() const { return static_cast<std::ptrdiff_t>(exchange_.ghosts) - 1; }

    static std::array<std::size_t, 3> points(const ligament::Domain &domain) {
        const auto begin = domain.begin_point(), end = domain.end_point();
        if (begin.size() != 3) {
            throw std::runtime_error("a duct has three axes; give its grid three numbers of points");
        }
        return {end[0] - begin[0], end[1] - begin[1], end[2] - begin[2]};
    }
    static lattice::Ends ends(const ligament::Domain &domain, bool closed) {
        const auto begin = domain.begin_point(), end = domain.end_point(), shape = domain.shape();
        lattice::Ends ends{};
        for (std::size_t axis = 0; axis < 3; ++axis) {
            const bool is_end = axis > 0 || closed;
            ends[axis] = {is_end && begin[axis] == 0, is_end && end[axis] == shape[axis]};
        }
        return ends;
    }

    // After an exchange, ghosts that take part in steps need the reflections of their walls.
    void renew_ghosts() {
        valid_ = static_cast<std::ptrdiff_t>(exchange_.ghosts);
        if (margin() > 0) block_.reflect(block_.wider(margin()));
    }

    // Removes the layers that neighbours need from a box.
    std::vector<lattice::Box> layers(lattice::Box &inner) const {
        std::vector<lattice::Box> found;
        const lattice::Box wider = block_.wider(1), own = block_.own();
        const auto depth = static_cast<std::ptrdiff_t>(exchange_.ghosts);
        for (std::size_t axis = 0; axis < 3; ++axis) {
            if (wider.begin[axis] < own.begin[axis]) {
                lattice::Box layer = inner;
                layer.end[axis] = inner.begin[axis] = std::min(inner.begin[axis] + depth, inner.end[axis]);
                found.push_back(layer);
            }
            if (wider.end[axis] > own.end[axis]) {
                lattice::Box layer = inner;
                layer.begin[axis] = inner.end[axis] = std::max(inner.end[axis] - depth, inner.begin[axis]);
                found.push_back(layer);
            }
        }
        return found;
    }
};

// The speed of the water as a field for viewers, in points a step.
class Speed {
public:
    explicit Speed(Section &section)
        : section_(section),
          values_(section.domain().elements(1)),
          field_(section.domain().add_field("speed", values_.data(), 1)) {}

    // Publishes the speed at a time. All sections do so at the same times.
    void show(const lattice::Fluid &fluid, double time) {
        const std::ptrdiff_t row = section_.points(2) + 2, plane = row * (section_.points(1) + 2);
        section_.each_point([&](const lattice::Point &p) {
            const auto [u, v, w] = section_.block().state(fluid, p).velocity;
            values_[static_cast<std::size_t>((p[0] + 1) * plane + (p[1] + 1) * row + p[2] + 1)] =
                std::sqrt(u * u + v * v + w * w);
        });
        section_.domain().exchange(time, {field_});
        section_.domain().publish(field_);
    }

private:
    Section &section_;
    std::vector<double> values_;
    ligament::Field field_;
};
