/* The program of access.cpp in C. With an argument, the region is empty: its least y is above its greatest. */
#include <math.h>

#include <precice/preciceC.h>

enum { POINTS = 10 };

int main(int count, char **arguments) {
    const char *mesh = "Solid-Mesh";
    const double box[] = {-INFINITY, 0.7, count > 1 ? 20.0 : -1.0, 10.0};
    int ids[POINTS];
    double points[2 * POINTS], heat[POINTS], force[2 * POINTS];
    (void)arguments;
    precicec_createParticipant("Fluid", "../precice-config.xml", 0, 1);
    precicec_setMeshAccessRegion(mesh, box);
    precicec_initialize();
    const int size = precicec_getMeshVertexSize(mesh);
    if (size > POINTS) return 1;
    precicec_getMeshVertexIDsAndCoordinates(mesh, size, ids, points);
    while (precicec_isCouplingOngoing()) {
        const double dt = precicec_getMaxTimeStepSize();
        precicec_readData(mesh, "Heat", size, ids, dt, heat);
        for (int i = 0; i < size; ++i) {
            force[2 * i] = points[2 * i];
            force[2 * i + 1] = heat[i];
        }
        precicec_writeData(mesh, "Force", size, ids, force);
        precicec_advance(dt);
    }
    precicec_finalize();
    return 0;
}
