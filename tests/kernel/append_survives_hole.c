// Another process can punch a hole into a file while a process appends to it. All writes of the appending
// process arrive at the end, whole and in order; the file keeps its length; and the disk gets the room back.
#include "proof.h"

enum { LINES = 400000, LINE = 16, KEPT = 1 << 20, PIECE = 1 << 16 };

static void append(const char *name) {
    int file = open(name, O_WRONLY | O_APPEND);
    char line[LINE + 1];
    for (int i = 0; i < LINES; i++) {
        snprintf(line, sizeof line, "line %010d\n", i);
        if (write(file, line, LINE) != LINE) _exit(1);
    }
    _exit(0);
}

int main(void) {
    char name[] = "/tmp/ligament-hole-XXXXXX", line[LINE + 1], expected[LINE + 1];
    int file = mkstemp(name), status, holes = 0;
    struct stat known;
    CLAIM(file >= 0);
    pid_t writer = fork_guarded();
    if (writer == 0) append(name);
    off_t until = PIECE;
    while (waitpid(writer, &status, WNOHANG) == 0) {
        CLAIM(fstat(file, &known) == 0);
        if (known.st_size < until + 2 * KEPT) continue;
        until = (known.st_size - KEPT) / PIECE * PIECE;
        int done = fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, PIECE, until - PIECE);
        if (done != 0 && errno == EOPNOTSUPP) {
            unlink(name);
            SKIP("the file system of /tmp has no holes");
        }
        CLAIM(done == 0 && pwrite(file, "note", 4, PIECE - 4) == 4);
        holes++;
    }
    unlink(name);
    CLAIM(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CLAIM(fstat(file, &known) == 0 && known.st_size == (off_t)LINES * LINE);
    CLAIM(holes > 0 && lseek(file, PIECE, SEEK_DATA) == until);
    for (off_t at = 0; at < known.st_size; at = at + LINE == PIECE ? until : at + LINE) {
        CLAIM(pread(file, line, LINE, at) == LINE);
        line[LINE] = 0;
        snprintf(expected, sizeof expected, "line %010d\n", (int)(at / LINE));
        CLAIM(at + LINE == PIECE ? strcmp(line + LINE - 4, "note") == 0 : strcmp(line, expected) == 0);
    }
    CLAIM(known.st_blocks * 512 <= known.st_size - until + 3 * PIECE);
    printf("%d holes under a writer of %d MB: the first %d kB and the last %d kB are whole\n", holes,
           LINES * LINE >> 20, PIECE >> 10, (int)((known.st_size - until) >> 10));
}
