// Fluid of ../../precice-python/tests/access.py: asks for the points of a received mesh with x up to 0.7, and
// writes a force at each of them, (x, heat).
#include <limits>
#include <vector>

#include <precice/precice.hpp>

int main() {
    const auto mesh = "Solid-Mesh";
    precice::Participant participant("Fluid", "../precice-config.xml", 0, 1);
    const double infinity = std::numeric_limits<double>::infinity();
    participant.setMeshAccessRegion(mesh, std::vector<double>{-infinity, 0.7, -1.0, 10.0});
    participant.initialize();
    const auto count = static_cast<std::size_t>(participant.getMeshVertexSize(mesh));
    std::vector<int> ids(count);
    std::vector<double> points(2 * count), heat(count), force(2 * count);
    participant.getMeshVertexIDsAndCoordinates(mesh, ids, points);
    while (participant.isCouplingOngoing()) {
        const double dt = participant.getMaxTimeStepSize();
        participant.readData(mesh, "Heat", ids, dt, heat);
        for (std::size_t i = 0; i < count; ++i) {
            force[2 * i] = points[2 * i];
            force[2 * i + 1] = heat[i];
        }
        participant.writeData(mesh, "Force", ids, force);
        participant.advance(dt);
    }
    participant.finalize();
}
