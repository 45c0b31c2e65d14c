// Sends a message at a pace, over a path that it opens: `paced KEY HOST:PORT BYTES-IN-A-SECOND BYTES`.

#include <ligament.h>
#include <stdio.h>
#include <stdlib.h>

static lig_error error;

// Ends the program if a call has failed.
static void fine(lig_status status) {
    if (status == LIG_OK) return;
    fprintf(stderr, "%s\n", error.message);
    exit(1);
}

int main(int argc, char **argv) {
    if (argc != 5) return 2;
    lig_path_options options = {.size = sizeof options, .uncompressed = 1, .pace = strtoull(argv[3], NULL, 10)};
    const size_t length = (size_t)atol(argv[4]);
    char *bytes = calloc(length, 1);
    lig_path *path;
    fine(lig_path_open(argv[1], argv[2], &options, &path, &error));
    fine(lig_path_send(path, bytes, length, 60.0, &error));
    fine(lig_path_close(path, 60.0, &error));
    free(bytes);
    return 0;
}
