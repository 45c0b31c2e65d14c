#include "projection.hpp"

#include <algorithm>
#include <limits>

namespace precice::impl {

namespace {

// A triangle whose area is a smaller share of that of its sides has none.
constexpr double FLAT_SHARE = 1e-14;

using Vector = std::array<double, 3>;

Vector minus(const double *a, const double *b, std::size_t dimensions) {
    Vector made{};
    for (std::size_t axis = 0; axis < dimensions; ++axis) made[axis] = a[axis] - b[axis];
    return made;
}

double dot(const Vector &a, const Vector &b) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

// Searches the nearest place to one point.
class Search {
public:
    Search(const Points &points, const double *asked) : points_(points), asked_(asked) {}

    void try_vertex(std::size_t a) { offer({{a, 0, 0}, {1.0, 0.0, 0.0}}); }

    void try_edge(std::size_t a, std::size_t b) {
        const Vector along = minus(points_.at(b), points_.at(a), points_.dimensions);
        const double square = dot(along, along);
        const double ahead = dot(minus(asked_, points_.at(a), points_.dimensions), along);
        const double share = square > 0.0 ? std::min(std::max(ahead / square, 0.0), 1.0) : 0.0;
        offer({{a, b, 0}, {1.0 - share, share, 0.0}});
    }

    // Tries the projection on the plane of a triangle, if it is within the triangle.
    void try_triangle(std::size_t a, std::size_t b, std::size_t c) {
        const Vector u = minus(points_.at(b), points_.at(a), points_.dimensions);
        const Vector v = minus(points_.at(c), points_.at(a), points_.dimensions);
        const Vector away = minus(asked_, points_.at(a), points_.dimensions);
        const double uu = dot(u, u), uv = dot(u, v), vv = dot(v, v), area = uu * vv - uv * uv;
        if (!(area > FLAT_SHARE * uu * vv)) return;
        const double second = (vv * dot(away, u) - uv * dot(away, v)) / area;
        const double third = (uu * dot(away, v) - uv * dot(away, u)) / area;
        if (second < 0.0 || third < 0.0 || second + third > 1.0) return;
        offer({{a, b, c}, {1.0 - second - third, second, third}});
    }

    const Place &place() const { return best_; }

private:
    void offer(const Place &place) {
        Vector at{};
        for (std::size_t corner = 0; corner < 3; ++corner) {
            if (place.shares[corner] == 0.0) continue;
            const double *point = points_.at(place.points[corner]);
            for (std::size_t axis = 0; axis < points_.dimensions; ++axis) {
                at[axis] += place.shares[corner] * point[axis];
            }
        }
        const double square = square_of_distance(at.data(), asked_, points_.dimensions);
        if (square >= least_) return;
        least_ = square;
        best_ = place;
    }

    const Points &points_;
    const double *asked_;
    double least_ = std::numeric_limits<double>::infinity();
    Place best_;
};

}  // namespace

void add_quad(Points &points, std::array<std::int64_t, 4> corners) {
    const auto square = [&](std::size_t a, std::size_t b) {
        const auto *from = points.at(static_cast<std::size_t>(corners[a]));
        return square_of_distance(from, points.at(static_cast<std::size_t>(corners[b])), points.dimensions);
    };
    if (square(0, 2) > square(1, 3)) std::rotate(corners.begin(), corners.begin() + 1, corners.end());
    for (const std::size_t corner : {0, 1, 2, 0, 2, 3}) points.cells.triangles.push_back(corners[corner]);
}

std::vector<Place> projected(const Points &points, const Points &asked) {
    const Cells &cells = points.cells;
    const auto number = [](std::int64_t corner) { return static_cast<std::size_t>(corner); };
    std::vector<Place> found;
    for (std::size_t i = 0; i < asked.count(); ++i) {
        Search search(points, asked.at(i));
        for (std::size_t vertex = 0; vertex < points.count(); ++vertex) search.try_vertex(vertex);
        for (std::size_t at = 0; at < cells.edges.size(); at += 2) {
            search.try_edge(number(cells.edges[at]), number(cells.edges[at + 1]));
        }
        for (std::size_t at = 0; at < cells.triangles.size(); at += 3) {
            const std::size_t a = number(cells.triangles[at]), b = number(cells.triangles[at + 1]);
            const std::size_t c = number(cells.triangles[at + 2]);
            search.try_edge(a, b);
            search.try_edge(b, c);
            search.try_edge(c, a);
            search.try_triangle(a, b, c);
        }
        found.push_back(search.place());
    }
    return found;
}

}  // namespace precice::impl
