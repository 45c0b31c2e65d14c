// preCICE's calls in C: one participant, and errors that end the run.
#include <precice/preciceC.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>

#include <precice/precice.hpp>

namespace precice {

void endRun(Participant &participant, const char *reason);

namespace {

std::unique_ptr<Participant> &own() {
    static std::unique_ptr<Participant> participant;
    return participant;
}

[[noreturn]] void end(const char *reason) {
    std::fprintf(stderr, "%s\n", reason);
    try {
        if (own()) endRun(*own(), reason);
    } catch (const std::exception &error) {
        std::fprintf(stderr, "%s\n", error.what());
    }
    std::exit(EXIT_FAILURE);
}

// Makes a call of the participant. No exception passes through code in C.
template <class Call>
auto with_own(Call call) -> decltype(call(*own())) {
    try {
        if (!own()) throw Error("precicec_createParticipant() was not called before");
        return call(*own());
    } catch (const std::exception &error) {
        end(error.what());
    }
}

std::size_t count(int size) {
    if (size < 0) throw Error("a number of vertices or cells is " + std::to_string(size));
    return static_cast<std::size_t>(size);
}

span<const VertexID> corners(const int *ids, int size, std::size_t of_each) {
    return {ids, count(size) * of_each};
}

}  // namespace

}  // namespace precice

using precice::corners;
using precice::count;
using precice::Participant;
using precice::with_own;

void precicec_createParticipant(const char *participantName, const char *configFileName, int solverProcessIndex,
                                int solverProcessSize) {
    precicec_createParticipant_withCommunicator(participantName, configFileName, solverProcessIndex,
                                                solverProcessSize, nullptr);
}

void precicec_createParticipant_withCommunicator(const char *participantName, const char *configFileName,
                                                 int solverProcessIndex, int solverProcessSize,
                                                 void *communicator) {
    try {
        if (precice::own())
            throw precice::Error("precicec_createParticipant() was called before; call it once");
        precice::own() = std::make_unique<Participant>(participantName, configFileName, solverProcessIndex,
                                                       solverProcessSize, communicator);
    } catch (const std::exception &error) {
        precice::end(error.what());
    }
}

void precicec_initialize(void) {
    with_own([](Participant &one) { one.initialize(); });
}
void precicec_advance(double computedTimeStepSize) {
    with_own([&](Participant &one) { one.advance(computedTimeStepSize); });
}
void precicec_finalize(void) {
    with_own([](Participant &one) { one.finalize(); });
    precice::own().reset();
}

int precicec_getMeshDimensions(const char *meshName) {
    return with_own([&](Participant &one) { return one.getMeshDimensions(meshName); });
}
int precicec_getDataDimensions(const char *meshName, const char *dataName) {
    return with_own([&](Participant &one) { return one.getDataDimensions(meshName, dataName); });
}
int precicec_isCouplingOngoing(void) {
    return with_own([](Participant &one) { return one.isCouplingOngoing(); });
}
int precicec_isTimeWindowComplete(void) {
    return with_own([](Participant &one) { return one.isTimeWindowComplete(); });
}
double precicec_getMaxTimeStepSize(void) {
    return with_own([](Participant &one) { return one.getMaxTimeStepSize(); });
}

int precicec_requiresInitialData(void) {
    return with_own([](Participant &one) { return one.requiresInitialData(); });
}
int precicec_requiresWritingCheckpoint(void) {
    return with_own([](Participant &one) { return one.requiresWritingCheckpoint(); });
}
int precicec_requiresReadingCheckpoint(void) {
    return with_own([](Participant &one) { return one.requiresReadingCheckpoint(); });
}
int precicec_requiresMeshConnectivityFor(const char *meshName) {
    return with_own([&](Participant &one) { return one.requiresMeshConnectivityFor(meshName); });
}
int precicec_requiresGradientDataFor(const char *meshName, const char *dataName) {
    return with_own([&](Participant &one) { return one.requiresGradientDataFor(meshName, dataName); });
}

int precicec_setMeshVertex(const char *meshName, const double *coordinates) {
    return with_own([&](Participant &one) {
        return one.setMeshVertex(meshName, {coordinates, count(one.getMeshDimensions(meshName))});
    });
}
int precicec_getMeshVertexSize(const char *meshName) {
    return with_own([&](Participant &one) { return one.getMeshVertexSize(meshName); });
}
void precicec_setMeshVertices(const char *meshName, int size, const double *coordinates, int *ids) {
    with_own([&](Participant &one) {
        const std::size_t all = count(size) * count(one.getMeshDimensions(meshName));
        one.setMeshVertices(meshName, {coordinates, all}, {ids, count(size)});
    });
}

void precicec_setMeshAccessRegion(const char *meshName, const double *boundingBox) {
    with_own([&](Participant &one) {
        one.setMeshAccessRegion(meshName, {boundingBox, 2 * count(one.getMeshDimensions(meshName))});
    });
}
void precicec_getMeshVertexIDsAndCoordinates(const char *meshName, int size, int *ids, double *coordinates) {
    with_own([&](Participant &one) {
        const std::size_t all = count(size) * count(one.getMeshDimensions(meshName));
        one.getMeshVertexIDsAndCoordinates(meshName, {ids, count(size)}, {coordinates, all});
    });
}

void precicec_setMeshEdge(const char *meshName, int firstVertexID, int secondVertexID) {
    with_own([&](Participant &one) { one.setMeshEdge(meshName, firstVertexID, secondVertexID); });
}
void precicec_setMeshEdges(const char *meshName, int size, const int *ids) {
    with_own([&](Participant &one) { one.setMeshEdges(meshName, corners(ids, size, 2)); });
}
void precicec_setMeshTriangle(const char *meshName, int firstVertexID, int secondVertexID, int thirdVertexID) {
    with_own(
        [&](Participant &one) { one.setMeshTriangle(meshName, firstVertexID, secondVertexID, thirdVertexID); });
}
void precicec_setMeshTriangles(const char *meshName, int size, const int *ids) {
    with_own([&](Participant &one) { one.setMeshTriangles(meshName, corners(ids, size, 3)); });
}
void precicec_setMeshQuad(const char *meshName, int firstVertexID, int secondVertexID, int thirdVertexID,
                          int fourthVertexID) {
    with_own([&](Participant &one) {
        one.setMeshQuad(meshName, firstVertexID, secondVertexID, thirdVertexID, fourthVertexID);
    });
}
void precicec_setMeshQuads(const char *meshName, int size, const int *ids) {
    with_own([&](Participant &one) { one.setMeshQuads(meshName, corners(ids, size, 4)); });
}
void precicec_setMeshTetrahedron(const char *meshName, int firstVertexID, int secondVertexID, int thirdVertexID,
                                 int fourthVertexID) {
    with_own([&](Participant &one) {
        one.setMeshTetrahedron(meshName, firstVertexID, secondVertexID, thirdVertexID, fourthVertexID);
    });
}
void precicec_setMeshTetrahedra(const char *meshName, int size, const int *ids) {
    with_own([&](Participant &one) { one.setMeshTetrahedra(meshName, corners(ids, size, 4)); });
}

void precicec_writeData(const char *meshName, const char *dataName, int size, const int *valueIndices,
                        const double *values) {
    with_own([&](Participant &one) {
        const std::size_t all = count(size) * count(one.getDataDimensions(meshName, dataName));
        one.writeData(meshName, dataName, {valueIndices, count(size)}, {values, all});
    });
}
void precicec_readData(const char *meshName, const char *dataName, int size, const int *valueIndices,
                       double relativeReadTime, double *values) {
    with_own([&](Participant &one) {
        const std::size_t all = count(size) * count(one.getDataDimensions(meshName, dataName));
        one.readData(meshName, dataName, {valueIndices, count(size)}, relativeReadTime, {values, all});
    });
}

void precicec_writeGradientData(const char *meshName, const char *dataName, int, const int *, const double *) {
    with_own([&](Participant &one) { one.writeGradientData(meshName, dataName, {}, {}); });
}

void precicec_startProfilingSection(const char *sectionName) {
    with_own([&](Participant &one) { one.startProfilingSection(sectionName); });
}
void precicec_stopLastProfilingSection(void) {
    with_own([](Participant &one) { one.stopLastProfilingSection(); });
}

const char *precicec_getVersionInformation(void) {
    static const std::string version = precice::getVersionInformation();
    return version.c_str();
}
