#include "radial.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>

#include <precice/Exceptions.hpp>

namespace precice::impl {

namespace {

// The largest number of known points, and of their pairs with asked points: the system is dense.
constexpr std::size_t POINT_LIMIT = 4096;
constexpr std::size_t PAIR_LIMIT = std::size_t{1} << 27;
// A column of the polynomial whose part beyond the columns before it is smaller than this share is left out.
constexpr double DEPENDENT_SHARE = 1e-8;
// The value of the Gaussian function at its support radius.
constexpr double GAUSSIAN_AT_RADIUS = 1e-9;

using Column = std::vector<double>;

// A function of the distance over the support radius, which is 0 from 1 on (Wendland, Adv. Comput. Math. 4,
// 1995).
double compact(const std::string &function, double p) {
    if (p >= 1.0) return 0.0;
    const double rest = 1.0 - p;
    if (function == "compact-polynomial-c0") return rest * rest;
    if (function == "compact-polynomial-c2") return std::pow(rest, 4) * (4.0 * p + 1.0);
    if (function == "compact-polynomial-c4") return std::pow(rest, 6) * ((35.0 * p + 18.0) * p + 3.0) / 3.0;
    if (function == "compact-polynomial-c6") {
        return std::pow(rest, 8) * (((32.0 * p + 25.0) * p + 8.0) * p + 1.0);
    }
    if (function == "compact-polynomial-c8") {
        return std::pow(rest, 10) * ((((429.0 * p + 450.0) * p + 210.0) * p + 50.0) * p + 5.0) / 5.0;
    }
    if (function == "gaussian") return std::pow(GAUSSIAN_AT_RADIUS, p * p) - GAUSSIAN_AT_RADIUS;
    const double logarithm = p > 0.0 ? std::log(p) : 0.0;  // compact-tps-c2
    return 1.0 + p * p * (-30.0 + p * (-10.0 - 60.0 * logarithm + p * (45.0 - 6.0 * p)));
}

// The value of the function of a basis at a distance.
double function_value(const Basis &basis, double distance) {
    if (basis.radius > 0.0) return compact(basis.function, distance / basis.radius);
    if (basis.function == "gaussian") return std::exp(-std::pow(basis.shape * distance, 2));
    if (basis.function == "multiquadrics") return std::hypot(basis.shape, distance);
    if (basis.function == "inverse-multiquadrics") return 1.0 / std::hypot(basis.shape, distance);
    if (basis.function == "volume-splines") return distance;
    return distance > 0.0 ? distance * distance * std::log(distance) : 0.0;  // thin-plate-splines
}

double distance(const Points &a, std::size_t i, const Points &b, std::size_t j) {
    return std::sqrt(square_of_distance(a.at(i), b.at(j), a.dimensions));
}

double product(const double *a, const double *b, std::size_t count) {
    return std::inner_product(a, a + count, b, 0.0);
}

void add(double *sum, double share, const double *values, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) sum[i] += share * values[i];
}

void check_places(const Points &known) {
    std::vector<std::size_t> order(known.count());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto before = [&](std::size_t a, std::size_t b) {
        return std::lexicographical_compare(known.at(a), known.at(a) + known.dimensions, known.at(b),
                                            known.at(b) + known.dimensions);
    };
    std::stable_sort(order.begin(), order.end(), before);
    for (std::size_t i = 1; i < order.size(); ++i) {
        if (square_of_distance(known.at(order[i - 1]), known.at(order[i]), known.dimensions) > 0.0) continue;
        throw Error("the vertices " + std::to_string(order[i - 1]) + " and " + std::to_string(order[i]) +
                    " of the mesh \"" + known.mesh + "\" are both at " + known.place(order[i]) +
                    ", and radial basis functions need different places; leave one of them out, or take "
                    "<mapping:nearest-neighbor>");
    }
}

void check_reach(const Points &known, const Points &asked, const Basis &basis) {
    if (basis.radius <= 0.0) return;
    std::size_t lost = 0, first = 0;
    double away = 0.0;
    for (std::size_t i = 0; i < asked.count(); ++i) {
        double least = std::numeric_limits<double>::infinity();
        for (std::size_t j = 0; j < known.count(); ++j) least = std::min(least, distance(asked, i, known, j));
        if (least < basis.radius) continue;
        if (lost++ == 0) {
            first = i;
            away = least;
        }
    }
    if (lost < asked.count() && (lost == 0 || basis.polynomial != "off")) return;
    throw Error(std::to_string(lost) + " of " + std::to_string(asked.count()) + " vertices of the mesh \"" +
                asked.mesh + "\", the first of which is vertex " + std::to_string(first) + " at " +
                asked.place(first) + ", have no vertex of \"" + known.mesh + "\" within the support radius " +
                shown(basis.radius) + "; the nearest one is " + shown(away) +
                " away. Look whether the meshes lie beside each other, or give a larger support-radius");
}

// Orthonormal columns for 1 and each coordinate at the known points, each followed by its values at the asked
// ones. A coordinate that depends on those before it, as in a plane, is left out.
std::vector<Column> polynomial_columns(const Points &known, const Points &asked) {
    const std::size_t count = known.count(), all = count + asked.count();
    std::vector<double> low(known.dimensions), high(known.dimensions);
    double scale = 0.0;
    for (std::size_t axis = 0; axis < known.dimensions; ++axis) {
        low[axis] = high[axis] = known.at(0)[axis];
        for (std::size_t i = 1; i < count; ++i) {
            low[axis] = std::min(low[axis], known.at(i)[axis]);
            high[axis] = std::max(high[axis], known.at(i)[axis]);
        }
        scale = std::max(scale, high[axis] - low[axis]);
    }
    std::vector<Column> columns;
    for (std::size_t monomial = 0; monomial <= known.dimensions; ++monomial) {
        Column column(all, 1.0);
        for (std::size_t i = 0; i < all && monomial > 0; ++i) {
            const std::size_t axis = monomial - 1;
            const double place = i < count ? known.at(i)[axis] : asked.at(i - count)[axis];
            column[i] = (place - low[axis] - (high[axis] - low[axis]) / 2.0) / (scale > 0.0 ? scale : 1.0);
        }
        // The second pass removes what rounding has left.
        for (int pass = 0; pass < 2; ++pass) {
            for (const Column &other : columns) {
                add(column.data(), -product(column.data(), other.data(), count), other.data(), all);
            }
        }
        const double norm = std::sqrt(product(column.data(), column.data(), count));
        if (norm <= DEPENDENT_SHARE * std::sqrt(static_cast<double>(count))) continue;
        for (double &value : column) value /= norm;
        columns.push_back(std::move(column));
    }
    return columns;
}

// The lower and the upper triangle of a symmetric matrix whose rows are in another order.
class Factors {
public:
    Factors(std::vector<double> matrix, std::size_t size)
        : size_(size), triangles_(std::move(matrix)), rows_(size) {
        double largest = 0.0;
        for (const double element : triangles_) largest = std::max(largest, std::abs(element));
        const double limit = static_cast<double>(size) * std::numeric_limits<double>::epsilon() * largest;
        std::iota(rows_.begin(), rows_.end(), std::size_t{0});
        for (std::size_t step = 0; step < size_; ++step) {
            std::size_t pivot = step;
            for (std::size_t i = step + 1; i < size_; ++i) {
                if (std::abs(row(i)[step]) > std::abs(row(pivot)[step])) pivot = i;
            }
            if (!(std::abs(row(pivot)[step]) > limit)) {
                throw Error("the system of radial basis functions of " + std::to_string(size_) +
                            " unknowns is singular to the precision of numbers; a smaller support-radius, a "
                            "larger shape-parameter, or a function that is less smooth has another one");
            }
            if (pivot != step) {
                std::swap_ranges(row(pivot), row(pivot) + size_, row(step));
                std::swap(rows_[pivot], rows_[step]);
            }
            for (std::size_t i = step + 1; i < size_; ++i) {
                const double share = row(i)[step] /= row(step)[step];
                add(row(i) + step + 1, -share, row(step) + step + 1, size_ - step - 1);
            }
        }
    }

    // The solution for a right-hand side.
    Column solved(const Column &given) const {
        Column made(size_);
        for (std::size_t i = 0; i < size_; ++i) made[i] = given[rows_[i]] - product(row(i), made.data(), i);
        for (std::size_t i = size_; i-- > 0;) {
            made[i] -= product(row(i) + i + 1, made.data() + i + 1, size_ - i - 1);
            made[i] /= row(i)[i];
        }
        return made;
    }

private:
    double *row(std::size_t i) { return triangles_.data() + i * size_; }
    const double *row(std::size_t i) const { return triangles_.data() + i * size_; }

    std::size_t size_;
    std::vector<double> triangles_;
    std::vector<std::size_t> rows_;
};

// The matrix of the functions between all known points, with the columns of the polynomial around it.
std::vector<double> bordered_system(const Points &known, const Basis &basis,
                                    const std::vector<Column> &border) {
    const std::size_t count = known.count(), size = count + border.size();
    std::vector<double> matrix(size * size, 0.0);
    for (std::size_t i = 0; i < count; ++i) {
        for (std::size_t j = 0; j < count; ++j) {
            matrix[i * size + j] = function_value(basis, distance(known, i, known, j));
        }
        for (std::size_t k = 0; k < border.size(); ++k) {
            matrix[i * size + count + k] = matrix[(count + k) * size + i] = border[k][i];
        }
    }
    return matrix;
}

}  // namespace

std::vector<double> radial_weights(const Points &known, const Points &asked, const Basis &basis) {
    const std::size_t count = known.count();
    if (count > POINT_LIMIT || count * asked.count() > PAIR_LIMIT) {
        throw Error("radial basis functions from \"" + known.mesh + "\" with " + std::to_string(count) +
                    " points to \"" + asked.mesh + "\" with " + std::to_string(asked.count()) +
                    " need a dense system that is too large: it has at most " + std::to_string(POINT_LIMIT) +
                    " points and " + std::to_string(PAIR_LIMIT) + " pairs; take <mapping:nearest-neighbor>");
    }
    check_places(known);
    check_reach(known, asked, basis);
    if (count == 1 && basis.polynomial != "off") return std::vector<double>(asked.count(), 1.0);
    std::vector<Column> columns;
    if (basis.polynomial != "off") columns = polynomial_columns(known, asked);
    const bool is_separate = basis.polynomial == "separate";
    const std::vector<Column> border = is_separate ? std::vector<Column>() : columns;
    const Factors factors(bordered_system(known, basis, border), count + border.size());
    std::vector<double> weights;
    weights.reserve(asked.count() * count);
    for (std::size_t i = 0; i < asked.count(); ++i) {
        Column values(count);
        for (std::size_t j = 0; j < count; ++j) values[j] = function_value(basis, distance(asked, i, known, j));
        for (const Column &column : border) values.push_back(column[count + i]);
        Column row = factors.solved(values);
        row.resize(count);
        // What the functions do not take from a separate polynomial, the polynomial gives.
        for (std::size_t k = 0; is_separate && k < columns.size(); ++k) {
            const Column &column = columns[k];
            const double share = column[count + i] - product(row.data(), column.data(), count);
            add(row.data(), share, column.data(), count);
        }
        weights.insert(weights.end(), row.begin(), row.end());
    }
    return weights;
}

}  // namespace precice::impl
