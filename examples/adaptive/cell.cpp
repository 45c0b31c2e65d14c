// The micro model: the conductivity of a material that is a chessboard of two others. It resolves one cell of
// the pattern, two fields by two, which is periodic on all sides. The temperature falls by one across the cell.
#include <ligament/ligament.hpp>

#include <cmath>
#include <cstddef>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <vector>

namespace {

using Field = std::vector<double>;

// A periodic grid of n by n points, with the conductance between each point and the next one in x and in y. The
// size of the points cancels out in two dimensions.
struct Grid {
    std::size_t n;
    Field x, y;

    Grid(std::size_t points, double matrix, double grains) : n(points), x(n * n), y(n * n) {
        const auto of = [&](std::size_t i, std::size_t j) {
            return (2 * (i % n) / n + 2 * (j % n) / n) % 2 == 0 ? matrix : grains;
        };
        const auto join = [](double a, double b) { return 2 * a * b / (a + b); };
        for (std::size_t i = 0; i < n; ++i) {
            for (std::size_t j = 0; j < n; ++j) {
                x[i * n + j] = join(of(i, j), of(i + 1, j));
                y[i * n + j] = join(of(i, j), of(i, j + 1));
            }
        }
    }

    std::size_t right(std::size_t at) const { return (at + n) % (n * n); }
    std::size_t up(std::size_t at) const { return at % n == n - 1 ? at + 1 - n : at + 1; }

    // Computes the net flow out of each point for these temperatures, with a further fall of `fall` from point
    // to point in x.
    Field outflow(const Field &temperatures, double fall) const {
        Field out(n * n, 0.0);
        for (std::size_t at = 0; at < n * n; ++at) {
            const double to_right = x[at] * (temperatures[at] - temperatures[right(at)] + fall);
            const double to_up = y[at] * (temperatures[at] - temperatures[up(at)]);
            out[at] += to_right + to_up;
            out[right(at)] -= to_right;
            out[up(at)] -= to_up;
        }
        return out;
    }
};

double product(const Field &a, const Field &b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
    return sum;
}

// Computes the conductivity of the whole from the flow in the steady state, by conjugate gradients.
double conductivity(const Grid &grid) {
    const double fall = 1.0 / static_cast<double>(grid.n);
    Field temperatures(grid.n * grid.n, 0.0);
    Field rest = grid.outflow(temperatures, fall);
    for (double &one : rest) one = -one;
    Field direction = rest;
    double square = product(rest, rest);
    const double small = 1e-20 * square;
    for (std::size_t i = 0; i < 10 * grid.n && square > small; ++i) {
        const Field flow = grid.outflow(direction, 0.0);
        const double length = square / product(direction, flow);
        for (std::size_t at = 0; at < rest.size(); ++at) {
            temperatures[at] += length * direction[at];
            rest[at] -= length * flow[at];
        }
        const double next = product(rest, rest);
        for (std::size_t at = 0; at < rest.size(); ++at)
            direction[at] = rest[at] + next / square * direction[at];
        square = next;
    }
    double through = 0;
    for (std::size_t at = 0; at < rest.size(); ++at) {
        through += grid.x[at] * (temperatures[at] - temperatures[grid.right(at)] + fall);
    }
    return through / static_cast<double>(grid.n);
}

}  // namespace

int main() try {
    using ligament::Operator;
    ligament::Instance instance({{Operator::F_INIT, {"temperature"}}, {Operator::O_F, {"conductivity"}}});

    while (instance.reuse_instance()) {
        const auto points = instance.get_setting_as<std::int64_t>("points");
        const double matrix = instance.get_setting_as<double>("matrix");
        const auto grains = instance.get_setting_as<std::vector<double>>("grains");
        if (points < 2 || points % 2 != 0)
            throw std::runtime_error("points must be an even number, at least 2");
        if (grains.size() != 3) throw std::runtime_error("grains must be [conductivity, temperature, growth]");

        const ligament::Message asked = instance.receive("temperature");
        const double warmer = asked.as<double>() - grains[1];
        const Grid grid(static_cast<std::size_t>(points), matrix, grains[0] * (1 + grains[2] * warmer));
        instance.send("conductivity", asked.timestamp(), conductivity(grid));
    }
} catch (const std::exception &error) {
    // The instance has already reported the failure to the run.
    std::cerr << "cell: " << error.what() << '\n';
    return 1;
}
