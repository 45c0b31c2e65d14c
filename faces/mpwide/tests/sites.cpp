// A program at two sites, each of which knows the other's address only: sites OTHER PORT ROUNDS.

#include "peer.hpp"

int main(int, char **argv) {
    const std::string other = argv[1];
    const int port = std::atoi(argv[2]), rounds = std::atoi(argv[3]);
    const int path = MPW_CreatePath(other, port, 4);
    HOLDS(path >= 0);
    std::string hosts[] = {other, other};
    int ports[] = {port + 4, port + 5}, streams[] = {4, 5};
    HOLDS(MPW_Init(hosts, ports, 2) == 0);
    std::cout << "connected" << std::endl;
    for (int i = 0; i < rounds; ++i) {
        Pattern own(20000, static_cast<std::size_t>(i));
        std::vector<char> came(20000);
        HOLDS(MPW_SendRecv(own.data(), 20000, came.data(), 20000, path) == 0);
        HOLDS(same(came, own));
        HOLDS(MPW_SendRecv(own.data(), 20000, came.data(), 20000, streams, 2) == 0);
        HOLDS(same(came, own));
    }
    HOLDS(MPW_Finalize() == 1);
}
