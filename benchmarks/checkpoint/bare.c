// A program without Ligament, which prints the time that it takes, ns:
// `bare save BYTES FILE GO` makes FILE, waits for the file GO, then writes a state into FILE and syncs it;
// `bare stream BYTES COUNT FILE` writes COUNT pieces of BYTES, as a recording does, and syncs nothing.
#include "timing.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int write_all(int file, const char *bytes, size_t size) {
    while (size > 0) {
        const ssize_t done = write(file, bytes, size);
        if (done <= 0) return -1;
        bytes += done;
        size -= (size_t)done;
    }
    return 0;
}

static int print_since(uint64_t begun) {
    printf("%llu\n", (unsigned long long)(nanoseconds() - begun));
    return 0;
}

int main(int count, char **arguments) {
    if (count != 5) return 2;
    const size_t bytes = strtoull(arguments[2], NULL, 10);
    uint64_t *state = malloc(bytes);
    if (state == NULL) return 2;
    for (size_t i = 0; i < bytes / 8; ++i) state[i] = random_word(i);
    const int saves = strcmp(arguments[1], "save") == 0;
    const char *path = saves ? arguments[3] : arguments[4];
    const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (file < 0) return 1;
    while (saves && access(arguments[4], F_OK) != 0) usleep(100);
    const uint64_t begun = nanoseconds();
    for (int i = saves ? 1 : atoi(arguments[3]); i > 0; --i)
        if (write_all(file, (const char *)state, bytes) != 0) return 1;
    if (saves && fsync(file) != 0) return 1;
    return print_since(begun);
}
