// Three programs in a row: relay ROLE PORT. The middle one passes on what comes over two streams each way. The
// left one waits to be killed, or closes, if its role says so, and then the right one waits for more.

#include "peer.hpp"

int main(int, char **argv) {
    const std::string role = argv[1];
    const int port = std::atoi(argv[2]);
    std::string hosts[4] = {"localhost", "localhost", "localhost", "localhost"};
    int ports[4] = {port, port + 1, port + 2, port + 3};
    int ones[] = {0, 1}, others[] = {2, 3};
    if (role == "middle") {
        HOLDS(MPW_Init(hosts, ports, 4) == 0);
        MPW_Relay(ones, others, 2);
        MPW_Finalize();
        return 0;
    }
    HOLDS(MPW_Init(hosts, role.rfind("left", 0) == 0 ? ports : ports + 2, 2) == 0);
    if (role == "left killed" || role == "left closes") {
        std::cout << "connected" << std::endl;
        if (role == "left killed") std::cin.get();
        return MPW_Finalize() - 1;
    }
    if (role == "right waits") {
        char byte = 0;
        const int result = MPW_SendRecv(nullptr, 0, &byte, 1, ones, 1);
        std::cout << "returned " << result << std::endl;
        return 0;
    }
    for (const long long length : {3ll, 1000000ll}) {
        Pattern own(static_cast<std::size_t>(length), role == "left"),
            theirs(own.bytes.size(), role != "left");
        std::vector<char> came(own.bytes.size());
        HOLDS(MPW_SendRecv(own.data(), length, came.data(), length, ones, 2) == 0);
        HOLDS(same(came, theirs));
    }
    HOLDS(MPW_Finalize() == 1);
}
