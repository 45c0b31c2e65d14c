// Calls that name streams, which MPW_Init has made: streams ONE_OR_TWO PORT. Both ends run the same program.

#include "peer.hpp"

#include <algorithm>

static const long long LENGTH = 100001;

static void all_streams(int *all) {
    for (const long long length : {1ll, 2759ll, 8000ll, LENGTH}) {
        Pattern own(static_cast<std::size_t>(length), 1);
        std::vector<char> came(own.bytes.size());
        HOLDS(MPW_SendRecv(own.data(), length, came.data(), length, all, 4) == 0);
        HOLDS(same(came, own));
        std::fill(came.begin(), came.end(), 0);
        MPW_SendRecv_c(own.data(), length, came.data(), length, all, 4);
        HOLDS(same(came, own));
    }
}

static void one_way(bool first, int *all) {
    Pattern own(LENGTH, 2);
    std::vector<char> came(LENGTH);
    if (first) MPW_Send(own.data(), LENGTH, all, 4);
    if (!first) MPW_Recv(came.data(), LENGTH, all, 4);
    HOLDS(first || same(came, own));
    // One stream has no borders between its bytes.
    if (!first) MPW_Send(own.data(), LENGTH, all + 2, 1);
    if (first) MPW_Recv(came.data(), 1, all + 2, 1), MPW_Recv(came.data() + 1, LENGTH - 1, all + 2, 1);
    HOLDS(same(came, own));
}

// Parts that the program has divided go where MPW_SendRecv would have put them, for messages of some length.
static void parts(bool first, int *all) {
    Pattern own(LENGTH, 3);
    std::vector<char> came(LENGTH);
    char *out[4], *in[4];
    long long sizes[4];
    MPW_splitBuf(own.data(), LENGTH, 4, out, sizes);
    MPW_splitBuf(came.data(), LENGTH, 4, in, sizes);
    if (first) HOLDS(MPW_PSendRecv(out, sizes, in, sizes, all, 4) == 0);
    if (!first) HOLDS(MPW_SendRecv(own.data(), LENGTH, came.data(), LENGTH, all, 4) == 0);
    HOLDS(same(came, own));
    std::fill(came.begin(), came.end(), 0);
    MPW_PSendRecv_c(out, sizes, in, sizes, all, 4);
    HOLDS(same(came, own));
    // No part on some streams, in either direction.
    long long some[] = {sizes[0], 0, 0, 0}, others[] = {0, 0, 0, sizes[3]};
    std::fill(came.begin(), came.end(), 0);
    HOLDS(MPW_PSendRecv(out, first ? some : others, in, first ? others : some, all, 4) == 0);
    HOLDS(std::count(came.begin(), came.end(), 0) < LENGTH);
}

static void lengths(bool first, int *all) {
    Pattern small(10, 4), large(LENGTH, 5);
    std::vector<char> came(LENGTH);
    Pattern &own = first ? small : large, &others = first ? large : small;
    const long long size =
        MPW_DSendRecv(own.data(), static_cast<long long>(own.bytes.size()), came.data(), LENGTH, all, 4);
    HOLDS(size == static_cast<long long>(others.bytes.size()));
    came.resize(others.bytes.size());
    HOLDS(same(came, others));
}

static void cycles(bool first, int *all) {
    Pattern small(20000, 6), large(LENGTH, 7);
    std::vector<char> came(LENGTH);
    if (first) MPW_Cycle(small.data(), 20000, came.data(), LENGTH, all, 2, all + 2, 2);
    if (!first) MPW_Cycle(large.data(), LENGTH, came.data(), 20000, all + 2, 2, all, 2);
    came.resize(first ? LENGTH : 20000);
    HOLDS(same(came, first ? large : small));
    came.assign(LENGTH, 0);
    long long size = 0;
    if (first) size = MPW_DCycle(large.data(), 3, came.data(), LENGTH, all, 3, all + 3, 1);
    if (!first) size = MPW_DCycle(small.data(), 20000, came.data(), LENGTH, all + 3, 1, all, 3);
    HOLDS(size == (first ? 20000 : 3));
    came.resize(static_cast<std::size_t>(size));
    HOLDS(same(came, first ? small : Pattern(3, 7)));
}

int main(int, char **argv) {
    const bool first = std::string(argv[1]) == "one";
    const int port = std::atoi(argv[2]);
    std::string hosts[2] = {"localhost", "127.0.0.1"};
    int ports[2] = {port, port + 1}, client_ports[2] = {port + 8, port + 9};
    HOLDS(MPW_Init() == 0);
    HOLDS(MPW_Init(hosts, ports, client_ports, 2) == 0);
    int more[1] = {port + 2};
    if (first) HOLDS(MPW_Init(hosts, more, 1) == 0 && MPW_Init(hosts[0], port + 3) == 0);
    char host[] = "localhost", *names[] = {host};
    if (!first) HOLDS(MPW_Init_c(names, more, 1) == 0 && MPW_Init1_c(host, port + 3) == 0);
    HOLDS(MPW_NumChannels() == 4);
    int all[] = {0, 1, 2, 3};
    all_streams(all);
    one_way(first, all);
    parts(first, all);
    lengths(first, all);
    cycles(first, all);
    for (int stream : all) MPW_Barrier(stream);
    MPW_Barrier();
    MPW_CloseChannels(all, 4);
    MPW_ReOpenChannels(all, 4);
    all_streams(all);
    const int path = MPW_CreatePath_c(host, port + 4, 2);
    HOLDS(path == 0 && MPW_NumChannels() == 6);
    // Streams of their own and a whole path in one call.
    int mixed[] = {4, 5, 1};
    Pattern own(LENGTH, 8);
    std::vector<char> came(LENGTH);
    HOLDS(MPW_SendRecv(own.data(), LENGTH, came.data(), LENGTH, mixed, 3) == 0);
    HOLDS(same(came, own));
    HOLDS(MPW_Finalize() == 1);
}
