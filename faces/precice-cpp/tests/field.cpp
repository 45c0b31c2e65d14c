// A side of a coupling with vectors and scalars: field NAME POINTS VALUES. The files are lists of numbers.
// Solid sends heat, and Fluid sends forces. Each writes what comes into came.txt.
#include <fstream>
#include <string>
#include <vector>

#include <precice/precice.hpp>

namespace {

std::vector<double> numbers(const char *file) {
    std::ifstream in(file);
    std::vector<double> all;
    for (double number; in >> number;) all.push_back(number);
    return all;
}

}  // namespace

int main(int, char **arguments) {
    const std::string name = arguments[1], mesh = name + "-Mesh";
    const bool is_solid = name == "Solid";
    const std::string written = is_solid ? "Heat" : "Force", read = is_solid ? "Force" : "Heat";
    precice::Participant participant(name, "../precice-config.xml", 0, 1, nullptr);
    const auto points = numbers(arguments[2]), values = numbers(arguments[3]);
    std::vector<int> ids(points.size() / 3);
    participant.setMeshVertices(mesh, points, ids);
    const int last = static_cast<int>(ids.size()) - 1;
    if (participant.requiresMeshConnectivityFor(mesh)) {
        for (int i = 0; i < last; ++i) participant.setMeshEdge(mesh, i, i + 1);
        for (int i = 0; i < 10; ++i) participant.setMeshTriangle(mesh, i, i + 1, i + 2);
        for (int i = 0; i + 3 <= last; ++i) participant.setMeshQuad(mesh, i, i + 1, i + 2, i + 3);
    }
    if (participant.requiresInitialData()) participant.writeData(mesh, written, ids, values);
    participant.initialize();
    std::vector<double> came(ids.size() * static_cast<std::size_t>(participant.getDataDimensions(mesh, read)));
    while (participant.isCouplingOngoing()) {
        const double dt = participant.getMaxTimeStepSize();
        if (!is_solid) participant.readData(mesh, read, ids, dt, came);
        participant.writeData(mesh, written, ids, values);
        participant.advance(dt);
    }
    if (is_solid) participant.readData(mesh, read, ids, 0.0, came);
    participant.finalize();
    std::ofstream out("came.txt");
    out.precision(17);
    for (const double value : came) out << value << '\n';
}
