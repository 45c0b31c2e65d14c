// mpwide-key FILE: makes a key for paths, in a new file that only its owner can read.

#include <ligament.h>
#include <stdio.h>

int main(int argc, char **argv) {
    lig_error error;
    if (argc != 2) {
        fputs(
            "usage: mpwide-key FILE\nMakes a key for paths of MPWide's calls. Both ends need the same: copy "
            "it, and name it\n"
            "in the environment variable LIGAMENT_MPWIDE_KEY.\n",
            stderr);
        return 2;
    }
    if (lig_path_key_make(argv[1], &error) == LIG_OK) return 0;
    fprintf(stderr, "mpwide-key: %s\n", error.message);
    return 1;
}
