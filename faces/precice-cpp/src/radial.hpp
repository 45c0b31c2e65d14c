// Interpolation by radial basis functions, as `method: radial` of `ligament.mappers.mesh` has it.
#pragma once

#include <vector>

#include "plan.hpp"
#include "points.hpp"

namespace precice::impl {

// The weights of the known points for each asked point, row by row. Throws Error if points are at one place,
// out of the reach of all others, too many, or if their system is singular.
std::vector<double> radial_weights(const Points &known, const Points &asked, const Basis &basis);

}  // namespace precice::impl
