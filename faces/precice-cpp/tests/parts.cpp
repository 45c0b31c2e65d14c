// A source with two meshes that writes on some vertices in each window, and receives nothing; and a sink.
#include <cstdio>
#include <string>
#include <vector>

#include <precice/precice.hpp>

int main(int, char **argv) {
    const std::string name = argv[1], meshes[] = {"Left-" + name, "Right-" + name};
    precice::Participant participant(name, "../precice-config.xml", 0, 1);
    const std::vector<double> line = {0.0, 0.0, 1.0, 0.0, 2.0, 0.0};
    std::vector<int> vertices(3);
    for (const auto &mesh : meshes) participant.setMeshVertices(mesh, line, vertices);
    // The configuration does not ask for values at the beginning.
    const std::vector<double> nines = {9.0, 9.0, 9.0};
    if (name == "Source") participant.writeData(meshes[0], "Heat", vertices, nines);
    participant.initialize();
    std::string came;
    for (int window = 1; participant.isCouplingOngoing(); ++window) {
        participant.startProfilingSection("window");
        const double dt = participant.getMaxTimeStepSize();
        if (participant.requiresGradientDataFor(meshes[0], "Heat")) {
            participant.writeGradientData(meshes[0], "Heat", vertices, line);
        }
        if (name == "Source") {
            const std::vector<int> some(vertices.begin(), vertices.begin() + window % 3);
            std::vector<double> few, all;
            for (int i = 0; i < window % 3; ++i) few.push_back(10.0 * window + i);
            for (int i = 0; i < 3; ++i) all.push_back(100.0 * window + i);
            participant.writeData(meshes[0], "Heat", some, few);
            participant.writeData(meshes[1], "Heat", vertices, all);
        } else {
            came += came.empty() ? "[" : ", [";
            for (int i = 0; i < 4; ++i) {
                std::vector<double> values(3);
                participant.readData(meshes[i / 2], "Heat", vertices, i % 2 == 0 ? 0.0 : dt, values);
                char text[80];
                std::snprintf(text, sizeof text, "%s[%g, %g, %g]", i > 0 ? ", " : "", values[0], values[1],
                              values[2]);
                came += text;
            }
            came += "]";
        }
        participant.stopLastProfilingSection();
        participant.advance(dt);
    }
    // The destructor ends the participant, too.
    std::printf("[%s]\n", came.c_str());
}
