#include <precice/precice.hpp>

#include <algorithm>

#include "session.hpp"

namespace precice {

namespace {

std::string text(string_view view) {
    return std::string(view.data(), view.size());
}

// Errors of Ligament become the one error of this library.
template <class Call>
auto as_error(Call call) -> decltype(call()) {
    try {
        return call();
    } catch (const ligament::Error &error) {
        throw Error(error.what());
    }
}

void check_count(const char *call, std::size_t given, std::size_t wanted) {
    if (given == wanted) return;
    throw Error(std::string(call) + "(): " + std::to_string(given) + " numbers are given, and " +
                std::to_string(wanted) + " are wanted, by the number of vertices and the dimensions");
}

}  // namespace

std::string getVersionInformation() {
    return "3.0.0;ligament;face";
}

Participant::Participant(string_view participantName, string_view configurationFileName, int solverProcessIndex,
                         int solverProcessSize)
    : Participant(participantName, configurationFileName, solverProcessIndex, solverProcessSize, nullptr) {}

Participant::Participant(string_view participantName, string_view, int solverProcessIndex,
                         int solverProcessSize, void *) {
    session_ = as_error([&] {
        return std::make_unique<impl::Session>(text(participantName), solverProcessIndex, solverProcessSize);
    });
}

Participant::~Participant() = default;

void Participant::initialize() {
    as_error([&] { session_->initialize(); });
}
void Participant::advance(double computedTimeStepSize) {
    as_error([&] { session_->advance(computedTimeStepSize); });
}
void Participant::finalize() {
    as_error([&] { session_->finalize(); });
}

int Participant::getMeshDimensions(string_view meshName) const {
    return session_->mesh_dimensions(text(meshName));
}
int Participant::getDataDimensions(string_view meshName, string_view dataName) const {
    return session_->data_dimensions(text(meshName), text(dataName));
}
bool Participant::isCouplingOngoing() const {
    return session_->is_ongoing();
}
bool Participant::isTimeWindowComplete() const {
    return session_->is_complete();
}
double Participant::getMaxTimeStepSize() const {
    return session_->max_step();
}

bool Participant::requiresInitialData() {
    return session_->needs_initial_data();
}
bool Participant::requiresWritingCheckpoint() {
    return session_->takes_checkpoint();
}
bool Participant::requiresReadingCheckpoint() {
    return session_->restores_checkpoint();
}
bool Participant::requiresMeshConnectivityFor(string_view meshName) const {
    return session_->needs_cells(text(meshName));
}
bool Participant::requiresGradientDataFor(string_view meshName, string_view dataName) const {
    session_->data_dimensions(text(meshName), text(dataName));
    return false;
}

VertexID Participant::setMeshVertex(string_view meshName, span<const double> position) {
    check_count("setMeshVertex", position.size(), static_cast<std::size_t>(getMeshDimensions(meshName)));
    return session_->add_points(text(meshName), position.data(), position.size());
}
int Participant::getMeshVertexSize(string_view meshName) const {
    return session_->point_count(text(meshName));
}
void Participant::setMeshVertices(string_view meshName, span<const double> coordinates, span<VertexID> ids) {
    const auto dimensions = static_cast<std::size_t>(getMeshDimensions(meshName));
    check_count("setMeshVertices", coordinates.size(), ids.size() * dimensions);
    VertexID next = session_->add_points(text(meshName), coordinates.data(), coordinates.size());
    for (VertexID &id : ids) id = next++;
}

void Participant::setMeshAccessRegion(string_view meshName, span<const double> boundingBox) const {
    session_->set_region(text(meshName), boundingBox.data(), boundingBox.size());
}
void Participant::getMeshVertexIDsAndCoordinates(string_view meshName, span<VertexID> ids,
                                                 span<double> coordinates) const {
    const std::string mesh = text(meshName);
    const auto dimensions = static_cast<std::size_t>(getMeshDimensions(meshName));
    const std::vector<VertexID> inside = session_->accessed(mesh);
    check_count("getMeshVertexIDsAndCoordinates", ids.size(), inside.size());
    check_count("getMeshVertexIDsAndCoordinates", coordinates.size(), inside.size() * dimensions);
    std::copy(inside.begin(), inside.end(), ids.begin());
    for (std::size_t i = 0; i < inside.size(); ++i) {
        std::copy_n(session_->coordinates(mesh, inside[i]), dimensions, coordinates.begin() + i * dimensions);
    }
}

void Participant::setMeshEdge(string_view meshName, VertexID first, VertexID second) {
    const VertexID ids[] = {first, second};
    setMeshEdges(meshName, ids);
}
void Participant::setMeshEdges(string_view meshName, span<const VertexID> ids) {
    session_->add_cells(text(meshName), 2, ids.data(), ids.size());
}
void Participant::setMeshTriangle(string_view meshName, VertexID first, VertexID second, VertexID third) {
    const VertexID ids[] = {first, second, third};
    setMeshTriangles(meshName, ids);
}
void Participant::setMeshTriangles(string_view meshName, span<const VertexID> ids) {
    session_->add_cells(text(meshName), 3, ids.data(), ids.size());
}
void Participant::setMeshQuad(string_view meshName, VertexID first, VertexID second, VertexID third,
                              VertexID fourth) {
    const VertexID ids[] = {first, second, third, fourth};
    setMeshQuads(meshName, ids);
}
void Participant::setMeshQuads(string_view meshName, span<const VertexID> ids) {
    session_->add_cells(text(meshName), 4, ids.data(), ids.size());
}
void Participant::setMeshTetrahedron(string_view meshName, VertexID first, VertexID second, VertexID third,
                                     VertexID fourth) {
    const VertexID ids[] = {first, second, third, fourth};
    setMeshTetrahedra(meshName, ids);
}
void Participant::setMeshTetrahedra(string_view meshName, span<const VertexID> ids) {
    session_->check_corners(text(meshName), 4, ids.data(), ids.size());
}

void Participant::startProfilingSection(string_view) {}
void Participant::stopLastProfilingSection() {}

void Participant::writeData(string_view meshName, string_view dataName, span<const VertexID> ids,
                            span<const double> values) {
    const auto width = static_cast<std::size_t>(getDataDimensions(meshName, dataName));
    check_count("writeData", values.size(), ids.size() * width);
    session_->write({text(dataName), text(meshName)}, ids.data(), ids.size(), values.data());
}
void Participant::writeGradientData(string_view meshName, string_view dataName, span<const VertexID>,
                                    span<const double>) {
    const std::string mesh = text(meshName), data = text(dataName);
    session_->data_dimensions(mesh, data);
    throw Error("writeGradientData(\"" + mesh + "\", \"" + data +
                "\"): no mapping takes gradients; call it only if requiresGradientDataFor() is true");
}
void Participant::readData(string_view meshName, string_view dataName, span<const VertexID> ids,
                           double relativeReadTime, span<double> values) const {
    const auto width = static_cast<std::size_t>(getDataDimensions(meshName, dataName));
    check_count("readData", values.size(), ids.size() * width);
    session_->read({text(dataName), text(meshName)}, ids.data(), ids.size(), relativeReadTime, values.data());
}

void endRun(Participant &participant, const char *reason) {
    participant.session_->fail(reason);
}

}  // namespace precice
