// The C side of Ligament's Fortran binding. It takes Fortran's descriptors of arrays (ISO_Fortran_binding.h,
// any type, rank and stride) and texts (without a NUL at the end), and calls the C interface. The user's own C
// compiler compiles it, because its descriptors are those of the Fortran compiler beside it. Functions begin
// with lf_; parts/calls.f90 declares them.
#include <ISO_Fortran_binding.h>
#include <inttypes.h>
#include <ligament.h>
#include <math.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The slot if the caller gives none.
#define NO_SLOT INT64_MIN
// A misuse after which nothing may be written to `errmsg`: a text was passed where the argument is a type(*).
// gfortran then passes the text's length as that of the next text among the arguments.
#define TEXT_AMONG_ARRAYS (-1)
#define NAME_SIZE 256
#define ORIGIN_SIZE 64

// A value in Fortran: the key of its owner (a message, or a value that was built), the value itself, and, for
// error texts, the port that it came from, padded with blanks. `edition` is below 0 for a value that was built,
// and for a message's own value. A part of a built value becomes stale when the built value is changed.
typedef struct {
    int64_t key;
    const lig_value *value;
    int64_t slot;
    int32_t edition, reserved;
    char port[ORIGIN_SIZE];
} lf_ref;

// The options of a send. `instance` is the key of the instance. parts/calls.f90 has the same type.
typedef struct {
    const lf_ref *settings;
    int64_t instance, slot;
    double timestamp, next_timestamp;
    size_t port_length, name_length, name_count, unit_length;
    int32_t order;
    bool has_next_timestamp, is_unsigned;
} lf_sending;

// The options of a receive.
typedef struct {
    int64_t instance, slot;
    double timeout;
    size_t port_length;
    bool has_timeout, is_unsigned;
} lf_receiving;

// A number or truth value.
typedef struct {
    int32_t kind;
    int32_t reserved;
    int64_t integer;
    double real, imaginary;
} lf_scalar;

#include "parts/errors.h"
#include "parts/arrays.h"
#include "parts/sending.h"
#include "parts/pointers.h"
#include "parts/receiving.h"
#include "parts/values.h"
#include "parts/instances.h"
#include "parts/checkpoints.h"
#include "parts/grids.h"
