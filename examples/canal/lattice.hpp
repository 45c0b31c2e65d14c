// A lattice Boltzmann fluid on a block of points: 19 populations at each point (D3Q19), collisions with two
// relaxation times, and walls half a point beyond the outermost points. There is no exchange between blocks
// here: ghosts are filled by the program that owns the block. All numbers are in points and steps.
//
// Ginzburg, Verhaeghe, d'Humieres (2008), Commun. Comput. Phys. 3, 427-478: two relaxation times.
// Guo, Zheng, Shi (2002), Phys. Rev. E 65, 046308: the force. Ladd (1994), J. Fluid Mech. 271, 285-309: flow
// through a boundary.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

namespace lattice {

constexpr int populations = 19;
// Opposite velocities stand in pairs: 1 and 2, 3 and 4, and so on.
constexpr int velocity[populations][3] = {
    {0, 0, 0},  {1, 0, 0},   {-1, 0, 0}, {0, 1, 0},   {0, -1, 0}, {0, 0, 1},   {0, 0, -1},
    {1, 1, 0},  {-1, -1, 0}, {1, -1, 0}, {-1, 1, 0},  {1, 0, 1},  {-1, 0, -1}, {1, 0, -1},
    {-1, 0, 1}, {0, 1, 1},   {0, -1, -1}, {0, 1, -1}, {0, -1, 1}};
constexpr double rest_weight = 1.0 / 3, straight_weight = 1.0 / 18, diagonal_weight = 1.0 / 36;

constexpr int opposite(int i) { return i == 0 ? 0 : i % 2 == 1 ? i + 1 : i - 1; }
constexpr double weight(int i) { return i == 0 ? rest_weight : i < 7 ? straight_weight : diagonal_weight; }

// The properties of the fluid, and the force that drives it.
struct Fluid {
    // The rates at which the even and the odd halves of opposite populations relax.
    double even_rate, odd_rate;
    // Along x, in points per step squared.
    double acceleration;

    // The kinematic viscosity, in points squared per step. The product of both relaxation times is 3/16, so a
    // wall is exactly half a point beyond the outermost points, with any viscosity.
    Fluid(double viscosity, double acceleration_x) : acceleration(acceleration_x) {
        if (!(viscosity > 0)) throw std::runtime_error("viscosity must be above 0");
        const double even_time = 3 * viscosity, odd_time = 3.0 / 16 / even_time;
        even_rate = 1 / (even_time + 0.5);
        odd_rate = 1 / (odd_time + 0.5);
    }
};

// Returns a number from 0 to 1 that looks random. It follows from the number of a point, so any language can
// make it.
inline double random(std::uint64_t number) {
    return static_cast<double>(number * 2654435761u & 0xFFFFFFFFu) / 4294967296.0;
}

using Point = std::array<std::ptrdiff_t, 3>;

// Points from `begin` to before `end` along each axis, counted from the first own point of a block.
struct Box {
    Point begin, end;
};

// Density, and velocity in points per step.
struct State {
    double density;
    std::array<double, 3> velocity;
};

// Ends of the duct at a block: true if the lower or upper side along an axis is an end.
using Ends = std::array<std::array<bool, 2>, 3>;

class Block {
public:
    // `ghosts` points lie beyond the block at each side. If `ends` is true, the duct ends there: along y and z
    // at a wall, along x at an opening with the flow of `set_flows`.
    Block(const std::array<std::size_t, 3> &points, std::size_t ghosts, const Ends &ends)
        : ghosts_(static_cast<std::ptrdiff_t>(ghosts)), ends_(ends) {
        for (std::size_t axis = 0; axis < 3; ++axis) own_.end[axis] = static_cast<std::ptrdiff_t>(points[axis]);
        own_.begin = {0, 0, 0};
        strides_[2] = 1;
        strides_[1] = own_.end[2] + 2 * ghosts_;
        strides_[0] = strides_[1] * (own_.end[1] + 2 * ghosts_);
        elements_ = static_cast<std::size_t>(strides_[0] * (own_.end[0] + 2 * ghosts_));
        now_.assign(populations * elements_, 0.0);
        next_.assign(populations * elements_, 0.0);
    }

    const Box &own() const { return own_; }
    // The own points, with `margin` more at each side with a neighbour.
    Box wider(std::ptrdiff_t margin) const {
        Box box = own_;
        for (std::size_t axis = 0; axis < 3; ++axis) {
            if (!ends_[axis][0]) box.begin[axis] -= margin;
            if (!ends_[axis][1]) box.end[axis] += margin;
        }
        return box;
    }

    // The array of a population, with its ghosts: in this step, and in the next one.
    double *now(int i) { return now_.data() + static_cast<std::size_t>(i) * elements_; }
    double *next(int i) { return next_.data() + static_cast<std::size_t>(i) * elements_; }
    // The position of a point in these arrays.
    std::ptrdiff_t place(std::ptrdiff_t x, std::ptrdiff_t y, std::ptrdiff_t z) const {
        return (x + ghosts_) * strides_[0] + (y + ghosts_) * strides_[1] + z + ghosts_;
    }

    // Puts a point at rest, with a density.
    void start(const Point &p, double density) {
        for (int i = 0; i < populations; ++i) now(i)[place(p[0], p[1], p[2])] = weight(i) * density;
    }

    // Sets the flow at each point of the ends of the duct along x: inward at the lower end, outward at the
    // upper end; mass per step.
    void set_flows(double in, double out) { flows_ = {in, out}; }

    // Computes the next step of these points.
    void step(const Fluid &fluid, const Box &box) {
        for (std::ptrdiff_t x = box.begin[0]; x < box.end[0]; ++x) {
            for (std::ptrdiff_t y = box.begin[1]; y < box.end[1]; ++y) {
                step_row(fluid, {x, y, box.begin[2]}, box.end[2] - box.begin[2]);
                reflect_row(next_.data(), {x, y, box.begin[2]}, box.end[2]);
            }
        }
    }
    void swap() { now_.swap(next_); }
    // Fills the ghosts beyond the ends of the duct at these points. Their populations do not come from a step.
    void reflect(const Box &box) {
        for (std::ptrdiff_t x = box.begin[0]; x < box.end[0]; ++x) {
            for (std::ptrdiff_t y = box.begin[1]; y < box.end[1]; ++y) {
                reflect_row(now_.data(), {x, y, box.begin[2]}, box.end[2]);
            }
        }
    }

    State state(const Fluid &fluid, const Point &p) {
        const std::ptrdiff_t at = place(p[0], p[1], p[2]);
        State state{0, {0, 0, 0}};
        for (int i = 0; i < populations; ++i) {
            const double f = now(i)[at];
            state.density += f;
            for (std::size_t axis = 0; axis < 3; ++axis) state.velocity[axis] += velocity[i][axis] * f;
        }
        for (double &component : state.velocity) component /= state.density;
        // The populations have the full acceleration of the step; the velocity is that in the middle of the
        // step.
        state.velocity[0] -= fluid.acceleration / 2;
        return state;
    }

private:
    std::ptrdiff_t ghosts_;
    Ends ends_;
    Box own_;
    std::array<std::ptrdiff_t, 3> strides_;
    std::size_t elements_;
    std::array<double, 2> flows_{0, 0};
    std::vector<double> now_, next_;

    void step_row(const Fluid &fluid, const Point &first, std::ptrdiff_t count);
    void reflect_row(double *arrays, const Point &first, std::ptrdiff_t z_end);
    void reflect_points(double *arrays, const Point &first, std::ptrdiff_t count, std::size_t axis, int inward);
};

// Moves populations to the points of a row along z from the neighbouring points, and collides them.
inline void Block::step_row(const Fluid &fluid, const Point &first, std::ptrdiff_t count) {
    const double *from[populations];
    double *to[populations];
    for (int i = 0; i < populations; ++i) {
        const auto *c = velocity[i];
        from[i] = now(i) + place(first[0] - c[0], first[1] - c[1], first[2] - c[2]);
        to[i] = next(i) + place(first[0], first[1], first[2]);
    }
    const double even_rate = fluid.even_rate, odd_rate = fluid.odd_rate, half = fluid.acceleration / 2;
    const double odd_force = 3 * fluid.acceleration * (1 - odd_rate / 2);
    const double even_force = fluid.acceleration * (1 - even_rate / 2);
#pragma GCC ivdep
    for (std::ptrdiff_t k = 0; k < count; ++k) {
        const double f0 = from[0][k], f1 = from[1][k], f2 = from[2][k], f3 = from[3][k], f4 = from[4][k];
        const double f5 = from[5][k], f6 = from[6][k], f7 = from[7][k], f8 = from[8][k], f9 = from[9][k];
        const double f10 = from[10][k], f11 = from[11][k], f12 = from[12][k], f13 = from[13][k];
        const double f14 = from[14][k], f15 = from[15][k], f16 = from[16][k], f17 = from[17][k];
        const double f18 = from[18][k];
        const double density = f0 + f1 + f2 + f3 + f4 + f5 + f6 + f7 + f8 + f9 + f10 + f11 + f12 + f13 + f14 +
                               f15 + f16 + f17 + f18;
        const double share = 1 / density;
        const double ux = (f1 - f2 + f7 - f8 + f9 - f10 + f11 - f12 + f13 - f14) * share + half;
        const double uy = (f3 - f4 + f7 - f8 - f9 + f10 + f15 - f16 + f17 - f18) * share;
        const double uz = (f5 - f6 + f11 - f12 - f13 + f14 + f15 - f16 - f17 + f18) * share;
        const double still = 1 - 1.5 * (ux * ux + uy * uy + uz * uz);
        const double even_push = density * even_force, odd_push = density * odd_force;

        // A pair of opposite populations. `cu` is the velocity along the first one, `cx` its direction along x.
        const auto collide = [&](double w, double a, double b, double cu, double cx, double *to_a,
                                 double *to_b) __attribute__((always_inline)) {
            const double share_w = w * density;
            const double even = even_rate * (0.5 * (a + b) - share_w * (still + 4.5 * cu * cu)) -
                                w * even_push * (9 * cx * cu - 3 * ux);
            const double odd = odd_rate * (0.5 * (a - b) - share_w * 3 * cu) - w * odd_push * cx;
            to_a[k] = a - even - odd;
            to_b[k] = b - even + odd;
        };
        to[0][k] = f0 - even_rate * (f0 - rest_weight * density * still) - rest_weight * even_push * (3 * ux);
        collide(straight_weight, f1, f2, ux, 1, to[1], to[2]);
        collide(straight_weight, f3, f4, uy, 0, to[3], to[4]);
        collide(straight_weight, f5, f6, uz, 0, to[5], to[6]);
        collide(diagonal_weight, f7, f8, ux + uy, 1, to[7], to[8]);
        collide(diagonal_weight, f9, f10, ux - uy, 1, to[9], to[10]);
        collide(diagonal_weight, f11, f12, ux + uz, 1, to[11], to[12]);
        collide(diagonal_weight, f13, f14, ux - uz, 1, to[13], to[14]);
        collide(diagonal_weight, f15, f16, uy + uz, 0, to[15], to[16]);
        collide(diagonal_weight, f17, f18, uy - uz, 0, to[17], to[18]);
    }
}

// A population from beyond an end is the point's own opposite population, reflected. It is stored in a ghost of
// its own, which nothing else reads.
inline void Block::reflect_row(double *arrays, const Point &first, std::ptrdiff_t z_end) {
    const auto [x, y, z] = first;
    if (ends_[2][0] && z == 0) reflect_points(arrays, {x, y, 0}, 1, 2, 1);
    if (ends_[2][1] && z_end == own_.end[2]) reflect_points(arrays, {x, y, z_end - 1}, 1, 2, -1);
    if (ends_[1][0] && y == 0) reflect_points(arrays, first, z_end - z, 1, 1);
    if (ends_[1][1] && y == own_.end[1] - 1) reflect_points(arrays, first, z_end - z, 1, -1);
    // The ends along x come last, because at their edges they also set the flow.
    if (ends_[0][0] && x == 0) reflect_points(arrays, first, z_end - z, 0, 1);
    if (ends_[0][1] && x == own_.end[0] - 1) reflect_points(arrays, first, z_end - z, 0, -1);
}

// Reflects the populations that go inwards along an axis, at points along z.
inline void Block::reflect_points(double *arrays, const Point &first, std::ptrdiff_t count, std::size_t axis,
                                  int inward) {
    const double flow = axis > 0 ? 0 : inward > 0 ? flows_[0] : -flows_[1];
    for (int i = 1; i < populations; ++i) {
        const auto *c = velocity[i];
        if (c[axis] != inward) continue;
        double *to = arrays + static_cast<std::size_t>(i) * elements_ +
                     place(first[0] - c[0], first[1] - c[1], first[2] - c[2]);
        const double *back = arrays + static_cast<std::size_t>(opposite(i)) * elements_ +
                             place(first[0], first[1], first[2]);
        // The weights of the five populations that go inwards add up to 1/6.
        const double more = 6 * weight(i) * flow;
        for (std::ptrdiff_t k = 0; k < count; ++k) to[k] = back[k] + more;
    }
}

}  // namespace lattice
