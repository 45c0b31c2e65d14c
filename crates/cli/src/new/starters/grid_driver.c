// Runs the simulation NAME: the modules that stand here, on a block of the grid.
#include <ligament.h>
#include <stdio.h>

int main(int argc, char **argv) {
    const char *modules[] = {"NAME_module.so", NULL};
    lig_error error;
    if (lig_grid_run(argc, (const char *const *)argv, modules, &error) != LIG_OK) {
        fprintf(stderr, "error: %s\n", error.message);
        return 1;
    }
    return 0;
}
