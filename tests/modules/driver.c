// A driver program in C. Its first argument is the path of a module; the others are the driver's.
#include <ligament.h>
#include <stdio.h>

int main(int argc, char **argv) {
    if (argc < 2) return 2;
    const char *modules[] = {argv[1], NULL};
    lig_error error;
    argv[1] = argv[0];
    if (lig_grid_run(argc - 1, (const char *const *)(argv + 1), modules, &error) != LIG_OK) {
        fprintf(stderr, "error: %s\n", error.message);
        return 1;
    }
    return 0;
}
