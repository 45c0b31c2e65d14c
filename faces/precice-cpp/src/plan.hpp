// The plan of a coupling: what precice-to-ligament has read in a configuration, as the setting `precice_plan`.
// The XML is read in one place, which is the package in Python (precice/plan.py writes the lines).
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace precice::impl {

// The name that a projection has in the place of a function.
constexpr const char *PROJECTION = "nearest-projection";

// A radial function with its support radius or its shape, of which the other one is 0.
struct Basis {
    std::string function;
    double radius = 0.0;
    double shape = 0.0;
    std::string polynomial;
};

// A mapping from one mesh to another: by `basis`, or to the nearest neighbour if the function has no name, or
// to the nearest place on a cell if it is PROJECTION.
struct Mapping {
    std::string direction;
    std::string source;
    std::string target;
    bool is_conservative = false;
    Basis basis;
};

// Data on a mesh that one participant sends to another, by ports whose names have the key.
struct Exchange {
    std::string key;
    std::string data;
    std::string mesh;
    std::string sender;
    std::string receiver;
    bool is_initialized = false;
    // The number of samples in each window, at equal distances, of which the last one is at its end.
    std::size_t samples = 1;
};

// A number for each window, by which a participant that receives no data sees the windows.
struct Clock {
    std::string key;
    std::string sender;
    std::string receiver;
};

// Data and a mesh.
using DataOnMesh = std::pair<std::string, std::string>;

// The meshes and data of one participant. Received meshes have the names of their providers.
struct Role {
    std::vector<std::string> provided;
    std::map<std::string, std::string> received;
    // The received meshes whose points the program asks for.
    std::set<std::string> accessed;
    std::vector<DataOnMesh> written;
    std::vector<DataOnMesh> read;
    std::vector<Mapping> mappings;
};

// A mesh: its number of coordinates, the end of the name of its port, and whether a mapping needs its cells.
struct MeshKind {
    int dimensions = 0;
    std::string port;
    bool has_cells = false;
};

struct Plan {
    std::string scheme;
    // The participants that compute first in a serial scheme.
    std::set<std::string> firsts;
    std::map<std::string, bool> vectors;
    std::map<std::string, MeshKind> meshes;
    std::map<std::string, Role> roles;
    std::vector<Exchange> exchanges;
    std::vector<Clock> clocks;

    // Reads the lines of the setting. Throws Error.
    explicit Plan(const std::string &text);

    bool is_implicit() const;
    bool is_serial() const { return scheme.rfind("serial", 0) == 0; }
    // The number of components of data on a mesh.
    int width(const std::string &data, const std::string &mesh) const;

private:
    void read(const std::vector<std::string> &words);
};

// The names in a list, for a text.
template <class Names>
std::string listed(const Names &names) {
    std::string text;
    for (const auto &name : names) text += (text.empty() ? "" : ", ") + name;
    return text.empty() ? "none" : text;
}

}  // namespace precice::impl
