#include "mapping.hpp"

#include <cstdio>
#include <limits>

#include <precice/Exceptions.hpp>

#include "radial.hpp"

namespace precice::impl {

std::string shown(double number) {
    char text[32];
    std::snprintf(text, sizeof text, "%.17g", number);
    return text;
}

std::string Points::place(std::size_t index) const {
    std::string text;
    for (std::size_t axis = 0; axis < dimensions; ++axis) text += (axis ? ", " : "") + shown(at(index)[axis]);
    return "(" + text + ")";
}

namespace {

// For each of the asked points the nearest of the known ones; of equally near ones the first.
std::vector<std::size_t> nearest_of(const Points &known, const Points &asked) {
    std::vector<std::size_t> found(asked.count());
    for (std::size_t i = 0; i < found.size(); ++i) {
        double least = std::numeric_limits<double>::infinity();
        for (std::size_t j = 0; j < known.count(); ++j) {
            const double square = square_of_distance(asked.at(i), known.at(j), known.dimensions);
            if (square < least) {
                least = square;
                found[i] = j;
            }
        }
    }
    return found;
}

}  // namespace

Weights::Weights(const Mapping &mapping, const Points &source, const Points &target)
    : is_conservative_(mapping.is_conservative), targets_(target.count()) {
    for (const Points *mesh : {&source, &target}) {
        if (mesh->count() == 0) {
            throw Error("the mapping from \"" + source.mesh + "\" to \"" + target.mesh +
                        "\" has no points: the mesh \"" + mesh->mesh +
                        "\" is empty; call setMeshVertices before initialize");
        }
    }
    const Points &known = is_conservative_ ? target : source;
    const Points &asked = is_conservative_ ? source : target;
    if (mapping.basis.function.empty())
        nearest_ = nearest_of(known, asked);
    else
        matrix_ = radial_weights(known, asked, mapping.basis);
}

std::vector<double> Weights::apply(const std::vector<double> &values, std::size_t width) const {
    const std::size_t sources = values.size() / width;
    std::vector<double> made(targets_ * width, 0.0);
    const auto add = [&](std::size_t to, std::size_t from, double share) {
        for (std::size_t c = 0; c < width; ++c) made[to * width + c] += share * values[from * width + c];
    };
    if (!nearest_.empty()) {
        for (std::size_t i = 0; i < nearest_.size(); ++i) {
            if (is_conservative_)
                add(nearest_[i], i, 1.0);
            else
                add(i, nearest_[i], 1.0);
        }
        return made;
    }
    for (std::size_t to = 0; to < targets_; ++to) {
        for (std::size_t from = 0; from < sources; ++from) {
            add(to, from, is_conservative_ ? matrix_[from * targets_ + to] : matrix_[to * sources + from]);
        }
    }
    return made;
}

}  // namespace precice::impl
