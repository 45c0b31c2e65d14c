// The number of a vertex of a mesh.
#pragma once

namespace precice {

using VertexID = int;

}  // namespace precice
