// MPWTest of MPWide, rewritten. One end listens, the other one opens, and both send each other the same message
// several times. The bytes are checked. Start `ping_pong listen KEY :PORT` at one end, and `ping_pong open KEY
// HOST:PORT ROUNDS BYTES` at the other.

#include <ligament.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static lig_error error;

// Ends the program if a call has failed.
static void fine(lig_status status) {
    if (status == LIG_OK) return;
    fprintf(stderr, "%s\n", error.message);
    exit(1);
}

int main(int argc, char **argv) {
    const double minute = 60.0;
    lig_path *path;
    if (argc == 4 && strcmp(argv[1], "listen") == 0) {
        uint16_t port;
        fine(lig_path_listen(argv[2], argv[3], NULL, &path, &error));
        fine(lig_path_port(path, &port, &error));
        printf("%d\n", port);
        fflush(stdout);
        // Sends back messages of unknown length.
        size_t room = 0, length;
        char *bytes = NULL;
        lig_status status;
        while ((status = lig_path_probe(path, &length, minute, &error)) == LIG_OK) {
            if (length > room) bytes = realloc(bytes, room = length);
            fine(lig_path_receive(path, bytes, room, &length, minute, &error));
            fine(lig_path_send(path, bytes, length, minute, &error));
        }
        free(bytes);
        if (status != LIG_ERR_CLOSED) fine(status);
        fine(lig_path_close(path, minute, &error));
        return 0;
    }
    if (argc != 6) return 2;
    const int rounds = atoi(argv[4]);
    const size_t bytes = (size_t)atol(argv[5]);
    char *out = malloc(bytes), *in = malloc(bytes);
    fine(lig_path_open(argv[2], argv[3], NULL, &path, &error));
    for (int round = 0; round < rounds; ++round) {
        for (size_t i = 0; i < bytes; ++i) out[i] = (char)(i * 31 + (size_t)round * 7 + (i >> 10));
        size_t length;
        fine(lig_path_send_receive(path, out, bytes, in, bytes, &length, minute, &error));
        if (length != bytes || memcmp(in, out, bytes) != 0) {
            fprintf(stderr, "round %d came back wrong\n", round);
            return 1;
        }
    }
    lig_path_statistics seen;
    fine(lig_path_get_statistics(path, &seen, &error));
    printf("%llu messages, %llu cuts\n", (unsigned long long)seen.received, (unsigned long long)seen.cuts);
    fine(lig_path_close(path, minute, &error));
    free(out);
    free(in);
    return 0;
}
