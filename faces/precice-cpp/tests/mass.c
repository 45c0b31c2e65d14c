/* A mass of the oscillator in preCICE's calls in C: mass_c NAME DISPLACEMENT [MISTAKE]. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <precice/preciceC.h>

static void check(int is_good, const char *what) {
    if (is_good) return;
    printf("wrong: %s\n", what);
    exit(1);
}

int main(int count, char **arguments) {
    const double pi = acos(-1.0), wall = 4 * pi * pi, between = 16 * pi * pi;
    const int is_left = strncmp(arguments[1], "Left", 4) == 0;
    const char *mesh = is_left ? "Left-Mesh" : "Right-Mesh";
    const char *own = is_left ? "Left-Displacement" : "Right-Displacement";
    const char *neighbours = is_left ? "Right-Displacement" : "Left-Displacement";
    const char *mistake = count > 3 ? arguments[3] : "";
    const double origin[] = {0.0, 0.0}, places[] = {1.0, 0.0, 1.0, 1.0, 0.0, 1.0};
    const int cells[] = {0, 1, 2, 3};
    int ids[3], windows = 0;
    double u = atof(arguments[2]), v = 0.0, time = 0.0, saved[3], values[4], found[4];

    if (strcmp(mistake, "order") == 0) precicec_initialize();
    if (strcmp(mistake, "ranks") == 0) precicec_createParticipant(arguments[1], "elsewhere.xml", 1, 2);
    precicec_createParticipant_withCommunicator(arguments[1], "elsewhere.xml", 0, 1, NULL);
    if (strcmp(mistake, "twice") == 0) precicec_createParticipant(arguments[1], "elsewhere.xml", 0, 1);
    check(strstr(precicec_getVersionInformation(), "ligament") != NULL, "version");
    check(precicec_getMeshDimensions(mesh) == 2 && precicec_getDataDimensions(mesh, own) == 1, "dimensions");
    check(!precicec_requiresMeshConnectivityFor(mesh), "connectivity");
    check(!precicec_requiresGradientDataFor(mesh, own), "gradients");
    check(precicec_setMeshVertex(mesh, origin) == 0, "vertex");
    precicec_setMeshVertices(mesh, 3, places, ids);
    check(ids[0] == 1 && ids[2] == 3 && precicec_getMeshVertexSize(mesh) == 4, "vertices");
    precicec_setMeshEdge(mesh, 0, 1);
    precicec_setMeshEdges(mesh, 2, cells);
    precicec_setMeshTriangle(mesh, 0, 1, 2);
    precicec_setMeshTriangles(mesh, 1, cells);
    precicec_setMeshQuad(mesh, 0, 1, 2, 3);
    precicec_setMeshQuads(mesh, 1, cells);
    precicec_setMeshTetrahedron(mesh, 0, 1, 2, 3);
    precicec_setMeshTetrahedra(mesh, 1, cells);
    if (strcmp(mistake, "vertex") == 0) precicec_setMeshEdge(mesh, 0, 4);
    if (strcmp(mistake, "size") == 0) precicec_setMeshEdges(mesh, -1, cells);
    for (int i = 0; i < 4; ++i) values[i] = u;
    if (precicec_requiresInitialData()) precicec_writeData(mesh, own, 4, cells, values);
    precicec_initialize();
    while (precicec_isCouplingOngoing()) {
        if (precicec_requiresWritingCheckpoint()) {
            saved[0] = u;
            saved[1] = v;
            saved[2] = time;
        }
        const double dt = precicec_getMaxTimeStepSize();
        precicec_readData(mesh, neighbours, 4, cells, 0.0, found);
        const double before = between * found[3] - (wall + between) * u;
        precicec_readData(mesh, neighbours, 4, cells, dt, found);
        u = (u + dt * v + dt * dt / 4 * (before + between * found[0])) / (1 + dt * dt / 4 * (wall + between));
        v += dt / 2 * (before + between * found[0] - (wall + between) * u);
        time += dt;
        for (int i = 0; i < 4; ++i) values[i] = u;
        if (strcmp(mistake, "dies") == 0 && windows == 3) abort();
        precicec_writeData(mesh, own, 4, cells, values);
        precicec_advance(dt);
        if (precicec_requiresReadingCheckpoint()) {
            u = saved[0];
            v = saved[1];
            time = saved[2];
        }
        windows += precicec_isTimeWindowComplete();
    }
    precicec_finalize();
    printf("windows %d time %.6f displacement %.17g\n", windows, time, u);
    return 0;
}
