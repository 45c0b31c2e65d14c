// A rank of either side: ranks (send|loan|receive) HOW EDGE STEPS FILE. A receiver writes the times (ns) at
// which the warm-up exchanges and all exchanges were over.
#include "layout.h"
#include <ligament.h>
#include <stdbool.h>

static lig_error error;

static void fine(lig_status status) {
    if (status == LIG_OK) return;
    fprintf(stderr, "%s\n", error.message);
    exit(1);
}

int main(int argc, char **argv) {
    if (argc != 6) return 2;
    const bool receives = strcmp(argv[1], "receive") == 0, lends = strcmp(argv[1], "loan") == 0;
    const uint64_t edge = strtoull(argv[3], NULL, 10);
    const int steps = atoi(argv[4]);
    const lig_port port = {receives ? LIG_S : LIG_O_I, "cube"};
    const lig_instance_options options = {.size = sizeof options, .ports = &port, .port_count = 1};
    lig_instance *instance;
    bool again;
    fine(lig_instance_create(&options, &instance, &error));
    fine(lig_reuse_instance(instance, &again, &error));
    const struct part part = part_of(argv[2], edge, lig_instance_rank(instance), lig_instance_ranks(instance));
    fine(lig_map_block(instance, "cube", 3, part.start, part.shape, &error));
    lig_array array = {.dtype = LIG_FLOAT64, .ndim = 3, .shape = {part.shape[0], part.shape[1], part.shape[2]}};
    double *own = lends ? NULL : memory(count_of(&part));
    if (!receives && !lends) fill(own, &part, edge);
    array.data = own;
    int64_t first = 0, last = 0;
    for (int step = 0; step < WARM_UP + steps; ++step) {
        const lig_send_options at = {.size = sizeof at, .timestamp = step};
        if (receives) {
            fine(lig_receive_into(instance, "cube", NULL, &array, NULL, &error));
            last = now_ns();
            if (step == WARM_UP - 1) first = last;
        } else if (lends) {
            lig_loan *loan;
            void *data;
            fine(lig_loan_create(instance, LIG_FLOAT64, 3, array.shape, &loan, &data, &error));
            // The loan is the array of the simulation. A block that was lent before already has the elements.
            double *elements = data;
            const uint64_t count = count_of(&part);
            if (elements[count - 1] == 0) fill(elements, &part, edge);
            fine(lig_send_loan(instance, "cube", &at, loan, &error));
        } else {
            fine(lig_send_array(instance, "cube", &at, &array, &error));
        }
    }
    if (receives) {
        check(own, &part, edge);
        char name[4096];
        snprintf(name, sizeof name, "%s.%u", argv[5], lig_instance_rank(instance));
        FILE *file = fopen(name, "w");
        if (file == NULL) return 1;
        fprintf(file, "%lld %lld\n", (long long)first, (long long)last);
        fclose(file);
    }
    fine(lig_reuse_instance(instance, &again, &error));
    lig_instance_free(instance);
    return 0;
}
