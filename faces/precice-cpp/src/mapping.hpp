// The weights of a mapping between two meshes.
#pragma once

#include <vector>

#include "plan.hpp"
#include "points.hpp"
#include "projection.hpp"

namespace precice::impl {

class Weights {
public:
    // Computes the weights. Throws Error if the meshes cannot be mapped.
    Weights(const Mapping &mapping, const Points &source, const Points &target);

    // Maps values, of which each point has as many as `width`.
    std::vector<double> apply(const std::vector<double> &values, std::size_t width) const;

private:
    bool is_conservative_;
    std::size_t targets_;
    // For each target point the places on the source, and of a conservative mapping the other way.
    std::vector<Place> places_;
    // A row for each target point of a consistent mapping, or for each source point of a conservative one.
    std::vector<double> matrix_;
};

}  // namespace precice::impl
