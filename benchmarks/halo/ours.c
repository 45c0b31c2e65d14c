// A block with Ligament: ours FILE CUT EDGE FIELDS GHOSTS ROUNDS. Block 0 writes the times of an exchange
// (measure).
#define _GNU_SOURCE
#include "halo.h"

#include <ligament.h>

static lig_error error;
static lig_domain *domain;
static uint32_t fields[64];

static void fine(lig_status status) {
    if (status != LIG_OK) fail(error.message);
}

static void exchange(struct halo *h, size_t round) {
    fine(lig_domain_exchange(domain, (double)round, fields, h->fields, &error));
}

int main(int argc, char **argv) {
    if (argc != 7) return 2;
    struct halo h = halo_of(argv + 2);
    if (h.fields > sizeof fields / sizeof *fields) return 2;
    lig_instance *instance;
    bool again;
    fine(lig_instance_create(NULL, &instance, &error));
    fine(lig_reuse_instance(instance, &again, &error));
    fine(lig_domain_create(instance, &domain, &error));
    h.side = (int)lig_domain_block(domain);
    pin(h.side);
    make_fields(&h);
    const uint64_t n = length(&h);
    for (size_t f = 0; f < h.fields; ++f) {
        char name[16];
        snprintf(name, sizeof name, "u%zu", f);
        const lig_array array = {
            .dtype = LIG_FLOAT64, .ndim = AXES, .shape = {n, n, n}, .data = h.data[f]};
        fine(lig_domain_add_field(domain, name, h.ghosts, &array, &fields[f], &error));
    }
    FILE *file = h.side == 0 ? fopen(argv[1], "w") : NULL;
    if (h.side == 0 && file == NULL) fail("the file for the times cannot be written");
    measure(&h, exchange, file);
    if (file != NULL) fclose(file);
    lig_domain_free(domain);
    fine(lig_reuse_instance(instance, &again, &error));
    lig_instance_free(instance);
    return 0;
}
