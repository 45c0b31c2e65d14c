// Ligament for C++17: couples this code to others in one model. Header-only over the C interface (ligament.h);
// link with libligament. The guide is the README in bindings/cpp.
#ifndef LIGAMENT_HPP
#define LIGAMENT_HPP

#include "grid.hpp"
#include "light.hpp"
#include "mapper.hpp"
#include "path.hpp"
#include "submodel.hpp"

namespace ligament {

// The version of the loaded library, such as "0.1.0".
inline std::string version() { return lig_version(); }

}  // namespace ligament

#endif
