// Functions that break their declarations. Each test chooses one function and its declaration.
#include <ligament_module.h>
#include <stdlib.h>

const char *ligament_module(void) {
    return "name: faults\n"
           "parameters: {size: {default: 1.0}}\n"
           "fields: {u: {order: column-major}, v: {order: column-major}}\n"
           "functions:\n"
           "  begin: {bin: initial, writes: {u: interior, v: interior}}\n"
           "  @DECLARATION@\n";
}

static double *at(const lig_module_field *field, int64_t i, int64_t j) {
    return (double *)field->own + i * field->strides[0] + j * field->strides[1];
}

#define EACH_POINT(field) \
    for (int64_t i = 0; i < (int64_t)(field)->points[0]; ++i) \
        for (int64_t j = 0; j < (int64_t)(field)->points[1]; ++j)

int begin(lig_block *block) {
    const lig_module_field *u = lig_block_field(block, "u"), *v = lig_block_field(block, "v");
    EACH_POINT(u) *at(u, i, j) = *at(v, i, j) = 1.0;
    return 0;
}

int neighbours(lig_block *block) {
    const lig_module_field *u = lig_block_field(block, "u"), *v = lig_block_field(block, "v");
    EACH_POINT(u) *at(v, i, j) = 0.5 * (*at(u, i - 1, j) + *at(u, i + 1, j));
    return 0;
}

int gap(lig_block *block) {
    const lig_module_field *v = lig_block_field(block, "v");
    EACH_POINT(v) if (i != 2 || j != 3) *at(v, i, j) = 2.0;
    return 0;
}

int update(lig_block *block) {
    const lig_module_field *u = lig_block_field(block, "u"), *v = lig_block_field(block, "v");
    double last = *at(v, 1, 1);
    EACH_POINT(u) *at(v, i, j) = *at(u, i, j) + (i == 2 ? last : 0.0);
    return 0;
}

int beyond(lig_block *block) {
    const lig_module_field *v = lig_block_field(block, "v");
    EACH_POINT(v) *at(v, i, j) = 2.0;
    *at(v, -1, 3) = 2.0;
    return 0;
}

int change(lig_block *block) {
    const lig_module_field *u = lig_block_field(block, "u"), *v = lig_block_field(block, "v");
    EACH_POINT(u) *at(v, i, j) = *at(u, i, j);
    *at(u, 2, 3) = 3.0;
    return 0;
}

int total(lig_block *block) {
    const lig_module_field *u = lig_block_field(block, "u");
    double sum = 0.0;
    return lig_block_sum(block, at(u, -1, 2), 1, &sum);
}

int other(lig_block *block) { return lig_block_field(block, "v") == NULL ? 1 : 0; }

int parameter(lig_block *block) { return lig_block_real(block, "length") > 0.0 ? 0 : 1; }

int refuse(lig_block *block) { return lig_block_fail(block, "the height is below the ground"); }

int crash(lig_block *block) {
    (void)block;
    abort();
}
