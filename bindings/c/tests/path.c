// Paths without a model, with both ends in one process: every function of the interface, and every way to
// misuse it. The only argument is a directory for keys.

#include "check.h"
#include <math.h>
#include <stdint.h>

#define TIMEOUT_S 30.0
#define FINE(call) ENDS_WITH(call, LIG_OK, "")

static char *filled(size_t length, int seed) {
    char *bytes = malloc(length ? length : 1);
    for (size_t i = 0; i < length; ++i) bytes[i] = (char)(i * 31 + (size_t)seed * 7 + (i >> 9));
    return bytes;
}

static void sizes(lig_path *one, lig_path *other) {
    const size_t lengths[] = {0, 1, 39, 64, 1000, 16385, 300000, 20u << 20};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; ++i) {
        const size_t length = lengths[i];
        char *bytes = filled(length, (int)i), *place = malloc(length + 1);
        size_t came = 99;
        FINE(lig_path_send(one, length ? bytes : NULL, length, TIMEOUT_S, &error));
        FINE(lig_path_probe(other, &came, TIMEOUT_S, &error));
        HOLDS(came == length);
        FINE(lig_path_receive(other, place, length + 1, &came, TIMEOUT_S, &error));
        HOLDS(came == length && memcmp(bytes, place, length) == 0);
        free(bytes);
        free(place);
    }
}

static void requests(lig_path *one, lig_path *other) {
    const size_t length = 3000000;
    char *bytes = filled(length, 5), *place = malloc(length);
    uint64_t sends, receives, late;
    size_t came;
    bool done = true;
    FINE(lig_path_ireceive(other, &receives, &error));
    FINE(lig_path_test(other, receives, &done, &error));
    HOLDS(!done);
    FINE(lig_path_isend(one, bytes, length, &sends, &error));
    ENDS_WITH(lig_path_cancel(one, sends, &error), LIG_ERR_USAGE, "cannot be cancelled");
    ENDS_WITH(lig_path_wait(other, receives, place, 10, &came, TIMEOUT_S, &error), LIG_ERR_UNEXPECTED,
              "room for 10");
    HOLDS(came == length);
    FINE(lig_path_wait(other, receives, place, length, &came, TIMEOUT_S, &error));
    HOLDS(came == length && memcmp(bytes, place, length) == 0);
    FINE(lig_path_wait(one, sends, NULL, 0, NULL, TIMEOUT_S, &error));
    ENDS_WITH(lig_path_test(one, sends, &done, &error), LIG_ERR_USAGE, "no such request");
    FINE(lig_path_ireceive(other, &late, &error));
    ENDS_WITH(lig_path_wait(other, late, place, length, &came, 0.02, &error), LIG_ERR_TIMED_OUT,
              "within 0.02 s");
    FINE(lig_path_cancel(other, late, &error));
    FINE(lig_path_send(one, "four", 4, TIMEOUT_S, &error));
    ENDS_WITH(lig_path_receive(other, place, 2, &came, TIMEOUT_S, &error), LIG_ERR_UNEXPECTED, "it stays");
    HOLDS(came == 4);
    // Both ends have a message under way when they wait.
    FINE(lig_path_send(other, "back", 4, TIMEOUT_S, &error));
    FINE(lig_path_send_receive(one, "more", 4, place, 8, &came, TIMEOUT_S, &error));
    HOLDS(came == 4 && memcmp(place, "back", 4) == 0);
    FINE(lig_path_receive(other, place, 8, NULL, TIMEOUT_S, &error));
    HOLDS(memcmp(place, "four", 4) == 0);
    FINE(lig_path_receive(other, place, 8, NULL, -1.0, &error));
    HOLDS(memcmp(place, "more", 4) == 0);
    free(bytes);
    free(place);
}

int main(int argc, char **argv) {
    HOLDS(argc == 2);
    char key[4096], second[4096], at[64];
    snprintf(key, sizeof key, "%s/a.key", argv[1]);
    snprintf(second, sizeof second, "%s/b.key", argv[1]);
    lig_path *one = NULL, *other = NULL;
    uint16_t port = 0;

    FINE(lig_path_key_make(key, &error));
    FINE(lig_path_listen(key, "127.0.0.1:0", NULL, &one, &error));
    FINE(lig_path_port(one, &port, &error));
    HOLDS(port != 0);
    snprintf(at, sizeof at, "127.0.0.1:%u", port);
    const lig_path_options options = {
        .size = sizeof options, .streams = 2, .window = 1u << 20, .uncompressed = true};
    FINE(lig_path_open(key, at, &options, &other, &error));
    FINE(lig_path_wait_connected(other, TIMEOUT_S, &error));
    FINE(lig_path_port(other, &port, &error));
    HOLDS(port == 0);
    sizes(one, other);
    sizes(other, one);
    requests(one, other);
    ENDS_WITH(lig_path_barrier(one, 0.02, &error), LIG_ERR_TIMED_OUT, "did not come");
    FINE(lig_path_barrier(other, TIMEOUT_S, &error));
    lig_path_statistics seen;
    FINE(lig_path_get_statistics(one, &seen, &error));
    HOLDS(seen.connected && seen.received == 9 && seen.sent == 11 && seen.cuts == 0);

    // These calls are refused.
    size_t length;
    ENDS_WITH(lig_path_send(NULL, "x", 1, TIMEOUT_S, &error), LIG_ERR_USAGE, "path is NULL");
    ENDS_WITH(lig_path_send(one, NULL, 1, TIMEOUT_S, &error), LIG_ERR_USAGE, "data is NULL");
    ENDS_WITH(lig_path_receive(one, NULL, 1, &length, TIMEOUT_S, &error), LIG_ERR_USAGE, "data is NULL");
    ENDS_WITH(lig_path_probe(one, &length, NAN, &error), LIG_ERR_USAGE, "timeout");
    ENDS_WITH(lig_path_probe(one, &length, 0.0, &error), LIG_ERR_TIMED_OUT, "no message");
    lig_path *none = one;
    ENDS_WITH(lig_path_listen(key, "nowhere", NULL, &none, &error), LIG_ERR_USAGE, "it has no port");
    HOLDS(none == NULL);
    ENDS_WITH(lig_path_listen(key, at, NULL, &none, &error), LIG_ERR_SYSTEM, "cannot listen");
    ENDS_WITH(lig_path_listen(second, at, NULL, &none, &error), LIG_ERR_SYSTEM, "cannot be read");
    ENDS_WITH(lig_path_open(key, NULL, NULL, &none, &error), LIG_ERR_USAGE, "no address");
    ENDS_WITH(
        lig_path_open(key, at, &(lig_path_options){.size = sizeof options, .streams = 257}, &none, &error),
        LIG_ERR_USAGE, "not 257");
    // The other end has another key.
    FINE(lig_path_key_make(second, &error));
    FINE(
        lig_path_open(second, at, &(lig_path_options){.size = sizeof options, .patience = 0.2}, &none, &error));
    ENDS_WITH(lig_path_wait_connected(none, TIMEOUT_S, &error), LIG_ERR_SYSTEM, "no connection");
    lig_path_free(none);
    lig_path_free(none);
    ENDS_WITH(lig_path_send(none, "x", 1, TIMEOUT_S, &error), LIG_ERR_USAGE, "closed or freed already");

    FINE(lig_path_send(one, "last", 4, TIMEOUT_S, &error));
    FINE(lig_path_close(one, TIMEOUT_S, &error));
    char place[8];
    FINE(lig_path_receive(other, place, sizeof place, &length, TIMEOUT_S, &error));
    HOLDS(length == 4);
    ENDS_WITH(lig_path_receive(other, place, sizeof place, &length, TIMEOUT_S, &error), LIG_ERR_CLOSED,
              "closed the path");
    ENDS_WITH(lig_path_send(other, "x", 1, TIMEOUT_S, &error), LIG_ERR_CLOSED, "closed the path");
    FINE(lig_path_close(other, TIMEOUT_S, &error));
    // These calls come after the end of the path.
    ENDS_WITH(lig_path_send(other, "x", 1, TIMEOUT_S, &error), LIG_ERR_USAGE, "closed or freed already");
    ENDS_WITH(lig_path_get_statistics(one, &seen, &error), LIG_ERR_USAGE, "closed or freed already");
    FINE(lig_path_close(other, TIMEOUT_S, &error));
    lig_path_free(one);
    lig_path_free(other);

    // Both ends make the same call.
    FINE(lig_path_meet(key, at, NULL, &one, &error));
    FINE(lig_path_meet(key, at, NULL, &other, &error));
    FINE(lig_path_wait_connected(other, TIMEOUT_S, &error));
    FINE(lig_path_port(one, &port, &error));
    HOLDS(port != 0);
    FINE(lig_path_port(other, &port, &error));
    HOLDS(port == 0);
    FINE(lig_path_set_pace(one, 1000000, &error));
    FINE(lig_path_set_pace(one, 0, &error));
    FINE(lig_path_send(one, "met", 3, TIMEOUT_S, &error));
    FINE(lig_path_receive(other, place, sizeof place, &length, TIMEOUT_S, &error));
    HOLDS(length == 3);
    lig_path_free(other);
    lig_path_free(one);
    ENDS_WITH(lig_path_meet(key, "nowhere", NULL, &one, &error), LIG_ERR_USAGE, "it has no port");
    FINE(lig_path_close(NULL, TIMEOUT_S, &error));
    lig_path_free(NULL);
    puts("all is well");
    return 0;
}
