// A mass of the oscillator in the calls of preCICE: mass NAME DISPLACEMENT [STEPS], with STEPS time steps in
// each window.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <precice/precice.hpp>

namespace {

const double PI = std::acos(-1.0);
const double WALL = 4 * PI * PI, BETWEEN = 16 * PI * PI;  // N/m, for a mass of 1 kg

struct State {
    double displacement, velocity, time;
};

// The state after a step of the trapezoidal rule. `here` and `there` are the neighbour's displacement before
// and after it.
State stepped(State state, double here, double there, double dt) {
    const double stiffness = WALL + BETWEEN;
    const double before = BETWEEN * here - stiffness * state.displacement;
    const double pushed = state.displacement + dt * state.velocity + dt * dt / 4 * (before + BETWEEN * there);
    const double displacement = pushed / (1 + dt * dt / 4 * stiffness);
    const double after = BETWEEN * there - stiffness * displacement;
    return {displacement, state.velocity + dt / 2 * (before + after), state.time + dt};
}

// A call that must throw an error with a text.
template <class Call>
void refused(const char *text, Call call) {
    try {
        call();
    } catch (const precice::Error &error) {
        if (std::string(error.what()).find(text) != std::string::npos) return;
        std::printf("\"%s\" is not in: %s\n", text, error.what());
        std::exit(1);
    }
    std::printf("there was no error with \"%s\"\n", text);
    std::exit(1);
}

void check(bool is_good, const char *what) {
    if (is_good) return;
    std::printf("wrong: %s\n", what);
    std::exit(1);
}

}  // namespace

int main(int count, char **arguments) {
    const int steps = count > 3 ? std::atoi(arguments[3]) : 1;
    const std::string name = arguments[1], side = name.substr(0, name.find('-'));
    const std::string other = side == "Left" ? "Right" : "Left";
    const std::string mesh = side + "-Mesh", own = side + "-Displacement", neighbours = other + "-Displacement";

    precice::Participant participant(name, "elsewhere.xml", 0, 1);
    check(precice::getVersionInformation().find("ligament") != std::string::npos, "version");
    check(participant.getMeshDimensions(mesh) == 2, "mesh dimensions");
    check(participant.getDataDimensions(mesh, own) == 1, "data dimensions");
    check(!participant.requiresMeshConnectivityFor(mesh), "connectivity");
    check(!participant.requiresGradientDataFor(mesh, neighbours), "gradients");

    // Four more vertices in a plane, so that there are cells.
    std::vector<double> places{0, 0, 1, 0, 1, 1, 0, 1};
    std::vector<precice::VertexID> ids(4);
    const double origin[] = {0.5, 0.5};
    const precice::VertexID vertex = participant.setMeshVertex(mesh, origin);
    participant.setMeshVertices(mesh, places, ids);
    check(vertex == 0 && ids[3] == 4 && participant.getMeshVertexSize(mesh) == 5, "vertices");
    participant.setMeshEdge(mesh, ids[0], ids[1]);
    participant.setMeshEdges(mesh, std::vector<int>{1, 2, 2, 3});
    participant.setMeshTriangle(mesh, 1, 2, 3);
    participant.setMeshTriangles(mesh, std::vector<int>{1, 2, 3, 1, 3, 4});
    participant.setMeshQuad(mesh, 1, 2, 3, 4);
    participant.setMeshQuads(mesh, std::vector<int>{1, 2, 3, 4});
    participant.setMeshTetrahedron(mesh, 1, 2, 3, 4);
    participant.setMeshTetrahedra(mesh, std::vector<int>{1, 2, 3, 4});

    State state{std::atof(arguments[2]), 0.0, 0.0}, saved = state;
    const std::vector<int> all{0, 1, 2, 3, 4};
    std::vector<double> values(5, state.displacement), found(5);
    refused("before initialize()", [&] { participant.getMaxTimeStepSize(); });
    refused("has no mesh \"Lift-Mesh\"", [&] { participant.getMeshDimensions("Lift-Mesh"); });
    refused("no data \"Speed\"", [&] { participant.getDataDimensions(mesh, "Speed"); });
    refused("2 are wanted", [&] { participant.setMeshVertex(mesh, places); });
    refused("8 are wanted", [&] { participant.setMeshVertices(mesh, values, ids); });
    refused("each cell has 3", [&] { participant.setMeshTriangles(mesh, ids); });
    refused("beyond them", [&] { participant.setMeshEdge(mesh, 0, 5); });
    refused("does not write", [&] { participant.writeData(mesh, neighbours, all, values); });
    refused("4 numbers are given", [&] { participant.writeData(mesh, own, all, std::vector<double>(4)); });
    refused("1 of 1 values", [&] { participant.writeData(mesh, own, {&vertex, 1}, std::vector<double>{NAN}); });
    refused("1 of 2 coordinates", [&] { participant.setMeshVertex(mesh, std::vector<double>{0, INFINITY}); });
    const precice::VertexID beyond = 7;
    refused("beyond them", [&] { participant.writeData(mesh, own, {&beyond, 1}, std::vector<double>{0}); });
    if (participant.requiresInitialData()) participant.writeData(mesh, own, all, values);
    participant.initialize();
    refused("was called before", [&] { participant.initialize(); });
    refused("after initialize()", [&] { participant.setMeshVertex(mesh, origin); });
    refused("belongs before", [&] { participant.requiresInitialData(); });
    refused("was not called before advance()", [&] { participant.advance(0.01); });
    refused("does not read", [&] { participant.readData(mesh, own, all, 0, found); });
    refused("is not between 0 and", [&] { participant.readData(mesh, neighbours, all, 1, found); });

    int windows = 0;
    while (participant.isCouplingOngoing()) {
        if (participant.requiresWritingCheckpoint()) saved = state;
        const double dt = std::min(0.01 / steps, participant.getMaxTimeStepSize());
        participant.readData(mesh, neighbours, all, 0, found);
        const double here = found[0];
        participant.readData(mesh, neighbours, all, dt, found);
        for (const double value : found) check(value == found[0], "values of the neighbour");
        state = stepped(state, here, found[0], dt);
        values.assign(5, state.displacement);
        participant.writeData(mesh, own, all, values);
        refused("at most", [&] { participant.advance(2 * steps * dt); });
        participant.advance(dt);
        if (participant.requiresReadingCheckpoint()) state = saved;
        windows += participant.isTimeWindowComplete();
    }
    refused("after the last window", [&] { participant.advance(0.01); });
    participant.finalize();
    refused("was called before", [&] { participant.finalize(); });
    refused("after finalize()", [&] { participant.isCouplingOngoing(); });
    std::printf("windows %d time %.6f displacement %.17g\n", windows, state.time, state.displacement);
}
