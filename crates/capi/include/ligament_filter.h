// ligament_filter.h: a filter of a conduit that you write yourself, in C, C++, Fortran or Rust. It is a
// function in a shared library, which a model names:
//
//     ligament:
//       filters:
//         macro.out -> micro.in:
//         - library: {file: ./filters.so, function: halve, with: "0.5"}
//
// The library calls it for each message, at the end of the conduit where the filter stands:
//
//     int halve(lig_filter *filter, const lig_filter_message *message) {
//         if (message == NULL) return 0;
//         if (message->dtype != LIG_FLOAT64) return lig_filter_fail(filter, "only float64");
//         lig_filter_message half = *message;
//         half.data = NULL;
//         double *to = filter->emit(filter, &half);
//         if (to == NULL) return 1;
//         const double *from = message->data;
//         for (uint64_t i = 0; i < lig_filter_count(message); ++i) to[i] = 0.5 * from[i];
//         return 0;
//     }
//
// Nothing has to be linked. Compile with `cc -shared -fPIC filters.c -o filters.so`.

#ifndef LIGAMENT_FILTER_H
#define LIGAMENT_FILTER_H

#include "ligament.h"

#ifdef __cplusplus
extern "C" {
#endif

// A message on its way: a number, a truth value, or an array of these.
typedef struct lig_filter_message {
    // `sizeof(lig_filter_message)`; members may be added at the end.
    size_t size;
    // The model time of the data, s.
    double timestamp;
    // The model time of the next message, s. Only if `has_next_timestamp`.
    double next_timestamp;
    int32_t has_next_timestamp;
    // The type of the elements: a `lig_dtype`.
    int32_t dtype;
    // Which index runs fastest in memory: a `lig_order`.
    int32_t order;
    // The number of dimensions, up to 8; 0 for a number by itself.
    uint32_t ndim;
    // The extent of each dimension.
    const uint64_t *shape;
    // The elements, next to each other.
    const void *data;
} lig_filter_message;

// A filter of one slot of a conduit, at work.
typedef struct lig_filter lig_filter;
struct lig_filter {
    // How much of this struct the library has.
    size_t size;
    // The argument that the model gives it: `with`, or an empty text.
    const char *with;
    // The function's own, NULL at first. A slot of a vector port has a filter of its own.
    void *state;
    // Sends a message on: with these times, type, order and shape. Its elements are copied from `data`. If
    // `data` is NULL they are to be written where the result points, until the function returns. NULL if there
    // cannot be such a message; then return something other than 0.
    void *(*emit)(lig_filter *filter, const lig_filter_message *message);
    // Says why the function cannot take a message; then return something other than 0.
    void (*fail)(lig_filter *filter, const char *why);
};

// Such a function. It sends on as many messages as it likes: none, one, or many, in order of time. 0 if all is
// well.
//
// `message` is NULL where no more comes, at the end of the conduit, of an iteration, or of the settings that
// were in force: send on what is still held, free `state` and set it to NULL. Messages of a new series may
// follow.
typedef int lig_filter_function(lig_filter *filter, const lig_filter_message *message);

// Two more functions, for a function `total` that keeps something in `state` in a run with checkpoints:
//
//     int total_state(lig_filter *filter, const lig_filter_message *none);
//     int total_restore(lig_filter *filter, const lig_filter_message *message);
//
// The first is called at a checkpoint, with NULL. It sends on messages that hold all that is kept, and changes
// nothing; no receiver gets them. The second is called in the run that resumes, before the first message, once
// for each of these messages in their order, and puts into `state` what they hold. A library without them can
// be in such a run as long as `state` is NULL after each message.

// The number of elements of a message.
static inline uint64_t lig_filter_count(const lig_filter_message *message) {
    uint64_t count = 1;
    for (uint32_t i = 0; i < message->ndim; ++i) count *= message->shape[i];
    return count;
}

// To be returned where a message cannot be taken.
static inline int lig_filter_fail(lig_filter *filter, const char *why) {
    filter->fail(filter, why);
    return 1;
}

#ifdef __cplusplus
}

#include <exception>

namespace ligament {

// Makes a filter's function of anything that can be called with a filter and a message: what it throws is why
// the message cannot be taken.
//
//     extern "C" int halve(lig_filter *f, const lig_filter_message *m) {
//         return ligament::filtered(f, [&] { … });
//     }
template <class Work>
int filtered(lig_filter *filter, Work &&work) noexcept {
    try {
        work();
        return 0;
    } catch (const std::exception &error) {
        return lig_filter_fail(filter, error.what());
    } catch (...) {
        return lig_filter_fail(filter, "it threw something that is no std::exception");
    }
}

}  // namespace ligament
#endif

#endif
