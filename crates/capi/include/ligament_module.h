// ligament_module.h: a module of a simulation on a grid, in C, C++ or Fortran. A module is a shared object with
// the function `ligament_module`, which returns the declaration, and the functions that it declares:
//
//     #include <ligament_module.h>
//
//     const char *ligament_module(void) {
//         return "name: decay\n"
//                "parameters: {rate: {min: 0, max: 1, default: 0.1, steerable: true}}\n"
//                "fields: {u: {ghosts: 1}}\n"
//                "functions: {halve: {bin: evol, reads: {u: interior}, writes: {u: interior}}}\n";
//     }
//
//     int halve(lig_block *block) {
//         const lig_module_field *u = lig_block_field(block, "u");
//         if (u == NULL) return 1;
//         double factor = 1.0 - lig_block_real(block, "rate");
//         for (uint64_t i = 0; i < u->points[0]; ++i)
//             for (uint64_t j = 0; j < u->points[1]; ++j)
//                 ((double *)u->own)[i * u->strides[0] + j * u->strides[1]] *= factor;
//         return 0;
//     }
//
// Nothing has to be linked. Compile with `cc -shared -fPIC decay.c -o decay.so`. The guide is
// docs/guides/modules.md.

#ifndef LIGAMENT_MODULE_H
#define LIGAMENT_MODULE_H

#include "ligament.h"

#ifdef __cplusplus
extern "C" {
#endif

// The array of a field in a block. A point has the place [i][j][k]; axes that the grid has not have one point.
typedef struct lig_module_field {
    // `sizeof(lig_module_field)`; members may be added at the end.
    size_t size;
    // The first element of the array: the ghost at the lower end of all axes.
    void *data;
    // The element of the block's first point, [0][0][0]. Ghosts have places below 0, and beyond `points`.
    void *own;
    // The number of the block's points along each axis, without the ghosts.
    uint64_t points[3];
    // The distance of neighbouring points along each axis, in elements.
    int64_t strides[3];
    // The number of ghosts at each side.
    uint64_t ghosts;
    // The type of the elements: a `lig_dtype`.
    int32_t dtype;
    // Which index runs fastest in memory: a `lig_order`.
    int32_t order;
} lig_module_field;

// A block during the call of a function.
typedef struct lig_block lig_block;
struct lig_block {
    // How much of this struct the library has.
    size_t size;
    // The number of axes of the grid, 1 to 3.
    uint32_t ndim;
    // The number of the block, from 0.
    uint32_t number;
    // The number of points of the whole grid along each axis.
    uint64_t shape[3];
    // The index of the block's first point along each axis, counted from 0.
    uint64_t begin[3];
    // The index after the block's last point along each axis.
    uint64_t end[3];
    // The number of the step: 0 in the bin `initial`, then from 1.
    uint64_t step;
    // The model time of the fields at the beginning of the step, and the length of the step, s.
    double time;
    double time_step;
    // The functions below call these.
    const lig_module_field *(*field)(lig_block *block, const char *name);
    double (*real)(lig_block *block, const char *name);
    int64_t (*integer)(lig_block *block, const char *name);
    int32_t (*flag)(lig_block *block, const char *name);
    int (*reduce)(lig_block *block, int32_t how, const double *numbers, size_t count, double *result);
    void (*fail)(lig_block *block, const char *why);
};

// A function of a module. 0 if all is well.
typedef int lig_module_function(lig_block *block);

// The declaration of the module, in YAML.
const char *ligament_module(void);

// Returns a field that the function declares; NULL, and the simulation ends, if it declares none of this name.
// It is valid until the function returns.
static inline const lig_module_field *lig_block_field(lig_block *block, const char *name) {
    return block->field(block, name);
}

// Returns a parameter of the type float. A wrong name ends the simulation after the function has returned; this
// holds for the two functions below, too.
static inline double lig_block_real(lig_block *block, const char *name) { return block->real(block, name); }

// Returns a parameter of the type int.
static inline int64_t lig_block_integer(lig_block *block, const char *name) {
    return block->integer(block, name);
}

// Returns a parameter of the type bool.
static inline bool lig_block_flag(lig_block *block, const char *name) { return block->flag(block, name) != 0; }

// The exact sum of the numbers that all blocks give, rounded once. All blocks make the same calls. Returns 0 if
// all is well; otherwise the function returns something other than 0, too.
static inline int lig_block_sum(lig_block *block, const double *numbers, size_t count, double *sum) {
    return block->reduce(block, 1, numbers, count, sum);
}

// The smallest of all numbers that all blocks give.
static inline int lig_block_min(lig_block *block, const double *numbers, size_t count, double *min) {
    return block->reduce(block, 2, numbers, count, min);
}

// The largest of all numbers that all blocks give.
static inline int lig_block_max(lig_block *block, const double *numbers, size_t count, double *max) {
    return block->reduce(block, 3, numbers, count, max);
}

// To be returned where a function cannot do its work: it ends the simulation with this text.
static inline int lig_block_fail(lig_block *block, const char *why) {
    block->fail(block, why);
    return 1;
}

#ifdef __cplusplus
}
#endif

#endif
