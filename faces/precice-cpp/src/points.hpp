// The points and the cells of a mesh.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace precice::impl {

// Corners of edges (two each) and of triangles (three each), as numbers of points.
struct Cells {
    std::vector<std::int64_t> edges;
    std::vector<std::int64_t> triangles;
};

// Points with their coordinates next to each other.
struct Points {
    std::string mesh;
    std::size_t dimensions = 0;
    std::vector<double> coordinates;
    Cells cells = {};
    // The least and the greatest coordinate along each axis, in turns, of the points that the program asks for;
    // empty for all points.
    std::vector<double> region = {};

    std::size_t count() const { return coordinates.size() / dimensions; }
    const double *at(std::size_t index) const { return coordinates.data() + index * dimensions; }
    // The numbers of the points in the region.
    std::vector<int> accessed() const;
    // The coordinates of a point, for a text.
    std::string place(std::size_t index) const;
};

// The square of the distance of two points with as many coordinates.
inline double square_of_distance(const double *a, const double *b, std::size_t dimensions) {
    double sum = 0.0;
    for (std::size_t axis = 0; axis < dimensions; ++axis) sum += (a[axis] - b[axis]) * (a[axis] - b[axis]);
    return sum;
}

// A number with all its digits.
std::string shown(double number);

}  // namespace precice::impl
