// A module of the simulation NAME: a field u that spreads.
#include <ligament_module.h>
#include <stdio.h>

const char *ligament_module(void) {
    return "name: NAME\n"
           "parameters:\n"
           "  share: {default: 0.1, min: 0, max: 0.25, steerable: true}\n"
           "fields:\n"
           "  u: {ghosts: 1}\n"
           "  change: {ghosts: 0, published: false}\n"
           "functions:\n"
           "  start: {bin: initial, writes: {u: interior}}\n"
           "  spread: {bin: evol, reads: {u: everywhere}, writes: {change: interior}}\n"
           "  add: {bin: evol, reads: {u: interior, change: interior}, writes: {u: interior}}\n"
           "  report: {bin: analysis, reads: {u: interior}}\n";
}

// The element of a field at a point of the block. Ghosts have places below 0 and beyond `points`.
static double *at(const lig_module_field *field, int64_t i, int64_t j) {
    return (double *)field->own + i * field->strides[0] + j * field->strides[1];
}

int start(lig_block *block) {
    const lig_module_field *u = lig_block_field(block, "u");
    if (u == NULL) return 1;
    for (int64_t i = 0; i < (int64_t)u->points[0]; ++i)
        for (int64_t j = 0; j < (int64_t)u->points[1]; ++j)
            *at(u, i, j) = (block->begin[0] + i == 8 && block->begin[1] + j == 8) ? 1.0 : 0.0;
    return 0;
}

int spread(lig_block *block) {
    const lig_module_field *u = lig_block_field(block, "u"), *change = lig_block_field(block, "change");
    if (u == NULL || change == NULL) return 1;
    double share = lig_block_real(block, "share");
    for (int64_t i = 0; i < (int64_t)u->points[0]; ++i)
        for (int64_t j = 0; j < (int64_t)u->points[1]; ++j) {
            double around = *at(u, i - 1, j) + *at(u, i + 1, j) + *at(u, i, j - 1) + *at(u, i, j + 1);
            *at(change, i, j) = share * (around - 4.0 * *at(u, i, j));
        }
    return 0;
}

int add(lig_block *block) {
    const lig_module_field *u = lig_block_field(block, "u"), *change = lig_block_field(block, "change");
    if (u == NULL || change == NULL) return 1;
    for (int64_t i = 0; i < (int64_t)u->points[0]; ++i)
        for (int64_t j = 0; j < (int64_t)u->points[1]; ++j) *at(u, i, j) += *at(change, i, j);
    return 0;
}

int report(lig_block *block) {
    const lig_module_field *u = lig_block_field(block, "u");
    if (u == NULL) return 1;
    double largest = 0.0;
    for (int64_t i = 0; i < (int64_t)u->points[0]; ++i)
        for (int64_t j = 0; j < (int64_t)u->points[1]; ++j)
            if (*at(u, i, j) > largest) largest = *at(u, i, j);
    if (lig_block_max(block, &largest, 1, &largest) != 0) return 1;
    if (block->number == 0) printf("step %d: the largest u is %.6f\n", (int)block->step, largest);
    return 0;
}
