/* A block of the wave of wave_model.py in C, with the settings of block.py. */
#include <ligament.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static lig_error error;

#define TRY(call)                                        \
    do {                                                 \
        if ((call) != LIG_OK) {                          \
            fprintf(stderr, "block: %s\n", error.message); \
            exit(1);                                     \
        }                                                \
    } while (0)

/* A grid of fewer than three axes has axes of length 1 in front, without ghosts. */
struct shape {
    size_t length[3], ghosts[3];
    bool column_major;
};

static size_t place(const struct shape *shape, size_t i, size_t j, size_t k) {
    const size_t a = shape->length[0] + 2 * shape->ghosts[0], b = shape->length[1] + 2 * shape->ghosts[1],
                 c = shape->length[2] + 2 * shape->ghosts[2];
    return shape->column_major ? i + a * (j + b * k) : (i * b + j) * c + k;
}

static size_t elements(const struct shape *shape) {
    size_t all = 1;
    for (int axis = 0; axis < 3; ++axis) all *= shape->length[axis] + 2 * shape->ghosts[axis];
    return all;
}

/* One step of all points that are at least `margin` points away from the end of the arrays. */
static void step(const struct shape *shape, size_t margin, int axes, const double *u, const float *v,
                 double *new_u, float *new_v) {
    size_t from[3], to[3];
    double corners = 1;
    for (int axis = 0; axis < 3; ++axis) {
        const size_t skip = shape->ghosts[axis] > 0 ? margin : 0;
        from[axis] = skip, to[axis] = shape->length[axis] + 2 * shape->ghosts[axis] - skip;
    }
    for (int axis = 0; axis < axes; ++axis) corners *= 3;
    const int reach[3] = {axes > 2, axes > 1, 1};
    for (size_t i = from[0]; i < to[0]; ++i)
        for (size_t j = from[1]; j < to[1]; ++j)
            for (size_t k = from[2]; k < to[2]; ++k) {
                double around = 0;
                for (int x = -reach[0]; x <= reach[0]; ++x)
                    for (int y = -reach[1]; y <= reach[1]; ++y)
                        for (int z = -reach[2]; z <= reach[2]; ++z) {
                            const size_t at = place(shape, i + x, j + y, k + z);
                            const float w = v[at] * 0.01f;
                            around += u[at] * (1 + 0.1 * (x + y + z)) + w;
                        }
                const size_t at = place(shape, i, j, k);
                const float w = v[at] * 0.9f;
                new_u[at] = u[at] * 0.5 + around / corners * 0.49;
                new_v[at] = (float)(w + u[at] * 0.05);
            }
}

static void pass(lig_instance *instance) {
    int64_t ghosts, steps;
    bool split;
    const char *order, *folder;
    TRY(lig_get_setting_int(instance, "ghosts", &ghosts, &error));
    TRY(lig_get_setting_int(instance, "steps", &steps, &error));
    TRY(lig_get_setting_bool(instance, "split", &split, &error));
    TRY(lig_get_setting_string(instance, "order", &order, &error));
    TRY(lig_get_setting_string(instance, "out", &folder, &error));

    lig_domain *domain;
    TRY(lig_domain_create(instance, &domain, &error));
    const int axes = (int)lig_domain_ndim(domain);
    const uint64_t *begin = lig_domain_begin_point(domain), *end = lig_domain_end_point(domain),
                   *whole = lig_domain_shape(domain);
    struct shape shape = {{1, 1, 1}, {0, 0, 0}, strcmp(order, "F") == 0};
    size_t first[3] = {0, 0, 0}, all[3] = {1, 1, 1};
    lig_array described = {.dtype = LIG_FLOAT64, .ndim = (uint32_t)axes, .unit = "m"};
    described.order = shape.column_major ? LIG_COLUMN_MAJOR : LIG_ROW_MAJOR;
    for (int axis = 0; axis < axes; ++axis) {
        const int here = axis + 3 - axes;
        shape.length[here] = end[axis] - begin[axis], shape.ghosts[here] = (size_t)ghosts;
        first[here] = begin[axis], all[here] = whole[axis];
        described.shape[axis] = shape.length[here] + 2 * (size_t)ghosts;
    }
    const size_t count = elements(&shape);
    double *u = calloc(count, sizeof *u), *new_u = calloc(count, sizeof *u);
    float *v = calloc(count, sizeof *v), *new_v = calloc(count, sizeof *v);
    uint32_t fields[2];
    described.data = u;
    TRY(lig_domain_add_field(domain, "u", (size_t)ghosts, &described, &fields[0], &error));
    described.data = v, described.dtype = LIG_FLOAT32, described.unit = NULL;
    TRY(lig_domain_add_field(domain, "v", (size_t)ghosts, &described, &fields[1], &error));
#define EACH_OWN_POINT                                     \
    for (size_t i = 0; i < shape.length[0]; ++i)           \
        for (size_t j = 0; j < shape.length[1]; ++j)       \
            for (size_t k = 0; k < shape.length[2]; ++k)
#define HERE place(&shape, i + shape.ghosts[0], j + shape.ghosts[1], k + shape.ghosts[2])
    EACH_OWN_POINT {
        const uint64_t number = ((first[0] + i) * all[1] + first[1] + j) * all[2] + first[2] + k;
        u[HERE] = (double)(number * UINT64_C(2654435761) & UINT64_C(0xFFFFFFFF)) / 4294967296.0 - 0.5;
        v[HERE] = (float)((double)((number * 40503 + 7) & 0xFFFF) / 65536.0 - 0.5);
    }
    for (int64_t number = 0; number < steps; number += ghosts) {
        if (split) {
            TRY(lig_domain_begin(domain, (double)number, fields, 2, &error));
            TRY(lig_domain_end(domain, fields, 2, &error));
        } else {
            TRY(lig_domain_exchange(domain, (double)number, fields, 2, &error));
        }
        TRY(lig_domain_publish(domain, fields[0], &error));
        for (int64_t depth = 1; depth <= ghosts; ++depth) {
            step(&shape, (size_t)depth, axes, u, v, new_u, new_v);
            double *last_u = u;
            float *last_v = v;
            u = new_u, v = new_v, new_u = last_u, new_v = last_v;
        }
        /* The results are in the other arrays, whose ghosts beyond open edges must be 0. */
        double *clean_u = calloc(count, sizeof *u);
        float *clean_v = calloc(count, sizeof *v);
        EACH_OWN_POINT clean_u[HERE] = u[HERE], clean_v[HERE] = v[HERE];
        free(u), free(v), u = clean_u, v = clean_v;
        TRY(lig_domain_set_data(domain, fields[0], u, &error));
        TRY(lig_domain_set_data(domain, fields[1], v, &error));
    }
    const size_t own = shape.length[0] * shape.length[1] * shape.length[2];
    double *own_u = malloc(own * sizeof *own_u), *copy = malloc(own * sizeof *copy);
    float *own_v = malloc(own * sizeof *own_v);
    size_t next = 0;
    EACH_OWN_POINT own_u[next] = u[HERE], own_v[next] = v[HERE], copy[next] = v[HERE], ++next;
    double totals[3];
    TRY(lig_domain_sum(domain, own_u, own, &totals[0], &error));
    TRY(lig_domain_min(domain, own_u, own, &totals[1], &error));
    TRY(lig_domain_max(domain, copy, own, &totals[2], &error));

    char path[4096];
    snprintf(path, sizeof path, "%s/%u.bin", folder, lig_domain_block(domain));
    FILE *file = fopen(path, "wb");
    const int64_t header = axes;
    fwrite(&header, sizeof header, 1, file);
    fwrite(begin, sizeof *begin, (size_t)axes, file);
    fwrite(end, sizeof *end, (size_t)axes, file);
    fwrite(totals, sizeof *totals, 3, file);
    fwrite(own_u, sizeof *own_u, own, file);
    fwrite(own_v, sizeof *own_v, own, file);
    fclose(file);
    if (lig_domain_blocks(domain)[0] == 0) exit(2);
    lig_domain_free(domain);
    free(u), free(v), free(new_u), free(new_v), free(own_u), free(own_v), free(copy);
}

int main(void) {
    lig_instance_options options = {.size = sizeof options, .language = "c"};
    lig_instance *instance;
    TRY(lig_instance_create(&options, &instance, &error));
    for (;;) {
        bool again;
        TRY(lig_reuse_instance(instance, &again, &error));
        if (!again) break;
        pass(instance);
    }
    lig_instance_free(instance);
    return 0;
}
