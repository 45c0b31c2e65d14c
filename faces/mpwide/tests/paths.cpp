// Calls that name a path, over four streams: paths ONE_OR_TWO PORT. Both ends run the same program.

#include "peer.hpp"

#include <thread>

static const long long LENGTH = 1000003;

// One end sends everything at once and receives parts; the other one does the opposite.
static void bytes_have_no_borders(bool first, int path) {
    Pattern whole(LENGTH, 0);
    std::vector<char> came(LENGTH);
    const long long parts[] = {1, 10, 0, 499999, 300000, 199993};
    if (first) {
        HOLDS(MPW_Send(whole.data(), LENGTH, path) == 0);
        HOLDS(MPW_Recv(came.data(), LENGTH, path) == 0);
    } else {
        char *at = came.data();
        for (const long long part : parts) {
            HOLDS(MPW_Recv(at, part, path) == 0);
            at += part;
        }
        at = whole.data();
        for (const long long part : parts) {
            HOLDS(MPW_SendRecv(at, part, nullptr, 0, path) == 0);
            at += part;
        }
    }
    HOLDS(same(came, whole));
}

static void both_ways_at_once(bool first, int path) {
    // Longer than what may be under way, in both directions.
    const long long length = 80ll << 20;
    Pattern own(length, first), others(length, !first);
    std::vector<char> came(length);
    HOLDS(MPW_SendRecv(own.data(), length, came.data(), length, path) == 0);
    HOLDS(same(came, others));
    // One sends 5 bytes and receives 3, and the other one the opposite, in one call and in two.
    Pattern five(5, 7), three(3, 70);
    std::vector<char> small(first ? 3 : 5);
    if (first) HOLDS(MPW_SendRecv(five.data(), 5, small.data(), 3, path) == 0);
    if (!first) HOLDS(MPW_Recv(small.data(), 5, path) == 0 && MPW_Send(three.data(), 3, path) == 0);
    HOLDS(same(small, first ? three : five));
    MPW_SendRecv1_c(five.data(), 5, came.data(), 5, path);
    HOLDS(std::equal(five.data(), five.data() + 5, came.data()));
}

static void lengths_travel_along(bool first, int path) {
    for (const int length : {0, 1, 70000}) {
        Pattern own(first ? length : 2 * length, 11), others(first ? 2 * length : length, 11);
        std::vector<char> came(200000);
        const int size =
            MPW_DSendRecv(own.data(), static_cast<long long>(own.bytes.size()), came.data(), 200000, path);
        HOLDS(size == static_cast<int>(others.bytes.size()));
        came.resize(static_cast<std::size_t>(size));
        HOLDS(same(came, others));
    }
}

// Exchanges end in the order in which they began, also when the other end is slow.
static void exchanges_go_on_by_themselves(int path) {
    Pattern one(300000, 1), two(200, 2);
    std::vector<char> came_one(300000), came_two(200);
    const int a = MPW_ISendRecv(one.data(), 300000, came_one.data(), 300000, path);
    const int b = MPW_ISendRecv(two.data(), 200, came_two.data(), 200, path);
    HOLDS(a >= 0 && b == a + 1);
    MPW_Wait(b);
    MPW_Wait(a);
    HOLDS(same(came_one, one) && same(came_two, two));
    std::vector<char> late(10);
    const int c = MPW_ISendRecv(nullptr, 0, late.data(), 10, path);
    HOLDS(!MPW_Has_NBE_Finished(c));
    MPW_Barrier(0);
    HOLDS(MPW_Send(one.data(), 10, path) == 0);
    while (!MPW_Has_NBE_Finished(c)) std::this_thread::yield();
    MPW_Wait(c);
    HOLDS(same(late, Pattern(10, 1)));
}

static void two_threads_use_a_path(int path) {
    Pattern own(5000, 5);
    std::thread sender([&] {
        for (int i = 0; i < 200; ++i) HOLDS(MPW_SendRecv(own.data(), 5000, nullptr, 0, path) == 0);
    });
    for (int i = 0; i < 200; ++i) {
        std::vector<char> came(5000);
        HOLDS(MPW_SendRecv(nullptr, 0, came.data(), 5000, path) == 0);
        HOLDS(same(came, own));
    }
    sender.join();
}

// The streams of a path, all in order, are the path.
static void streams_of_a_path(bool first, int path) {
    int channels[] = {0, 1, 2, 3};
    Pattern own(LENGTH, 3);
    std::vector<char> came(LENGTH);
    if (first) {
        HOLDS(MPW_SendRecv(own.data(), LENGTH, came.data(), LENGTH, channels, 4) == 0);
    } else {
        char *out[4], *in[4];
        long long sizes[4];
        MPW_splitBuf(own.data(), LENGTH, 4, out, sizes);
        MPW_splitBuf(came.data(), LENGTH, 4, in, sizes);
        HOLDS(sizes[0] == 250001 && sizes[3] == 250000 && out[1] == own.data() + 250001);
        HOLDS(MPW_PSendRecv(out, sizes, in, sizes, channels, 4) == 0);
    }
    HOLDS(same(came, own));
    MPW_CloseChannels(channels, 4);
    HOLDS(MPW_Send(own.data(), 1, path) < 0);
    MPW_ReOpenChannels(channels, 4);
    HOLDS(MPW_SendRecv(own.data(), 100, came.data(), 100, path) == 0);
}

int main(int, char **argv) {
    const bool first = std::string(argv[1]) == "one";
    const int port = std::atoi(argv[2]);
    char localhost[] = "localhost";
    HOLDS(std::string(MPW_DNSResolve(localhost)) == "127.0.0.1");
    HOLDS(std::string(MPW_DNSResolve(std::string("localhost"))) == "127.0.0.1");
    HOLDS(MPW_AutoTuning());
    MPW_setAutoTuning(false);
    HOLDS(!MPW_AutoTuning());
    MPW_setPacingRate(1e9);
    HOLDS(MPW_getPacingRate() == 1e9);

    const int path =
        first ? MPW_CreatePath("localhost", port, 4) : MPW_CreatePathWithoutConnect("localhost", port, 4);
    HOLDS(path == 0 && MPW_NumChannels() == 4);
    if (!first) HOLDS(MPW_ConnectPath(path, true) == 0);
    MPW_setPacingRate(-1);
    MPW_setWin(3, 262144);
    MPW_setPathWin(path, 262144);
    MPW_setChunkSize(65536, 65536);
    MPW_Print();
    bytes_have_no_borders(first, path);
    both_ways_at_once(first, path);
    lengths_travel_along(first, path);
    MPW_Barrier();
    exchanges_go_on_by_themselves(path);
    two_threads_use_a_path(path);
    streams_of_a_path(first, path);

    MPW_setAutoTuning(true);
    const int other = MPW_CreatePathWithoutConnect("localhost", port + 4, 3);
    HOLDS(other == 1 && MPW_getPacingRate() == 1200.0 * 1024 * 1024 / 4);
    HOLDS(MPW_DestroyPath(path) == 0 && MPW_NumChannels() == 7);
    HOLDS(MPW_CreatePathWithoutConnect("localhost", port, 2) == 0);
    HOLDS(MPW_DestroyPath(other) == 0 && MPW_NumChannels() == 2);
    HOLDS(MPW_Finalize() == 1 && MPW_NumChannels() == 0);
}
