// A path of Ligament's library, encrypted. HOST PORT KEY STREAMS [RELAY...]; with 0 streams, the library
// chooses the number. With the files of relays, the nearest first, the path goes only over these relays.
#include "library.h"

static lig_path *path;

static void peer_open(int is_a, int argc, char **argv) {
    if (argc < 4) fail("usage: ours a|b OUT PLAN HOST PORT KEY STREAMS [RELAY...]");
    char at[64];
    snprintf(at, sizeof at, "%s:%s", argv[0], argv[1]);
    lig_path_options options = {
        .size = sizeof options, .window = 1ull << 31, .streams = (uint32_t)atoi(argv[3])};
    options.relays = (const char *const *)argv + 4;
    options.relay_count = (size_t)argc - 4;
    if (is_a)
        TRY(lig_path_open(argv[2], argc > 4 ? NULL : at, &options, &path, &error));
    else
        TRY(lig_path_listen(argv[2], at, &options, &path, &error));
    TRY(lig_path_wait_connected(path, 30, &error));
    pause_ms(1500);  // until all streams are connected, as those of the bare program are
}

static void peer_send(const char *data, size_t bytes) {
    uint64_t request;
    TRY(lig_path_isend(path, data, bytes, &request, &error));
    // The bytes stay unchanged until the answer has come. The message has then arrived.
}

static void peer_receive(char *data, size_t bytes) {
    size_t length;
    TRY(lig_path_receive(path, data, bytes, &length, 60, &error));
    if (length != bytes) fail("a message of %zu bytes, and not %zu", length, bytes);
}

static void peer_close(void) { TRY(lig_path_close(path, 30, &error)); }
