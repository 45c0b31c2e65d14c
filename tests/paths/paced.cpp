// Sends a message at a pace, over a path that it opens: `paced KEY HOST:PORT BYTES-IN-A-SECOND BYTES`.

#include <cstdio>
#include <ligament/path.hpp>
#include <string>
#include <vector>

int main(int argc, char **argv) try {
    if (argc != 5) return 2;
    ligament::PathOptions options;
    options.compress = false;
    options.pace = std::stoull(argv[3]);
    const std::vector<char> bytes(std::stoul(argv[4]));
    ligament::Path path = ligament::Path::open(argv[1], argv[2], options);
    path.send(bytes.data(), bytes.size(), 60.0);
    path.close(60.0);
    return 0;
} catch (const std::exception &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
