// One of two participants, of which only Flow sends data: one_way NAME. What it does is in one_way.py.
#include <cstdio>
#include <string>
#include <vector>

#include <precice/precice.hpp>

int main(int, char **arguments) {
    const std::string name = arguments[1], mesh = name + "-Mesh";
    precice::Participant participant(name, "../precice-config.xml", 0, 1);
    const std::vector<double> points = {0.0, 0.0, 1.0, 0.0};
    std::vector<int> ids(2);
    participant.setMeshVertices(mesh, points, ids);
    participant.initialize();
    int window = 0;
    std::vector<double> read, values(2);
    while (participant.isCouplingOngoing()) {
        const double dt = participant.getMaxTimeStepSize();
        if (name == "Flow") {
            participant.writeData(mesh, "Speed", ids, std::vector<double>(2, window + 1.0));
        } else {
            for (const double at : {0.0, dt}) {
                participant.readData(mesh, "Speed", ids, at, values);
                read.push_back(values[1]);
            }
        }
        participant.advance(dt);
        ++window;
    }
    participant.finalize();
    std::printf("%d", window);
    for (const double value : read) std::printf(" %.1f", value);
    std::printf("\n");
}
