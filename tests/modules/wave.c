// A module of a wave: u is its height, v its speed. The arithmetic is that of `wave_model.py`.
#include <ligament_module.h>

const char *ligament_module(void) {
    return "name: wave\n"
           "parameters:\n"
           "  stiffness: {default: 0.2, min: 0, max: 0.5, steerable: true}\n"
           "fields:\n"
           "  u: {ghosts: 1, unit: m, order: column-major}\n"
           "  v: {ghosts: 0, unit: m, order: column-major}\n"
           "functions:\n"
           "  start: {bin: initial, writes: {u: interior, v: interior}}\n"
           "  accelerate: {bin: evol, reads: {u: everywhere, v: interior}, writes: {v: interior}}\n"
           "  move: {bin: evol, after: accelerate, reads: {u: interior, v: interior}, writes: {u: interior}}\n";
}

static double *at(const lig_module_field *field, uint64_t i, uint64_t j) {
    return (double *)field->own + (int64_t)i * field->strides[0] + (int64_t)j * field->strides[1];
}

int start(lig_block *block) {
    const lig_module_field *u = lig_block_field(block, "u"), *v = lig_block_field(block, "v");
    if (u == NULL || v == NULL) return 1;
    for (uint64_t i = 0; i < u->points[0]; ++i)
        for (uint64_t j = 0; j < u->points[1]; ++j) {
            uint64_t number = (block->begin[0] + i) * block->shape[1] + block->begin[1] + j;
            *at(u, i, j) = (double)(number * 2654435761u & 0xffffffffu) / 4294967296.0 - 0.5;
            *at(v, i, j) = 0.0;
        }
    return 0;
}

int accelerate(lig_block *block) {
    const lig_module_field *u = lig_block_field(block, "u"), *v = lig_block_field(block, "v");
    if (u == NULL || v == NULL) return 1;
    double stiffness = lig_block_real(block, "stiffness");
    for (uint64_t i = 0; i < u->points[0]; ++i)
        for (uint64_t j = 0; j < u->points[1]; ++j) {
            double around = *at(u, i - 1, j) + *at(u, i + 1, j) + (*at(u, i, j - 1) + *at(u, i, j + 1));
            *at(v, i, j) += stiffness * (around - 4.0 * *at(u, i, j));
        }
    return 0;
}

int move(lig_block *block) {
    const lig_module_field *u = lig_block_field(block, "u"), *v = lig_block_field(block, "v");
    if (u == NULL || v == NULL) return 1;
    for (uint64_t i = 0; i < u->points[0]; ++i)
        for (uint64_t j = 0; j < u->points[1]; ++j) *at(u, i, j) += block->time_step * *at(v, i, j);
    return 0;
}
