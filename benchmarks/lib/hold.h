// If HOLD names a folder with a FIFO "go", `stay` adds a byte to the file "arrived" in the folder, and waits
// until another process opens the FIFO for writing. A benchmark can then inspect all waiting processes at the
// same time.
#ifndef HOLD_H
#define HOLD_H
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void stay(void) {
    const char *folder = getenv("HOLD");
    char path[4096];
    if (!folder) return;
    snprintf(path, sizeof path, "%s/arrived", folder);
    int arrived = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (arrived < 0 || write(arrived, ".", 1) != 1) exit(1);
    close(arrived);
    snprintf(path, sizeof path, "%s/go", folder);
    int go = open(path, O_RDONLY | O_CLOEXEC);  // waits for the writer
    if (go < 0) exit(1);
    close(go);
}

#endif
