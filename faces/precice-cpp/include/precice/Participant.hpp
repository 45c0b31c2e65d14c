// A program that takes part in a coupled simulation.
#pragma once

#include <memory>

#include <precice/Exceptions.hpp>
#include <precice/Tooling.hpp>
#include <precice/Types.hpp>
#include <precice/span.hpp>

namespace precice {

namespace impl {
class Session;
}

// Every call throws Error. Coordinates and vectors of a vertex lie next to each other. Times are in s.
class Participant {
public:
    // Joins the run that started this program. The model has the configuration, so the file is not read. A
    // participant is one process: 0 and 1.
    Participant(string_view participantName, string_view configurationFileName, int solverProcessIndex,
                int solverProcessSize);
    // Does the same. A communicator has no effect.
    Participant(string_view participantName, string_view configurationFileName, int solverProcessIndex,
                int solverProcessSize, void *communicator);
    ~Participant();
    Participant(const Participant &) = delete;
    Participant &operator=(const Participant &) = delete;

    // Exchanges meshes and initial values, and waits for the values of the first window.
    void initialize();
    // Ends a time step. At the end of a window, exchanges values and waits for those of the next.
    void advance(double computedTimeStepSize);
    // Ends the participant.
    void finalize();

    int getMeshDimensions(string_view meshName) const;
    int getDataDimensions(string_view meshName, string_view dataName) const;
    bool isCouplingOngoing() const;
    bool isTimeWindowComplete() const;
    // The rest of the window; 0 after the last one.
    double getMaxTimeStepSize() const;

    bool requiresInitialData();
    bool requiresWritingCheckpoint();
    bool requiresReadingCheckpoint();
    // True for a mesh on which a mapping projects.
    bool requiresMeshConnectivityFor(string_view meshName) const;
    // Always false: no mapping takes gradients.
    bool requiresGradientDataFor(string_view meshName, string_view dataName) const;

    VertexID setMeshVertex(string_view meshName, span<const double> position);
    int getMeshVertexSize(string_view meshName) const;
    void setMeshVertices(string_view meshName, span<const double> coordinates, span<VertexID> ids);
    // The points of a received mesh in a region: the least and the greatest coordinate along each axis, in
    // turns. getMeshVertexSize() is then the number of these points.
    void setMeshAccessRegion(string_view meshName, span<const double> boundingBox) const;
    void getMeshVertexIDsAndCoordinates(string_view meshName, span<VertexID> ids,
                                        span<double> coordinates) const;
    // Nearest projections take edges, triangles and quads. No mapping takes tetrahedra.
    void setMeshEdge(string_view meshName, VertexID first, VertexID second);
    void setMeshEdges(string_view meshName, span<const VertexID> ids);
    void setMeshTriangle(string_view meshName, VertexID first, VertexID second, VertexID third);
    void setMeshTriangles(string_view meshName, span<const VertexID> ids);
    void setMeshQuad(string_view meshName, VertexID first, VertexID second, VertexID third, VertexID fourth);
    void setMeshQuads(string_view meshName, span<const VertexID> ids);
    void setMeshTetrahedron(string_view meshName, VertexID first, VertexID second, VertexID third,
                            VertexID fourth);
    void setMeshTetrahedra(string_view meshName, span<const VertexID> ids);

    // Without effect: `ligament timeline` shows where time goes.
    void startProfilingSection(string_view sectionName);
    void stopLastProfilingSection();

    void writeData(string_view meshName, string_view dataName, span<const VertexID> ids,
                   span<const double> values);
    // Throws: no mapping takes gradients, so requiresGradientDataFor() never asks for them.
    void writeGradientData(string_view meshName, string_view dataName, span<const VertexID> ids,
                           span<const double> gradients);
    // Values at a time after the last call of advance().
    void readData(string_view meshName, string_view dataName, span<const VertexID> ids, double relativeReadTime,
                  span<double> values) const;

private:
    friend void endRun(Participant &participant, const char *reason);
    std::unique_ptr<impl::Session> session_;
};

}  // namespace precice
