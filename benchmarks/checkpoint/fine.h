// Common parts of the instances of this benchmark.
#ifndef CHECKPOINT_FINE_H
#define CHECKPOINT_FINE_H
#include <ligament.h>
#include <stdio.h>
#include <stdlib.h>

static lig_error error;

static void fine(lig_status status) {
    if (status == LIG_OK) return;
    fprintf(stderr, "%s\n", error.message);
    exit(1);
}
#endif
