// MPWTestConcurrent of MPWide, rewritten. Both ends begin to send and to receive many messages, test if they
// are done while they do other work, check every byte, and meet at a barrier. Start `concurrent listen KEY
// :PORT COUNT` at one end, and `concurrent open KEY HOST:PORT COUNT` at the other.

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

// Returns the bytes of message `number` of an end (0 listens, 1 opens). Both ends know them.
static size_t length_of(size_t number, size_t end) { return (number * 245489 + end * 1013) % 400000; }

static void fill(char *bytes, size_t number, size_t end) {
    for (size_t i = 0; i < length_of(number, end); ++i)
        bytes[i] = (char)(i * 31 + number * 7 + end * 101 + (i >> 10));
}

int main(int argc, char **argv) {
    const double minute = 60.0;
    if (argc != 5) return 2;
    const size_t end = strcmp(argv[1], "open") == 0, count = (size_t)atol(argv[4]);
    lig_path *path;
    if (end == 0) {
        uint16_t port;
        fine(lig_path_listen(argv[2], argv[3], NULL, &path, &error));
        fine(lig_path_port(path, &port, &error));
        printf("%d\n", port);
        fflush(stdout);
    } else {
        fine(lig_path_open(argv[2], argv[3], NULL, &path, &error));
    }
    uint64_t *sends = calloc(count, sizeof *sends), *receives = calloc(count, sizeof *receives);
    char **out = calloc(count, sizeof *out), *in = malloc(400000), *expected = malloc(400000);
    for (size_t number = 0; number < count; ++number) {
        out[number] = malloc(400000);
        fill(out[number], number, end);
        fine(lig_path_ireceive(path, &receives[number], &error));
        fine(lig_path_isend(path, out[number], length_of(number, end), &sends[number], &error));
    }
    size_t early = 0;
    for (size_t number = 0; number < count; ++number) {
        bool done;
        size_t length;
        fine(lig_path_test(path, receives[number], &done, &error));
        early += done;
        fine(lig_path_wait(path, receives[number], in, 400000, &length, minute, &error));
        fill(expected, number, 1 - end);
        if (length != length_of(number, 1 - end) || memcmp(in, expected, length) != 0) {
            fprintf(stderr, "message %zu is wrong\n", number);
            return 1;
        }
    }
    for (size_t number = 0; number < count; ++number) {
        fine(lig_path_wait(path, sends[number], NULL, 0, NULL, minute, &error));
        free(out[number]);
    }
    fine(lig_path_barrier(path, minute, &error));
    printf("%zu messages, %zu before they were waited for\n", count, early);
    fine(lig_path_close(path, minute, &error));
    free(sends), free(receives), free(out), free(in), free(expected);
    return 0;
}
