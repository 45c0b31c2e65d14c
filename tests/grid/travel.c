/* Fields that travel up and down a grid of one axis. */
#include <ligament.h>

#include <stdio.h>
#include <stdlib.h>

static lig_error error;

#define TRY(call)                                         \
    do {                                                  \
        if ((call) != LIG_OK) {                           \
            fprintf(stderr, "travel: %s\n", error.message); \
            exit(1);                                      \
        }                                                 \
    } while (0)

static void pass(lig_instance *instance) {
    lig_domain *domain;
    TRY(lig_domain_create(instance, &domain, &error));
    const uint64_t first = *lig_domain_begin_point(domain), last = *lig_domain_end_point(domain);
    const uint64_t whole = *lig_domain_shape(domain), count = last - first;
    double *data[2];
    const int32_t directions[2] = {1, -1}, none[1] = {2};
    uint32_t fields[2];
    for (int i = 0; i < 2; ++i) {
        data[i] = malloc((count + 2) * sizeof(double));
        if (data[i] == NULL) exit(1);
        for (uint64_t at = 0; at < count; ++at) data[i][at + 1] = (double)(first + at);
        data[i][0] = data[i][count + 1] = -1;
        const lig_array array = {.dtype = LIG_FLOAT64, .ndim = 1, .shape = {count + 2}, .data = data[i]};
        TRY(lig_domain_add_field(domain, i ? "down" : "up", 1, &array, &fields[i], &error));
        TRY(lig_domain_set_direction(domain, fields[i], &directions[i], &error));
        if (lig_domain_set_direction(domain, fields[i], none, &error) != LIG_ERR_USAGE) exit(2);
    }
    TRY(lig_domain_exchange(domain, 0, fields, 2, &error));
    const bool up = data[0][0] == (double)((first + whole - 1) % whole) && data[0][count + 1] == -1;
    const bool down = data[1][count + 1] == (double)(last % whole) && data[1][0] == -1;
    if (!up || !down) exit(3);
    free(data[0]), free(data[1]);
    lig_domain_free(domain);
}

int main(void) {
    lig_instance *instance;
    bool again;
    TRY(lig_instance_create(NULL, &instance, &error));
    for (;;) {
        TRY(lig_reuse_instance(instance, &again, &error));
        if (!again) break;
        pass(instance);
    }
    lig_instance_free(instance);
    return 0;
}
