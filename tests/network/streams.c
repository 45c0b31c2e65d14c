// A path of the library between two machines: streams a|b HOST PORT KEY. `a` opens it, and for each number on
// its standard input sends a message of this many bytes. `b` sends the message back, and `a` then compares it
// and prints a line.
#include <ligament.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static lig_error error;

#define TRY(call) ((call) == LIG_OK ? (void)0 : (fprintf(stderr, "%s: %s\n", #call, error.message), exit(1)))

int main(int argc, char **argv) {
    if (argc != 5) return 2;
    char at[64], line[64];
    snprintf(at, sizeof at, "%s:%s", argv[2], argv[3]);
    lig_path *path;
    if (argv[1][0] == 'b') {
        TRY(lig_path_listen(argv[4], at, NULL, &path, &error));
        for (size_t bytes;;) {
            lig_status ended = lig_path_probe(path, &bytes, -1, &error);
            if (ended == LIG_ERR_CLOSED) break;
            TRY(ended);
            char *data = malloc(bytes);
            TRY(lig_path_receive(path, data, bytes, NULL, -1, &error));
            TRY(lig_path_send(path, data, bytes, -1, &error));
            free(data);
        }
        lig_path_free(path);
        return 0;
    }
    TRY(lig_path_open(argv[4], at, NULL, &path, &error));
    TRY(lig_path_wait_connected(path, 60, &error));
    printf("connected\n"), fflush(stdout);
    for (uint64_t number = 1; fgets(line, sizeof line, stdin); number++) {
        size_t bytes = strtoull(line, NULL, 10), got = 0;
        char *data = malloc(bytes), *back = malloc(bytes);
        for (size_t i = 0; i < bytes; i++) data[i] = (char)((i * 31 + (i >> 8)) ^ number);
        TRY(lig_path_send_receive(path, data, bytes, back, bytes, &got, 600, &error));
        printf("%s\n", got == bytes && !memcmp(data, back, bytes) ? "the same" : "something else"),
            fflush(stdout);
        free(data), free(back);
    }
    TRY(lig_path_close(path, 60, &error));
    return 0;
}
