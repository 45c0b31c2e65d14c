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
std::vector<Place> nearest_of(const Points &known, const Points &asked) {
    std::vector<Place> found(asked.count());
    for (std::size_t i = 0; i < found.size(); ++i) {
        double least = std::numeric_limits<double>::infinity();
        for (std::size_t j = 0; j < known.count(); ++j) {
            const double square = square_of_distance(asked.at(i), known.at(j), known.dimensions);
            if (square < least) {
                least = square;
                found[i] = {{j, 0, 0}, {1.0, 0.0, 0.0}};
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
        places_ = nearest_of(known, asked);
    else if (mapping.basis.function == PROJECTION)
        places_ = projected(known, asked);
    else
        matrix_ = radial_weights(known, asked, mapping.basis);
}

std::vector<double> Weights::apply(const std::vector<double> &values, std::size_t width) const {
    const std::size_t sources = values.size() / width;
    std::vector<double> made(targets_ * width, 0.0);
    const auto add = [&](std::size_t to, std::size_t from, double share) {
        for (std::size_t c = 0; c < width; ++c) made[to * width + c] += share * values[from * width + c];
    };
    if (!places_.empty()) {
        for (std::size_t i = 0; i < places_.size(); ++i) {
            for (std::size_t corner = 0; corner < 3; ++corner) {
                const std::size_t point = places_[i].points[corner];
                add(is_conservative_ ? point : i, is_conservative_ ? i : point, places_[i].shares[corner]);
            }
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
