// The module "wave": sound in air. Its fields are the excess pressure u, and its rate of change v.
#include <ligament_module.h>

const char *ligament_module(void) {
    return "name: wave\n"
           "parameters:\n"
           "  speed: {default: 343.0, min: 0, unit: m/s}\n"
           "  spacing: {default: 0.05, min: 1.0e-6, unit: m}\n"
           "fields:\n"
           "  u: {ghosts: 1, unit: Pa, order: column-major}\n"
           "  v: {ghosts: 0, unit: Pa/s, order: column-major, published: false}\n"
           "functions:\n"
           "  begin: {bin: initial, writes: {u: interior, v: interior}}\n"
           "  accelerate: {bin: evol, reads: {u: everywhere, v: interior}, writes: {v: interior}}\n"
           "  advance: {bin: evol, after: accelerate, reads: {u: interior, v: interior},\n"
           "            writes: {u: interior}}\n";
}

// Calls WORK at each point of the block. I is the place of the point in u, and J in v; x runs fastest in both.
#define EACH_POINT(WORK) \
    for (uint64_t z = 0; z < u->points[2]; ++z) \
        for (uint64_t y = 0; y < u->points[1]; ++y) \
            for (uint64_t x = 0; x < u->points[0]; ++x) { \
                int64_t I = (int64_t)x + (int64_t)y * u->strides[1] + (int64_t)z * u->strides[2]; \
                int64_t J = (int64_t)x + (int64_t)y * v->strides[1] + (int64_t)z * v->strides[2]; \
                WORK; \
            }

int begin(lig_block *block) {
    const lig_module_field *u = lig_block_field(block, "u"), *v = lig_block_field(block, "v");
    if (u == NULL || v == NULL) return 1;
    double *pressure = u->own, *rate = v->own;
    EACH_POINT(pressure[I] = rate[J] = 0.0)
    return 0;
}

int accelerate(lig_block *block) {
    const lig_module_field *u = lig_block_field(block, "u"), *v = lig_block_field(block, "v");
    if (u == NULL || v == NULL) return 1;
    const double *p = u->own;
    double *rate = v->own, ratio = lig_block_real(block, "speed") / lig_block_real(block, "spacing");
    double factor = block->time_step * (ratio * ratio);
    const int64_t Y = u->strides[1], Z = u->strides[2];
    EACH_POINT(double around = (p[I - 1] + p[I + 1]) + (p[I - Y] + p[I + Y]) + (p[I - Z] + p[I + Z]);
               rate[J] += factor * (around - 6.0 * p[I]))
    return 0;
}

int advance(lig_block *block) {
    const lig_module_field *u = lig_block_field(block, "u"), *v = lig_block_field(block, "v");
    if (u == NULL || v == NULL) return 1;
    double *pressure = u->own;
    const double *rate = v->own;
    EACH_POINT(pressure[I] += block->time_step * rate[J])
    return 0;
}
