/* preCICE 3's calls in C, over Ligament. A process has one participant. An error ends the run with its text,
   and the program with exit status 1. Coordinates and vectors of a vertex lie next to each other. Times are in
   s. */
#ifndef PRECICE_PRECICE_C_H
#define PRECICE_PRECICE_C_H

#ifdef __cplusplus
extern "C" {
#endif

void precicec_createParticipant(const char *participantName, const char *configFileName, int solverProcessIndex,
                                int solverProcessSize);
/* The communicator has no effect. */
void precicec_createParticipant_withCommunicator(const char *participantName, const char *configFileName,
                                                 int solverProcessIndex, int solverProcessSize,
                                                 void *communicator);

void precicec_initialize(void);
void precicec_advance(double computedTimeStepSize);
void precicec_finalize(void);

int precicec_getMeshDimensions(const char *meshName);
int precicec_getDataDimensions(const char *meshName, const char *dataName);
int precicec_isCouplingOngoing(void);
int precicec_isTimeWindowComplete(void);
double precicec_getMaxTimeStepSize(void);

int precicec_requiresInitialData(void);
int precicec_requiresWritingCheckpoint(void);
int precicec_requiresReadingCheckpoint(void);
int precicec_requiresMeshConnectivityFor(const char *meshName);
int precicec_requiresGradientDataFor(const char *meshName, const char *dataName);

int precicec_setMeshVertex(const char *meshName, const double *coordinates);
int precicec_getMeshVertexSize(const char *meshName);
// The points of a received mesh in a region: the least and the greatest coordinate along each axis, in turns.
void precicec_setMeshAccessRegion(const char *meshName, const double *boundingBox);
void precicec_getMeshVertexIDsAndCoordinates(const char *meshName, int size, int *ids, double *coordinates);
void precicec_setMeshVertices(const char *meshName, int size, const double *coordinates, int *ids);
/* Nearest projections take edges, triangles and quads. No mapping takes tetrahedra. A size is the number of
   cells. */
void precicec_setMeshEdge(const char *meshName, int firstVertexID, int secondVertexID);
void precicec_setMeshEdges(const char *meshName, int size, const int *ids);
void precicec_setMeshTriangle(const char *meshName, int firstVertexID, int secondVertexID, int thirdVertexID);
void precicec_setMeshTriangles(const char *meshName, int size, const int *ids);
void precicec_setMeshQuad(const char *meshName, int firstVertexID, int secondVertexID, int thirdVertexID,
                          int fourthVertexID);
void precicec_setMeshQuads(const char *meshName, int size, const int *ids);
void precicec_setMeshTetrahedron(const char *meshName, int firstVertexID, int secondVertexID, int thirdVertexID,
                                 int fourthVertexID);
void precicec_setMeshTetrahedra(const char *meshName, int size, const int *ids);

void precicec_writeData(const char *meshName, const char *dataName, int size, const int *valueIndices,
                        const double *values);
void precicec_readData(const char *meshName, const char *dataName, int size, const int *valueIndices,
                       double relativeReadTime, double *values);

/* An error: no mapping takes gradients, so precicec_requiresGradientDataFor() never asks for them. */
void precicec_writeGradientData(const char *meshName, const char *dataName, int size, const int *valueIndices,
                                const double *gradients);

/* Without effect: `ligament timeline` shows where time goes. */
void precicec_startProfilingSection(const char *sectionName);
void precicec_stopLastProfilingSection(void);

const char *precicec_getVersionInformation(void);

#ifdef __cplusplus
}
#endif

#endif
