// Two processes exchange messages over a path, by MPWide's calls (-DMPWIDE) or by Ligament's own:
//   exchange left|right KEY PORT BYTES ROUNDS CORE     The left one prints the median time of an exchange, ns.
//   exchange key FILE                                  makes a key (only without MPWIDE)
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#ifdef MPWIDE
#include <MPWide.h>

static int path;

static bool begin(const char *key, const char *port) {
    setenv("LIGAMENT_MPWIDE_KEY", key, 1);
    path = MPW_CreatePath("127.0.0.1", std::atoi(port), 1);
    return path >= 0;
}

static bool exchange(char *out, char *in, std::size_t bytes) {
    const auto size = static_cast<long long>(bytes);
    return MPW_SendRecv(out, size, in, size, path) >= 0;
}

static void end() { MPW_Finalize(); }
#else
#include <ligament.h>

static lig_path *path;

static bool begin(const char *key, const char *port) {
    lig_path_options options{};
    options.size = sizeof options;
    options.streams = 1;
    const std::string at = std::string("127.0.0.1:") + port;
    return lig_path_meet(key, at.c_str(), &options, &path, nullptr) == LIG_OK;
}

static bool exchange(char *out, char *in, std::size_t bytes) {
    std::size_t received;
    return lig_path_send_receive(path, out, bytes, in, bytes, &received, -1.0, nullptr) == LIG_OK;
}

static void end() { lig_path_close(path, 10.0, nullptr); }
#endif

static int fail(const char *why) {
    std::fprintf(stderr, "exchange: %s\n", why);
    return 1;
}

int main(int argc, char **argv) {
#ifndef MPWIDE
    if (argc == 3 && std::strcmp(argv[1], "key") == 0) return lig_path_key_make(argv[2], nullptr) != LIG_OK;
#endif
    if (argc != 7) return fail("six arguments are needed");
    const std::size_t bytes = std::strtoull(argv[4], nullptr, 10);
    const int rounds = std::atoi(argv[5]);
    cpu_set_t core;
    CPU_ZERO(&core);
    CPU_SET(std::atoi(argv[6]), &core);
    // The threads of the path, which are there already, may run on all cores.
    if (!begin(argv[2], argv[3])) return fail("there is no path");
    sched_setaffinity(0, sizeof core, &core);
    std::vector<char> out(bytes), in(bytes);
    // Bytes that cannot be compressed.
    std::uint64_t state = 1;
    for (char &byte : out) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        byte = static_cast<char>(state >> 56);
    }
    std::vector<double> times;
    for (int round = 0; round < rounds; ++round) {
        const auto before = std::chrono::steady_clock::now();
        if (!exchange(out.data(), in.data(), bytes)) return fail("an exchange has failed");
        const auto took = std::chrono::steady_clock::now() - before;
        times.push_back(std::chrono::duration<double, std::nano>(took).count());
    }
    if (in != out) return fail("the received data is not what was sent");
    end();
    std::sort(times.begin(), times.end());
    if (std::strcmp(argv[1], "left") == 0) std::printf("%.0f\n", times[times.size() / 2]);
}
