// Nearest projection: each point gets its value from the nearest place on the triangles, edges and vertices of
// the other mesh, by shares of the corners (Ericson, Real-Time Collision Detection, 2005, section 5.1).
#pragma once

#include <array>
#include <vector>

#include "points.hpp"

namespace precice::impl {

// Up to three points and their shares. Points without a share come last.
struct Place {
    std::array<std::size_t, 3> points{};
    std::array<double, 3> shares{};
};

// The place on the cells of a mesh that is nearest to each of the asked points.
std::vector<Place> projected(const Points &points, const Points &asked);

// Adds two triangles for a quad, which share its shorter diagonal.
void add_quad(Points &points, std::array<std::int64_t, 4> corners);

}  // namespace precice::impl
