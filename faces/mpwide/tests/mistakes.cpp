// Mistakes of a program, and of the other end: mistakes CASE PORT. What is printed is checked by the test.

#include "peer.hpp"

#include <cerrno>
#include <climits>

static int last_call(const std::string &mistake, int port) {
    char place[100] = {};
    int ones[] = {0, 1};
    if (mistake == "unknown path") return MPW_Send(place, 1, 7);
    if (mistake == "unknown host") return MPW_CreatePath("no.such.host.invalid", port, 1);
    if (mistake == "no streams") return MPW_CreatePathWithoutConnect("localhost", port, 0);
    if (mistake == "bad port") return MPW_CreatePathWithoutConnect("localhost", 65535, 2);
    if (mistake == "no port") return MPW_Init("localhost");
    if (mistake == "nobody")
        return MPW_ConnectPath(MPW_CreatePathWithoutConnect("localhost", port, 1), false);
    if (mistake == "patience") return MPW_CreatePath("localhost", port, 1);
    if (mistake == "no key") return MPW_CreatePath("localhost", port, 1);
    if (mistake == "unknown exchange") return MPW_Wait(3), 0;
    if (mistake == "unknown stream") return MPW_setWin(3, 1), 0;
    if (mistake == "bad rate") return MPW_setPacingRate(0.0), 0;
    if (mistake == "no parts") return MPW_splitBuf(place, 100, 0, nullptr, nullptr), 0;
    if (mistake == "bad chunk") return MPW_setChunkSize(0, 1), 0;
    const int path = MPW_CreatePathWithoutConnect("localhost", port, 4);
    if (mistake == "unconnected") return MPW_Recv(place, 1, path);
    if (mistake == "below zero") return MPW_ConnectPath(path, true), MPW_Send(place, -1, path);
    if (mistake == "null") return MPW_ConnectPath(path, true), MPW_Recv(nullptr, 1, path);
    if (mistake == "some streams")
        return MPW_ConnectPath(path, true), MPW_SendRecv(place, 1, nullptr, 0, ones, 2);
    if (mistake == "twice") {
        std::string hosts[] = {"localhost", "localhost"};
        int ports[] = {port + 4, port + 5}, named[] = {4, 4};
        return MPW_Init(hosts, ports, 2), MPW_SendRecv(place, 1, nullptr, 0, named, 2);
    }
    return 0;
}

// The other end sends what this one cannot take, or goes away.
static int against_peer(const std::string &mistake, int port) {
    const bool first = mistake.find(" one") != std::string::npos;
    std::vector<char> place(300000);
    if (mistake.rfind("divided", 0) == 0) {
        std::string hosts[] = {"localhost", "localhost"};
        int ports[] = {port, port + 1}, both[] = {0, 1};
        HOLDS(MPW_Init(hosts, ports, 2) == 0);
        if (first) return MPW_SendRecv(place.data(), 200000, nullptr, 0, both, 2);
        return MPW_SendRecv(nullptr, 0, place.data(), 100000, both, 2);
    }
    const int path = MPW_CreatePath("localhost", port, 2);
    HOLDS(path >= 0);
    if (mistake.rfind("too long", 0) == 0)
        return MPW_DSendRecv(place.data(), first ? 200000 : 3, place.data(), 1000, path);
    if (first) return std::cout << "connected" << std::endl, MPW_Recv(place.data(), 2, path);
    HOLDS(MPW_Send(place.data(), 1, path) == 0);
    if (mistake.rfind("killed", 0) == 0) std::cout << "sent" << std::endl, std::cin.get();
    return 0;
}

int main(int, char **argv) {
    const std::string mistake = argv[1];
    const bool peer = mistake.find(" one") != std::string::npos || mistake.find(" two") != std::string::npos;
    const int port = std::atoi(argv[2]);
    const int result = peer ? against_peer(mistake, port) : last_call(mistake, port);
    std::cout << "returned " << result << std::endl;
}
