// The C side of Ligament's Fortran binding: takes Fortran's descriptors of arrays (ISO_Fortran_binding.h, any type, rank and
// stride) and texts (not ended by a NUL), and calls the C interface. Compiled by the user's own C compiler, whose
// descriptors are those of the Fortran compiler beside it. Functions begin with lf_; parts/calls.f90 declares them.
#include <ISO_Fortran_binding.h>
#include <float.h>
#include <inttypes.h>
#include <ligament.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// What is passed for a slot that is not given.
#define NO_SLOT INT64_MIN
// A misuse after which nothing may be written to `errmsg`: a text was given where a type(*) is. gfortran then passes the
// text's length as that of the next text among the arguments.
#define TEXT_AMONG_ARRAYS (-1)
#define NAME_SIZE 256
#define ORIGIN_SIZE 64

// A value of Fortran's: what keeps it alive (a message, or a value that was built), itself, and for error texts the port
// that it came from, padded with blanks. `edition` is below 0 for what was built itself, and for a message's own value;
// what is inside becomes stale when what was built is changed.
typedef struct {
    int64_t key;
    const lig_value *value;
    int64_t slot;
    int32_t edition, reserved;
    char port[ORIGIN_SIZE];
} lf_ref;

// How to send; the instance is its key. parts/calls.f90 has the same.
typedef struct {
    const lf_ref *settings;
    int64_t instance, slot;
    double timestamp, next_timestamp;
    size_t port_length, name_length, name_count, unit_length;
    int32_t order;
    bool has_next_timestamp, is_unsigned;
} lf_sending;

// How to receive.
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

// ---- errors

// What went wrong in this thread's last call that failed.
static _Thread_local lig_error fault;
// The instance that an error is reported for which ends the program: where it was made, or the one that is running.
static lig_instance *_Atomic living;
static _Thread_local lig_instance *mine;

static lig_status fail(lig_status status, const char *format, ...) {
    va_list values;
    va_start(values, format);
    vsnprintf(fault.message, sizeof fault.message, format, values);
    va_end(values);
    return status;
}

// Puts the port before the text of an error that the library gave.
static lig_status name_port(lig_status status, const char *port, int64_t slot) {
    if (status != LIG_ERR_UNEXPECTED || port == NULL || *port == 0) return status;
    char text[sizeof fault.message];
    memcpy(text, fault.message, sizeof text);
    if (slot == NO_SLOT) return fail(status, "port \"%s\": %.900s", port, text);
    return fail(status, "port \"%s[%" PRId64 "]\": %.900s", port, slot, text);
}

static void origin_name(const lf_ref *ref, char name[ORIGIN_SIZE + 1]) {
    size_t length = ORIGIN_SIZE;
    while (length > 0 && ref->port[length - 1] == ' ') --length;
    memcpy(name, ref->port, length);
    name[length] = 0;
}

static lig_status from(lig_status status, const lf_ref *ref) {
    if (status != LIG_ERR_UNEXPECTED) return status;
    char name[ORIGIN_SIZE + 1];
    origin_name(ref, name);
    return name_port(status, name, ref->slot);
}

size_t lf_fault(const char **text) {
    *text = fault.message;
    return strlen(fault.message);
}

void lf_set_fault(const char *text, size_t length) {
    fail(LIG_ERR_USAGE, "%.*s", length < 1000 ? (int)length : 1000, text);
}

// Tells the run and the one who reads the output why the program stops.
void lf_last_words(int32_t status) {
    fprintf(stderr, "%s\n", fault.message);
    fflush(stderr);
    if (mine != NULL && mine == atomic_load(&living) && status != LIG_ERR_RUN_ENDS && status != LIG_ERR_REGISTRATION) {
        lig_error_shutdown(mine, fault.message, NULL);
    }
}

// Says which instance this thread runs now; NULL for none.
static void enter(lig_instance *instance) {
    mine = instance;
    atomic_store(&living, instance);
}

// Writes into the error that a function of a submodel was given.
void lf_write_error(lig_error *error, const char *text, size_t length) {
    if (error == NULL) return;
    if (length >= sizeof error->message) length = sizeof error->message - 1;
    memcpy(error->message, text, length);
    error->message[length] = 0;
}

// ---- keys: what Fortran's variables hold

// Copies of a variable share what it stands for, and Fortran does not tell when the last of them goes. So a variable holds
// the key of an entry here, which changes when what it stands for is freed, and a copy that is left over is found out.
typedef struct {
    void *_Atomic thing;
    _Atomic uint32_t life;
    _Atomic int32_t edition;
    uint32_t next;
} Entry;

enum { CHUNK = 1024, CHUNKS = 1 << 14, NONE = UINT32_MAX };
static Entry *_Atomic chunks[CHUNKS];
static atomic_flag busy = ATOMIC_FLAG_INIT;
static uint32_t first_free = NONE, made_entries;  // under `busy`
static _Thread_local uint32_t spare = NONE;       // an entry that this thread has freed

static Entry *entry_at(uint32_t number) {
    Entry *chunk = number / CHUNK < CHUNKS ? atomic_load_explicit(&chunks[number / CHUNK], memory_order_acquire) : NULL;
    return chunk != NULL ? &chunk[number % CHUNK] : NULL;
}

// The entry of a key; NULL if what it stood for is gone.
static Entry *entry_of(int64_t key) {
    if (key == 0) return NULL;
    Entry *entry = entry_at((uint32_t)key);
    if (entry == NULL || atomic_load_explicit(&entry->life, memory_order_relaxed) != (uint32_t)(key >> 32)) return NULL;
    return entry;
}

static void *thing_of(int64_t key) {
    Entry *entry = entry_of(key);
    return entry != NULL ? atomic_load_explicit(&entry->thing, memory_order_relaxed) : NULL;
}

static uint32_t new_entry(void) {
    while (atomic_flag_test_and_set_explicit(&busy, memory_order_acquire)) continue;
    uint32_t number = first_free;
    if (number != NONE) {
        first_free = entry_at(number)->next;
    } else if (made_entries < (uint32_t)CHUNK * CHUNKS) {
        number = made_entries;
        if (number % CHUNK == 0) {
            Entry *chunk = calloc(CHUNK, sizeof *chunk);
            if (chunk == NULL) number = NONE;
            for (int i = 0; chunk != NULL && i < CHUNK; ++i) chunk[i].life = 1;
            if (chunk != NULL) atomic_store_explicit(&chunks[number / CHUNK], chunk, memory_order_release);
        }
        if (number != NONE) ++made_entries;
    }
    atomic_flag_clear_explicit(&busy, memory_order_release);
    return number;
}

// A key for a thing; 0 if there is no memory.
static int64_t keep(void *thing) {
    uint32_t number = spare;
    if (number != NONE) {
        spare = NONE;
    } else {
        number = new_entry();
    }
    if (number == NONE) return 0;
    Entry *entry = entry_at(number);
    atomic_store_explicit(&entry->thing, thing, memory_order_relaxed);
    atomic_store_explicit(&entry->edition, 0, memory_order_relaxed);
    return (int64_t)((uint64_t)atomic_load_explicit(&entry->life, memory_order_relaxed) << 32 | number);
}

// Ends the life of a key and gives what it stood for; NULL if that was gone already.
static void *let_go(int64_t key) {
    Entry *entry = entry_of(key);
    if (entry == NULL) return NULL;
    void *thing = atomic_exchange(&entry->thing, NULL);
    const uint32_t life = (uint32_t)(key >> 32) + 1;
    atomic_store_explicit(&entry->life, life & INT32_MAX ? life & INT32_MAX : 1, memory_order_relaxed);
    if (spare == NONE) {
        spare = (uint32_t)key;
        return thing;
    }
    while (atomic_flag_test_and_set_explicit(&busy, memory_order_acquire)) continue;
    entry->next = first_free;
    first_free = (uint32_t)key;
    atomic_flag_clear_explicit(&busy, memory_order_release);
    return thing;
}

static lig_status instance_of(int64_t key, lig_instance **instance) {
    *instance = thing_of(key);
    if (*instance != NULL) return LIG_OK;
    return fail(LIG_ERR_USAGE, "there is no instance here: it was freed, or never made");
}

#define INSTANCE(key)                                                             \
    lig_instance *instance;                                                       \
    do {                                                                          \
        const lig_status joined = instance_of(key, &instance);                    \
        if (joined != LIG_OK) return joined;                                      \
    } while (0)

static bool is_here(const lf_ref *ref) {
    Entry *entry = entry_of(ref->key);
    return entry != NULL && ref->value != NULL && (ref->edition < 0 || ref->edition == atomic_load(&entry->edition));
}

static lig_status there(const lf_ref *ref) {
    if (is_here(ref)) return LIG_OK;
    char name[ORIGIN_SIZE + 1];
    origin_name(ref, name);
    if (*name) return fail(LIG_ERR_USAGE, "the message that was received on port \"%s\" is not there any more: it was freed", name);
    return fail(LIG_ERR_USAGE, "there is no value here: it was freed, put into another value, changed since, or never made");
}

#define THERE                                                                     \
    do {                                                                          \
        const lig_status present = there(ref);                                    \
        if (present != LIG_OK) return present;                                    \
    } while (0)

// A value that was built, for Fortran.
static lig_status give(lig_status status, lig_value *value, lf_ref *made) {
    memset(made, 0, sizeof *made);
    memset(made->port, ' ', ORIGIN_SIZE);
    made->edition = -1;
    made->slot = NO_SLOT;
    if (status != LIG_OK) return status;
    made->value = value;
    made->key = keep(value);
    if (made->key != 0) return LIG_OK;
    lig_value_free(value);
    return fail(LIG_ERR_OUT_OF_MEMORY, "there is no memory for a value");
}

// A part of a value, for Fortran: it lives as long as what it is part of.
static void lend(const lf_ref *whole, const lig_value *part, lf_ref *made) {
    *made = *whole;
    made->value = part;
    if (part == NULL) made->key = 0;
    if (whole->edition >= 0) return;
    Entry *entry = entry_of(whole->key);
    if (entry != NULL) made->edition = atomic_load(&entry->edition);
}

// Says which instance this thread runs now: one that the library lends to a function of a light component.
void lf_enter(int64_t key) {
    enter(thing_of(key));
}

int64_t lf_keep_instance(lig_instance *instance) {
    return keep(instance);
}

void lf_let_go(int64_t key) {
    let_go(key);
}

// ---- texts

static size_t trimmed(const char *text, size_t length) {
    while (length > 0 && text[length - 1] == ' ') --length;
    return length;
}

// A name, without the blanks at its end, as C wants it.
static lig_status name_of(const char *text, size_t length, char name[NAME_SIZE]) {
    length = trimmed(text, length);
    if (length >= NAME_SIZE) return fail(LIG_ERR_USAGE, "a name of %zu characters is too long", length);
    if (memchr(text, 0, length) != NULL) return fail(LIG_ERR_USAGE, "there is a NUL in a name");
    memcpy(name, text, length);
    name[length] = 0;
    return LIG_OK;
}

// The same for text of any length, to be freed.
static char *line_of(const char *text, size_t length) {
    char *line = malloc(length + 1);
    if (line == NULL) return NULL;
    memcpy(line, text, length);
    line[length] = 0;
    return line;
}

#define NAME(variable, text, length)                                              \
    char variable[NAME_SIZE];                                                     \
    do {                                                                          \
        const lig_status named = name_of(text, length, variable);                 \
        if (named != LIG_OK) return named;                                        \
    } while (0)

// ---- arrays

// The element type of a descriptor; 0 if messages have none like it. Fortran's integers are signed, and so are those of
// messages unless it is said otherwise.
static lig_dtype dtype_of(const CFI_cdesc_t *array, bool is_unsigned) {
    const CFI_type_t type = array->type;
    if (type == CFI_type_int8_t) return is_unsigned ? LIG_UINT8 : LIG_INT8;
    if (type == CFI_type_int16_t) return is_unsigned ? LIG_UINT16 : LIG_INT16;
    if (type == CFI_type_int32_t) return is_unsigned ? LIG_UINT32 : LIG_INT32;
    if (type == CFI_type_int64_t) return is_unsigned ? LIG_UINT64 : LIG_INT64;
    if (type == CFI_type_float) return LIG_FLOAT32;
    if (type == CFI_type_double) return LIG_FLOAT64;
    if (type == CFI_type_float_Complex) return LIG_COMPLEX64;
    if (type == CFI_type_double_Complex) return LIG_COMPLEX128;
    if (type == CFI_type_Bool) return LIG_BOOL;
#ifdef CFI_type_mask  // gfortran: the kind stands above the type
    if ((type & CFI_type_mask) == CFI_type_Logical && array->elem_len <= 8) return LIG_BOOL;
#endif
    return 0;
}

// A type as Fortran's users call it.
static const char *type_name(const CFI_cdesc_t *array, char name[64]) {
    const char *what = "a derived type, or one that is unknown,";
#ifdef CFI_type_mask
    switch (array->type & CFI_type_mask) {
        case CFI_type_Integer: what = "integer"; break;
        case CFI_type_Logical: what = "logical"; break;
        case CFI_type_Real: what = "real"; break;
        case CFI_type_Complex: what = "complex"; break;
        case CFI_type_Character: what = "character"; break;
    }
    if (array->type < 0) what = "a derived type, or one that is unknown,";
#endif
    snprintf(name, 64, "%s of %zu bytes", what, array->elem_len);
    return name;
}

static bool is_text(const CFI_cdesc_t *array) {
#ifdef CFI_type_mask
    if (array->type >= 0 && (array->type & CFI_type_mask) == CFI_type_Character) return true;
#endif
    return array->type == CFI_type_char;
}

static bool lie_together(const CFI_cdesc_t *array, bool first_fastest) {
    CFI_index_t stride = (CFI_index_t)array->elem_len;
    for (int i = 0; i < array->rank; ++i) {
        const CFI_dim_t *dim = &array->dim[first_fastest ? i : array->rank - 1 - i];
        if (dim->extent == 0) return true;
        if (dim->extent != 1 && dim->sm != stride) return false;
        stride *= dim->extent;
    }
    return true;
}

// Describes Fortran's array, as it lies, to the C interface. `verb` is what is done with it. A logical of more than one
// byte becomes the truth values of which one lies in each of its elements: the lowest byte.
static lig_status describe(const CFI_cdesc_t *array, bool is_unsigned, const char *verb, lig_array *into,
                           int64_t strides[LIG_MAX_DIMS]) {
    char name[64];
    memset(into, 0, sizeof *into);
    if (is_text(array)) {
        return fail(TEXT_AMONG_ARRAYS, "an array of texts cannot be %s: use a list of texts (ligament_list), or integers", verb);
    }
    into->dtype = dtype_of(array, is_unsigned);
    if (into->dtype == 0) {
        return fail(LIG_ERR_USAGE, "%s cannot be %s: messages have integers of 1 to 8 bytes, real and complex numbers of "
                    "4 or 8 bytes each part, and truth values", type_name(array, name), verb);
    }
    if (array->rank > LIG_MAX_DIMS) {
        return fail(LIG_ERR_USAGE, "an array with %d dimensions cannot be %s: %d are the most", array->rank, verb, LIG_MAX_DIMS);
    }
    into->ndim = (uint32_t)array->rank;
    into->data = array->base_addr;
    bool empty = false;
    for (int i = 0; i < array->rank; ++i) {
        if (array->dim[i].extent < 0) {
            return fail(LIG_ERR_USAGE, "an array of assumed size cannot be %s: say how long it is, as in a(1:n)", verb);
        }
        into->shape[i] = (uint64_t)array->dim[i].extent;
        strides[i] = (int64_t)array->dim[i].sm;
        empty = empty || array->dim[i].extent == 0;
    }
    if (array->base_addr == NULL && !empty) {
        return fail(LIG_ERR_USAGE, "an array that is not allocated, or not associated, cannot be %s", verb);
    }
    const bool wide = into->dtype == LIG_BOOL && array->elem_len > 1;
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    if (wide && !empty) into->data = (char *)into->data + (array->elem_len - 1);
#endif
    into->order = array->rank > 1 ? LIG_COLUMN_MAJOR : LIG_ROW_MAJOR;
    if (empty || (!wide && lie_together(array, true))) return LIG_OK;
    if (!wide && lie_together(array, false)) {
        into->order = LIG_ROW_MAJOR;
        return LIG_OK;
    }
    into->strides = strides;
    return LIG_OK;
}

// The names of dimensions and the unit of an array, as C wants them, for as long as this lives.
typedef struct {
    char *names, *unit;
    const char *each[LIG_MAX_DIMS];
} Labels;

static lig_status label(lig_array *array, const lf_sending *how, const char *names, const char *unit, Labels *labels) {
    memset(labels, 0, sizeof *labels);
    if (names != NULL && how->name_count > 0) {
        if (how->name_count != array->ndim) {
            return fail(LIG_ERR_USAGE, "%zu names were given for %u dimensions", how->name_count, array->ndim);
        }
        labels->names = malloc(how->name_count * (how->name_length + 1));
        if (labels->names == NULL) return fail(LIG_ERR_OUT_OF_MEMORY, "there is no memory for names of dimensions");
        for (size_t i = 0; i < how->name_count; ++i) {
            char *place = labels->names + i * (how->name_length + 1);
            const size_t length = trimmed(names + i * how->name_length, how->name_length);
            memcpy(place, names + i * how->name_length, length);
            place[length] = 0;
            labels->each[i] = place;
        }
        array->names = labels->each;
    }
    if (unit != NULL) {
        labels->unit = line_of(unit, trimmed(unit, how->unit_length));
        array->unit = labels->unit;
    }
    return LIG_OK;
}

static void unlabel(Labels *labels) {
    free(labels->names);
    free(labels->unit);
}

// Describes an array with its labels, and in the order in which it is to travel.
static lig_status describe_fully(const CFI_cdesc_t *data, const lf_sending *how, const char *names, const char *unit,
                                 const char *verb, lig_array *array, int64_t strides[LIG_MAX_DIMS], Labels *labels) {
    labels->names = labels->unit = NULL;
    const lig_status status = describe(data, how->is_unsigned, verb, array, strides);
    if (status != LIG_OK) return status;
    if (how->order >= 0 && how->order != array->order) {
        if (array->ndim > 1 && array->strides == NULL && array->data != NULL) array->strides = strides;
        array->order = how->order;
    }
    return label(array, how, names, unit, labels);
}

static lig_status send_options(const lf_sending *how, lig_send_options *options) {
    memset(options, 0, sizeof *options);
    options->size = sizeof *options;
    options->timestamp = how->timestamp;
    options->next_timestamp = how->next_timestamp;
    options->has_next_timestamp = how->has_next_timestamp;
    if (how->settings != NULL) {
        const lig_status status = there(how->settings);
        if (status != LIG_OK) return status;
        options->settings = how->settings->value;
    }
    if (how->slot == NO_SLOT) return LIG_OK;
    if (how->slot < 0 || how->slot > UINT32_MAX) return fail(LIG_ERR_USAGE, "there is no slot %" PRId64, how->slot);
    options->has_slot = true;
    options->slot = (uint32_t)how->slot;
    return LIG_OK;
}

#define SENDING(port_name, options)                                                \
    INSTANCE(how->instance);                                                      \
    NAME(port_name, port, how->port_length);                                      \
    lig_send_options options;                                                     \
    do {                                                                          \
        const lig_status given = send_options(how, &options);                     \
        if (given != LIG_OK) return given;                                        \
    } while (0)

lig_status lf_send_array(const lf_sending *how, const char *port, const CFI_cdesc_t *data, const char *names,
                         const char *unit) {
    SENDING(name, options);
    lig_array array;
    int64_t strides[LIG_MAX_DIMS];
    Labels labels;
    lig_status status = describe_fully(data, how, names, unit, "sent", &array, strides, &labels);
    if (status == LIG_OK) status = lig_send_array(instance, name, &options, &array, &fault);
    unlabel(&labels);
    return status;
}

static lig_value *new_scalar(const lf_scalar *scalar) {
    switch (scalar->kind) {
        case LIG_KIND_BOOL: return lig_value_new_bool(scalar->integer != 0);
        case LIG_KIND_INT: return lig_value_new_int(scalar->integer);
        case LIG_KIND_UINT: return lig_value_new_uint((uint64_t)scalar->integer);
        case LIG_KIND_FLOAT: return lig_value_new_float(scalar->real);
        case LIG_KIND_COMPLEX: return lig_value_new_complex(scalar->real, scalar->imaginary);
        default: return NULL;
    }
}

lig_status lf_send_scalar(const lf_sending *how, const char *port, const lf_scalar *scalar) {
    SENDING(name, options);
    if (scalar->kind == LIG_KIND_FLOAT) return lig_send_float(instance, name, &options, scalar->real, &fault);
    if (scalar->kind == LIG_KIND_INT) return lig_send_int(instance, name, &options, scalar->integer, &fault);
    if (scalar->kind == LIG_KIND_BOOL) return lig_send_bool(instance, name, &options, scalar->integer != 0, &fault);
    lig_value *value = new_scalar(scalar);
    const lig_status status = lig_send(instance, name, &options, value, &fault);
    lig_value_free(value);
    return status;
}

static lig_status new_text(const char *text, size_t length, lig_value **value) {
    *value = lig_value_new_string(text, length);
    if (*value == NULL) return fail(LIG_ERR_USAGE, "the text is not UTF-8");
    return LIG_OK;
}

lig_status lf_send_text(const lf_sending *how, const char *port, const char *text, size_t length) {
    SENDING(name, options);
    lig_value *value;
    lig_status status = new_text(text, length, &value);
    if (status == LIG_OK) status = lig_send(instance, name, &options, value, &fault);
    lig_value_free(value);
    return status;
}

lig_status lf_send_value(const lf_sending *how, const char *port, const lf_ref *ref) {
    THERE;
    SENDING(name, options);
    return lig_send(instance, name, &options, ref->value, &fault);
}

lig_status lf_send_none(const lf_sending *how, const char *port) {
    SENDING(name, options);
    return lig_send(instance, name, &options, NULL, &fault);
}

// ---- pointers

// Where Fortran's pointers to arrays without elements lead.
static _Alignas(16) char nowhere[16];

// Sets a pointer of Fortran's to elements that lie as `strides` say. CFI_setpointer takes its target only from another
// descriptor, and CFI_establish makes only such as lie together.
static void point(CFI_cdesc_t *pointer, void *data, const uint64_t *shape, const int64_t *strides) {
    pointer->base_addr = data != NULL ? data : nowhere;
    for (int i = 0; i < pointer->rank; ++i) {
        pointer->dim[i].lower_bound = 1;
        pointer->dim[i].extent = (CFI_index_t)shape[i];
        pointer->dim[i].sm = (CFI_index_t)strides[i];
    }
}

static void strides_of(const CFI_cdesc_t *pointer, const uint64_t *shape, lig_order order, int64_t *strides) {
    int64_t stride = (int64_t)pointer->elem_len;
    for (int i = 0; i < pointer->rank; ++i) {
        const int axis = order == LIG_COLUMN_MAJOR ? i : pointer->rank - 1 - i;
        strides[axis] = stride;
        stride *= (int64_t)shape[axis];
    }
}

static void write_shape(char *text, size_t size, uint32_t ndim, const uint64_t *shape) {
    size_t used = (size_t)snprintf(text, size, "[");
    for (uint32_t i = 0; i < ndim; ++i) {
        used += (size_t)snprintf(text + used, size - used, "%s%" PRIu64, i == 0 ? "" : ", ", shape[i]);
    }
    snprintf(text + used, size - used, "]");
}

static const char *signed_apart(lig_dtype came, lig_dtype asked) {
    if (came >= LIG_UINT8 && came <= LIG_UINT64 && asked == came - LIG_UINT8 + LIG_INT8) {
        return "; say unsigned=.true. to get its bits";
    }
    if (asked >= LIG_UINT8 && asked <= LIG_UINT64 && came == asked - LIG_UINT8 + LIG_INT8) {
        return "; leave out unsigned=.true.";
    }
    return "";
}

// Holds what came to what was asked for; `shape` may be NULL. The ABI from 0.2 on can do this itself.
static lig_status expect(const lig_array_view *view, lig_dtype dtype, int rank, const uint64_t *shape) {
    if (view->dtype == dtype && view->ndim == (uint32_t)rank &&
        (shape == NULL || memcmp(view->shape, shape, (size_t)rank * sizeof *shape) == 0)) {
        return LIG_OK;
    }
    char came[200], asked[200] = "";
    write_shape(came, sizeof came, view->ndim, view->shape);
    if (shape != NULL) write_shape(asked, sizeof asked, (uint32_t)rank, shape);
    return fail(LIG_ERR_UNEXPECTED, "an array of %s with %u dimension%s, of shape %s, came where one of %s with %d dimension%s%s%s "
                "was asked for%s", lig_dtype_name(view->dtype), view->ndim, view->ndim == 1 ? "" : "s", came,
                lig_dtype_name(dtype), rank, rank == 1 ? "" : "s", shape != NULL ? ", of shape " : "", asked,
                signed_apart(view->dtype, dtype));
}

// Whether all truth values are 0 or 1, as Fortran has them; in C anything else than 0 is true, too.
static bool are_plain(const lig_array_view *view) {
    if (!view->contiguous) return true;
    const unsigned char *bytes = view->data;
    unsigned char seen = 0;
    for (uint64_t i = 0; i < view->length; ++i) seen |= bytes[i];
    return seen <= 1;
}

// Points Fortran's pointer at a received array, in place. Element (i, j) is the sender's whatever the order: the
// pointer's strides follow it.
lig_status lf_view(const lf_ref *ref, bool is_unsigned, CFI_cdesc_t *pointer) {
    pointer->base_addr = NULL;
    THERE;
    lig_array_view view;
    lig_status status = lig_value_array(ref->value, &view, &fault);
    if (status == LIG_OK) status = expect(&view, dtype_of(pointer, is_unsigned), pointer->rank, NULL);
    if (status != LIG_OK) return from(status, ref);
    for (uint32_t i = 0; view.length > 0 && i < view.ndim; ++i) {
        if (view.shape[i] > 1 && view.strides[i] % (int64_t)pointer->elem_len != 0) {
            fail(LIG_ERR_UNEXPECTED, "elements lie %" PRId64 " bytes apart, where a pointer cannot lead; copy them, by get()",
                 view.strides[i]);
            return from(LIG_ERR_UNEXPECTED, ref);
        }
    }
    if (view.dtype == LIG_BOOL && view.length > 0 && !are_plain(&view)) {
        fail(LIG_ERR_UNEXPECTED, "truth values came that are neither 0 nor 1, which Fortran cannot read in place; copy them, "
             "by get() or receive_into()");
        return from(LIG_ERR_UNEXPECTED, ref);
    }
    point(pointer, view.length > 0 ? (void *)(uintptr_t)view.data : NULL, view.shape, view.strides);
    return LIG_OK;
}

// The same for bytes.
lig_status lf_view_bytes(const lf_ref *ref, CFI_cdesc_t *pointer) {
    pointer->base_addr = NULL;
    THERE;
    const void *data;
    size_t size;
    const lig_status status = lig_value_bytes(ref->value, &data, &size, &fault);
    if (status != LIG_OK) return from(status, ref);
    point(pointer, size > 0 ? (void *)(uintptr_t)data : NULL, (uint64_t[]){size}, (int64_t[]){1});
    return LIG_OK;
}

// ---- copies into Fortran's variables

static void put_logical(char *to, size_t size, bool value) {
    switch (size) {
        case 1: *(int8_t *)to = value; break;
        case 2: *(int16_t *)to = value; break;
        case 4: *(int32_t *)to = value; break;
        default: *(int64_t *)to = value; break;
    }
}

// Copies a received array, which has the shape of `to`, element by element.
static void scatter(const lig_array_view *view, CFI_cdesc_t *to) {
    if (view->length == 0) return;
    uint64_t at[LIG_MAX_DIMS] = {0};
    const size_t size = lig_dtype_size(view->dtype);
    const uint32_t outer = view->ndim == 0 ? 0 : 1;
    const uint64_t count = view->ndim == 0 ? 1 : view->shape[0];
    const int64_t step = view->ndim == 0 ? 0 : view->strides[0];
    const CFI_index_t to_step = view->ndim == 0 ? 0 : to->dim[0].sm;
    for (;;) {
        const char *source = view->data;
        char *target = to->base_addr;
        for (uint32_t i = outer; i < view->ndim; ++i) {
            source += (int64_t)at[i] * view->strides[i];
            target += (CFI_index_t)at[i] * to->dim[i].sm;
        }
        for (uint64_t i = 0; i < count; ++i, source += step, target += to_step) {
            if (view->dtype == LIG_BOOL) {
                put_logical(target, to->elem_len, *source != 0);
            } else {
                memcpy(target, source, size);
            }
        }
        uint32_t axis = outer;
        while (axis < view->ndim && ++at[axis] == view->shape[axis]) at[axis++] = 0;
        if (axis >= view->ndim) return;
    }
}

static lig_status no_fit(const lig_value *value, const CFI_cdesc_t *to) {
    char name[64];
    return fail(LIG_ERR_UNEXPECTED, "the value is of kind \"%s\", which does not go into a variable of type %s with %d "
                "dimension%s", lig_kind_name(lig_value_kind(value)), type_name(to, name), to->rank, to->rank == 1 ? "" : "s");
}

static lig_status get_integer(const lig_value *value, lig_dtype dtype, CFI_cdesc_t *to) {
    int64_t number = 0;
    if (dtype >= LIG_UINT8) {
        uint64_t bits;
        const lig_status status = lig_value_uint(value, &bits, &fault);
        if (status != LIG_OK) return status;
        if (to->elem_len < 8 && bits >> (8 * to->elem_len) != 0) {
            return fail(LIG_ERR_UNEXPECTED, "the integer %" PRIu64 " does not fit %s", bits, lig_dtype_name(dtype));
        }
        number = (int64_t)bits;
    } else {
        const lig_status status = lig_value_int(value, &number, &fault);
        if (status != LIG_OK) return status;
        const int64_t limit = to->elem_len < 8 ? (int64_t)1 << (8 * to->elem_len - 1) : 0;
        if (limit != 0 && (number < -limit || number >= limit)) {
            return fail(LIG_ERR_UNEXPECTED, "the integer %" PRId64 " does not fit %s", number, lig_dtype_name(dtype));
        }
    }
    switch (to->elem_len) {
        case 1: *(int8_t *)to->base_addr = (int8_t)number; break;
        case 2: *(int16_t *)to->base_addr = (int16_t)number; break;
        case 4: *(int32_t *)to->base_addr = (int32_t)number; break;
        default: *(int64_t *)to->base_addr = number; break;
    }
    return LIG_OK;
}

static lig_status get_scalar(const lig_value *value, lig_dtype dtype, CFI_cdesc_t *to) {
    double real, imaginary = 0;
    bool truth;
    lig_status status;
    switch (dtype) {
        case LIG_BOOL:
            status = lig_value_bool(value, &truth, &fault);
            if (status == LIG_OK) put_logical(to->base_addr, to->elem_len, truth);
            return status;
        case LIG_FLOAT32:
        case LIG_FLOAT64:
            status = lig_value_float(value, &real, &fault);
            if (status != LIG_OK) return status;
            break;
        case LIG_COMPLEX64:
        case LIG_COMPLEX128:
            if (lig_value_kind(value) == LIG_KIND_COMPLEX) {
                status = lig_value_complex(value, &real, &imaginary, &fault);
            } else {
                status = lig_value_float(value, &real, &fault);
            }
            if (status != LIG_OK) return status;
            break;
        default: return get_integer(value, dtype, to);
    }
    if (dtype == LIG_FLOAT32 || dtype == LIG_COMPLEX64) {
        *(float *)to->base_addr = (float)real;
        if (dtype == LIG_COMPLEX64) ((float *)to->base_addr)[1] = (float)imaginary;
    } else {
        *(double *)to->base_addr = real;
        if (dtype == LIG_COMPLEX128) ((double *)to->base_addr)[1] = imaginary;
    }
    return LIG_OK;
}

static lig_status get(const lig_value *value, bool is_unsigned, CFI_cdesc_t *to) {
    lig_array described;
    int64_t strides[LIG_MAX_DIMS];
    if (is_text(to)) {
        return fail(TEXT_AMONG_ARRAYS, "get() does not give texts: use the function get_text()");
    }
    lig_status status = describe(to, is_unsigned, "filled", &described, strides);
    if (status != LIG_OK) return status;
    if (lig_value_kind(value) != LIG_KIND_ARRAY) {
        return to->rank == 0 ? get_scalar(value, described.dtype, to) : no_fit(value, to);
    }
    lig_array_view view;
    status = lig_value_array(value, &view, &fault);
    if (status == LIG_OK) status = expect(&view, described.dtype, to->rank, described.shape);
    if (status == LIG_OK) scatter(&view, to);
    return status;
}

lig_status lf_get(const lf_ref *ref, bool is_unsigned, CFI_cdesc_t *to) {
    THERE;
    return from(get(ref->value, is_unsigned, to), ref);
}

// ---- receiving

static lig_status receive_options(const lf_receiving *how, lig_receive_options *options) {
    memset(options, 0, sizeof *options);
    options->size = sizeof *options;
    options->has_timeout = how->has_timeout;
    options->timeout = how->timeout;
    if (how->slot == NO_SLOT) return LIG_OK;
    if (how->slot < 0 || how->slot > UINT32_MAX) return fail(LIG_ERR_USAGE, "there is no slot %" PRId64, how->slot);
    options->has_slot = true;
    options->slot = (uint32_t)how->slot;
    return LIG_OK;
}

#define RECEIVING(port_name, options)                                              \
    INSTANCE(how->instance);                                                      \
    NAME(port_name, port, how->port_length);                                      \
    lig_receive_options options;                                                  \
    do {                                                                          \
        const lig_status given = receive_options(how, &options);                  \
        if (given != LIG_OK) return given;                                        \
    } while (0)

void lf_free_message(lf_ref *ref) {
    if (ref->edition < 0) lig_message_free(let_go(ref->key));
    ref->key = 0;
    ref->value = NULL;
}

lig_status lf_receive(const lf_receiving *how, const char *port, lf_ref *made, lig_times *times) {
    lf_free_message(made);
    RECEIVING(name, options);
    lig_message *message;
    lig_status status = lig_receive(instance, name, &options, &message, &fault);
    if (status != LIG_OK) return status;
    status = lig_message_times(message, times, &fault);
    made->key = keep(message);
    made->value = lig_message_value(message);
    made->edition = -1;
    made->slot = how->slot;
    size_t length = strlen(name);
    if (length > ORIGIN_SIZE) length = ORIGIN_SIZE;
    memcpy(made->port, name, length);
    memset(made->port + length, ' ', ORIGIN_SIZE - length);
    if (made->key != 0) return status;
    lig_message_free(message);
    return fail(LIG_ERR_OUT_OF_MEMORY, "there is no memory for a message");
}

lig_status lf_receive_into(const lf_receiving *how, const char *port, CFI_cdesc_t *into, lig_times *times) {
    RECEIVING(name, options);
    lig_array array;
    int64_t strides[LIG_MAX_DIMS];
    if (is_text(into)) {
        return fail(TEXT_AMONG_ARRAYS, "a text cannot be received into a variable: receive a message and use its get_text()");
    }
    lig_status status = describe(into, how->is_unsigned, "received into", &array, strides);
    if (status != LIG_OK) return status;
    if (array.strides == NULL && array.ndim > 0) {
        status = lig_receive_into(instance, name, &options, &array, times, &fault);
        if (status == LIG_OK && array.dtype == LIG_BOOL) {
            unsigned char *bytes = array.data;
            uint64_t count = 1;
            for (uint32_t i = 0; i < array.ndim; ++i) count *= array.shape[i];
            for (uint64_t i = 0; i < count; ++i) bytes[i] = bytes[i] != 0;
        }
        return name_port(status, name, how->slot);
    }
    lig_message *message;
    status = lig_receive(instance, name, &options, &message, &fault);
    if (status != LIG_OK) return status;
    status = lig_message_times(message, times, &fault);
    if (status == LIG_OK) status = get(lig_message_value(message), how->is_unsigned, into);
    lig_message_free(message);
    return name_port(status, name, how->slot);
}

lig_status lf_poll(const lf_receiving *how, const char *port, bool *ready) {
    RECEIVING(name, options);
    return lig_poll(instance, name, &options, ready, &fault);
}

// `ports` are `count` names of `how->port_length` characters each; `slots` is NULL, or has a number below 0 for a port
// without slots.
lig_status lf_wait_any(const lf_receiving *how, const char *ports, size_t count, const int64_t *slots, int64_t *which) {
    *which = 0;
    INSTANCE(how->instance);
    lig_receive_options options;
    lig_status status = receive_options(how, &options);
    if (status != LIG_OK) return status;
    lig_port_slot *entries = calloc(count + 1, sizeof *entries);
    char(*names)[NAME_SIZE] = calloc(count + 1, sizeof *names);
    if (entries == NULL || names == NULL) status = fail(LIG_ERR_OUT_OF_MEMORY, "there is no memory for the ports to wait for");
    for (size_t i = 0; status == LIG_OK && i < count; ++i) {
        status = name_of(ports + i * how->port_length, how->port_length, names[i]);
        entries[i].port = names[i];
        if (slots == NULL || slots[i] < 0) continue;
        entries[i].has_slot = true;
        entries[i].slot = (uint32_t)slots[i];
    }
    size_t found = 0;
    if (status == LIG_OK) status = lig_wait_any(instance, entries, count, &options, &found, &fault);
    *which = status == LIG_OK ? (int64_t)found + 1 : 0;
    free(entries);
    free(names);
    return status;
}

// The overlay that came with a message, as a part of it.
lig_status lf_message_settings(const lf_ref *ref, lf_ref *made) {
    lig_status status = there(ref);
    const lig_value *map = status == LIG_OK ? lig_message_settings(thing_of(ref->key)) : NULL;
    lend(ref, map, made);
    return status;
}

// ---- loans

// Lends memory for an array, at which Fortran's pointer is set.
lig_status lf_loan(const lf_sending *how, const CFI_cdesc_t *shape, const char *names, const char *unit, int64_t *key,
                   CFI_cdesc_t *pointer) {
    *key = 0;
    pointer->base_addr = NULL;
    INSTANCE(how->instance);
    lig_array like;
    memset(&like, 0, sizeof like);
    like.dtype = dtype_of(pointer, how->is_unsigned);
    like.ndim = (uint32_t)pointer->rank;
    like.order = how->order >= 0 ? how->order : pointer->rank > 1 ? LIG_COLUMN_MAJOR : LIG_ROW_MAJOR;
    if (pointer->rank > LIG_MAX_DIMS) return fail(LIG_ERR_USAGE, "a loan has at most %d dimensions", LIG_MAX_DIMS);
    const lig_dtype kind = shape->rank == 1 ? dtype_of(shape, false) : 0;
    if ((kind != LIG_INT32 && kind != LIG_INT64) || shape->dim[0].extent != pointer->rank) {
        return fail(LIG_ERR_USAGE, "the shape of a loan must have an integer for each of the pointer's %d dimension%s",
                    pointer->rank, pointer->rank == 1 ? "" : "s");
    }
    for (int i = 0; i < pointer->rank; ++i) {
        const char *place = (const char *)shape->base_addr + i * shape->dim[0].sm;
        const int64_t extent = kind == LIG_INT32 ? *(const int32_t *)place : *(const int64_t *)place;
        like.shape[i] = extent > 0 ? (uint64_t)extent : 0;  // as in `allocate`
    }
    Labels labels;
    lig_loan *loan;
    void *data;
    lig_status status = label(&like, how, names, unit, &labels);
    if (status == LIG_OK) status = lig_loan_create_like(instance, &like, &loan, &data, &fault);
    unlabel(&labels);
    if (status != LIG_OK) return status;
    *key = keep(loan);
    if (*key == 0) {
        lig_loan_free(instance, loan);
        return fail(LIG_ERR_OUT_OF_MEMORY, "there is no memory for a loan");
    }
    int64_t strides[LIG_MAX_DIMS];
    strides_of(pointer, like.shape, like.order, strides);
    point(pointer, data, like.shape, strides);
    return LIG_OK;
}

lig_status lf_send_loan(const lf_sending *how, const char *port, int64_t *key) {
    INSTANCE(how->instance);
    lig_loan *loan = let_go(*key);
    *key = 0;
    if (loan == NULL) return fail(LIG_ERR_USAGE, "there is no loan here: it was sent, freed, or never made");
    char name[NAME_SIZE];
    lig_send_options options;
    lig_status status = name_of(port, how->port_length, name);
    if (status == LIG_OK) status = send_options(how, &options);
    if (status == LIG_OK) return lig_send_loan(instance, name, &options, loan, &fault);
    lig_loan_free(instance, loan);  // gone after an error, too, as it is in C
    return status;
}

// Loans of an instance are gone with it.
void lf_free_loan(int64_t instance_key, int64_t *key) {
    lig_instance *instance = thing_of(instance_key);
    lig_loan *loan = let_go(*key);
    *key = 0;
    if (instance != NULL && loan != NULL) lig_loan_free(instance, loan);
}

// ---- values

lig_status lf_new_scalar(const lf_scalar *scalar, lf_ref *made) {
    lig_value *value = new_scalar(scalar);
    return give(value != NULL ? LIG_OK : fail(LIG_ERR_OUT_OF_MEMORY, "there is no memory for a value"), value, made);
}

lig_status lf_new_text(const char *text, size_t length, lf_ref *made) {
    lig_value *value;
    const lig_status status = new_text(text, length, &value);
    return give(status, value, made);
}

lig_status lf_new_array(const lf_sending *how, const CFI_cdesc_t *data, const char *names, const char *unit, lf_ref *made) {
    lig_array array;
    int64_t strides[LIG_MAX_DIMS];
    Labels labels;
    lig_value *value = NULL;
    lig_status status = describe_fully(data, how, names, unit, "put into a value", &array, strides, &labels);
    if (status == LIG_OK) status = lig_value_new_array(&array, &value, &fault);
    unlabel(&labels);
    return give(status, value, made);
}

lig_status lf_new_bytes(const int8_t *data, size_t size, lf_ref *made) {
    lig_value *value = lig_value_new_bytes(data, size);
    return give(value != NULL ? LIG_OK : fail(LIG_ERR_OUT_OF_MEMORY, "there is no memory for %zu bytes", size), value, made);
}

lig_status lf_new_list(bool of_pairs, lf_ref *made) {
    lig_value *value = of_pairs ? lig_value_new_map() : lig_value_new_list();
    return give(value != NULL ? LIG_OK : fail(LIG_ERR_OUT_OF_MEMORY, "there is no memory for a value"), value, made);
}

lig_status lf_new_none(lf_ref *made) {
    lig_value *value = lig_value_new_none();
    return give(value != NULL ? LIG_OK : fail(LIG_ERR_OUT_OF_MEMORY, "there is no memory for a value"), value, made);
}

lig_status lf_new_settings(const lf_ref *ref, lf_ref *made) {
    lig_value *value = NULL;
    lig_status status = there(ref);
    if (status == LIG_OK) status = lig_value_new_settings(ref->value, &value, &fault);
    return give(status, value, made);
}

lig_status lf_settings_map(const lf_ref *ref, lf_ref *made) {
    lig_value *value = NULL;
    lig_status status = there(ref);
    if (status == LIG_OK) status = from(lig_value_settings(ref->value, &value, &fault), ref);
    return give(status, value, made);
}

lig_status lf_copy(const lf_ref *ref, lf_ref *made) {
    lig_value *value = NULL;
    lig_status status = there(ref);
    if (status == LIG_OK) status = lig_value_copy(ref->value, &value, &fault);
    return give(status, value, made);
}

// Whether a value was built itself, so that it can be changed and put into another one.
static bool is_built(const lf_ref *ref) {
    Entry *entry = entry_of(ref->key);
    return entry != NULL && ref->edition < 0 && atomic_load(&entry->thing) == (void *)(uintptr_t)ref->value;
}

void lf_free_value(lf_ref *ref) {
    if (is_built(ref)) lig_value_free(let_go(ref->key));
    ref->key = 0;
    ref->value = NULL;
}

// What is put into a container: the value itself, if it was built; else a copy, which shares the arrays.
static lig_status item_of(const lf_ref *ref, lig_value **item) {
    *item = NULL;
    const lig_status status = there(ref);
    if (status != LIG_OK) return status;
    if (!is_built(ref)) return lig_value_copy(ref->value, item, &fault);
    *item = let_go(ref->key);
    return LIG_OK;
}

// The container for a change; what was looked up in it before is stale from now on.
static lig_status changed(const lf_ref *ref, lig_value **container) {
    const lig_status status = there(ref);
    if (status != LIG_OK) return status;
    if (!is_built(ref)) {
        return fail(LIG_ERR_USAGE, "what was received, or is part of another value, cannot be changed; change a copy()");
    }
    Entry *entry = entry_of(ref->key);
    atomic_store(&entry->edition, (atomic_load(&entry->edition) + 1) & INT32_MAX);
    *container = atomic_load(&entry->thing);
    return LIG_OK;
}

// Puts an item at the end of a list (`key` is NULL) or into a map.
static lig_status put(const lf_ref *ref, const char *key, size_t length, lig_value *item) {
    lig_value *container = NULL;
    lig_status status = changed(ref, &container);
    char *line = NULL;
    if (status == LIG_OK && key != NULL && (line = line_of(key, trimmed(key, length))) == NULL) {
        status = fail(LIG_ERR_OUT_OF_MEMORY, "there is no memory for a key");
    }
    if (status != LIG_OK) {
        lig_value_free(item);
    } else if (key != NULL) {
        status = lig_value_set(container, line, item, &fault);
    } else {
        status = lig_value_append(container, item, &fault);
    }
    free(line);
    return status;
}

lig_status lf_put_value(const lf_ref *ref, const char *key, size_t length, const lf_ref *given) {
    lig_value *item;
    if (ref->key == given->key && ref->key != 0) return fail(LIG_ERR_USAGE, "a value cannot be put into itself");
    const lig_status status = item_of(given, &item);
    return status == LIG_OK ? put(ref, key, length, item) : status;
}

lig_status lf_put_scalar(const lf_ref *ref, const char *key, size_t length, const lf_scalar *scalar) {
    return put(ref, key, length, new_scalar(scalar));
}

lig_status lf_put_text(const lf_ref *ref, const char *key, size_t length, const char *text, size_t size) {
    lig_value *item;
    const lig_status status = new_text(text, size, &item);
    return status == LIG_OK ? put(ref, key, length, item) : status;
}

lig_status lf_text(const lf_ref *ref, lig_string *text) {
    THERE;
    return from(lig_value_string(ref->value, text, &fault), ref);
}

lig_status lf_count(const lf_ref *ref, int64_t *count) {
    THERE;
    size_t found = 0;
    const lig_status status = from(lig_value_count(ref->value, &found, &fault), ref);
    *count = (int64_t)found;
    return status;
}

// Places are counted from 1.
static lig_status place_of(const lig_value *value, int64_t index, size_t *place) {
    size_t count;
    const lig_status status = lig_value_count(value, &count, &fault);
    if (status != LIG_OK) return status;
    if (index < 1 || (uint64_t)index > count) {
        const char *kind = lig_kind_name(lig_value_kind(value));
        return fail(LIG_ERR_USAGE, "there is no item %" PRId64 " in a %s of %zu", index, kind, count);
    }
    *place = (size_t)index - 1;
    return LIG_OK;
}

lig_status lf_at(const lf_ref *ref, int64_t index, lf_ref *made) {
    const lig_value *item = NULL;
    size_t place;
    lig_status status = there(ref);
    if (status == LIG_OK) status = place_of(ref->value, index, &place);
    if (status == LIG_OK) status = lig_value_at(ref->value, place, &item, &fault);
    lend(ref, item, made);
    return from(status, ref);
}

lig_status lf_key(const lf_ref *ref, int64_t index, lig_string *key) {
    THERE;
    size_t place;
    lig_status status = place_of(ref->value, index, &place);
    if (status == LIG_OK) status = lig_value_key(ref->value, place, key, &fault);
    return from(status, ref);
}

// What is under a key of a map; where there is none, an error if there `must` be, else a value of nobody's.
lig_status lf_find(const lf_ref *ref, const char *key, size_t length, bool must, lf_ref *made) {
    const lig_value *item = NULL;
    lig_status status = there(ref);
    char *line = line_of(key, trimmed(key, length));
    if (status == LIG_OK && line == NULL) status = fail(LIG_ERR_OUT_OF_MEMORY, "there is no memory for a key");
    if (status == LIG_OK) status = lig_value_find(ref->value, line, &item, &fault);
    if (status == LIG_OK && must && item == NULL) status = fail(LIG_ERR_UNEXPECTED, "there is no \"%.200s\" in the map", line);
    free(line);
    lend(ref, item, made);
    return from(status, ref);
}

int32_t lf_kind(const lf_ref *ref) {
    return is_here(ref) ? lig_value_kind(ref->value) : -1;
}

lig_status lf_array(const lf_ref *ref, lig_array_view *view) {
    THERE;
    return from(lig_value_array(ref->value, view, &fault), ref);
}

lig_status lf_array_name(const lf_ref *ref, int32_t dimension, lig_string *text) {
    THERE;
    return from(lig_value_array_name(ref->value, (uint32_t)(dimension - 1), text, &fault), ref);
}

lig_status lf_array_unit(const lf_ref *ref, lig_string *text) {
    THERE;
    return from(lig_value_array_unit(ref->value, text, &fault), ref);
}

// ---- instances

// `names` are `count` names of `length` characters each; `count` below 0 leaves the ports to the model.
lig_status lf_create(const int32_t *operators, const char *names, size_t length, int64_t count, int64_t flags,
                     int64_t *key) {
    *key = 0;
    lig_instance *instance = NULL;
    const size_t number = count > 0 ? (size_t)count : 0;
    lig_port *ports = calloc(number + 1, sizeof *ports);
    char(*texts)[NAME_SIZE] = calloc(number + 1, sizeof *texts);
    lig_status status = LIG_OK;
    if (ports == NULL || texts == NULL) status = fail(LIG_ERR_OUT_OF_MEMORY, "there is no memory for the ports");
    for (size_t i = 0; status == LIG_OK && i < number; ++i) {
        status = name_of(names + i * length, length, texts[i]);
        ports[i].op = operators[i];
        ports[i].name = texts[i];
    }
    const lig_instance_options options = {.size = sizeof options, .ports = count >= 0 ? ports : NULL, .port_count = number,
                                          .flags = (uint64_t)flags, .language = "fortran"};
    if (status == LIG_OK) status = lig_instance_create(&options, &instance, &fault);
    if (status == LIG_OK) {
        *key = keep(instance);
        enter(instance);
    }
    free(ports);
    free(texts);
    return status;
}

void lf_free(int64_t *key) {
    lig_instance *instance = let_go(*key), *expected = instance;
    *key = 0;
    if (instance == NULL) return;
    atomic_compare_exchange_strong(&living, &expected, NULL);
    lig_instance_free(instance);
}

lig_status lf_reuse(int64_t key, bool *again) {
    INSTANCE(key);
    *again = false;
    return lig_reuse_instance(instance, again, &fault);
}

lig_status lf_finish(int64_t key) {
    INSTANCE(key);
    return lig_finish(instance, &fault);
}

lig_status lf_shutdown(int64_t key, const char *why, size_t length) {
    INSTANCE(key);
    char *line = line_of(why, trimmed(why, length));
    if (line == NULL) return fail(LIG_ERR_OUT_OF_MEMORY, "there is no memory for a text");
    const lig_status status = lig_error_shutdown(instance, line, &fault);
    free(line);
    return status;
}

lig_status lf_log(int64_t key, int32_t level, const char *text, size_t length) {
    INSTANCE(key);
    char *line = line_of(text, trimmed(text, length));
    if (line == NULL) return fail(LIG_ERR_OUT_OF_MEMORY, "there is no memory for a text");
    const lig_status status = lig_log(instance, level, line, &fault);
    free(line);
    return status;
}

lig_status lf_check(int64_t key, bool (*check)(void *user), void *user) {
    INSTANCE(key);
    return lig_set_interrupt_check(instance, check, user, &fault);
}

// The instance's name, or the run's.
size_t lf_name(int64_t key, bool of_run, const char **text) {
    const lig_instance *instance = thing_of(key);
    *text = of_run ? lig_run_name(instance) : lig_instance_name(instance);
    return *text != NULL ? strlen(*text) : 0;
}

size_t lf_index(int64_t key, int32_t *index, size_t size) {
    const lig_instance *instance = thing_of(key);
    const size_t *numbers;
    const size_t count = lig_instance_index(instance, &numbers);
    for (size_t i = 0; i < count && i < size; ++i) index[i] = (int32_t)numbers[i];
    return count;
}

// The names of ports with an operator, or of settings (operator 0). The longest has `longest` characters.
lig_status lf_names(int64_t key, int32_t op, lig_names **names, int64_t *count, int64_t *longest) {
    INSTANCE(key);
    *names = NULL;
    const lig_status status = op != 0 ? lig_list_ports(instance, op, names, &fault) : lig_list_settings(instance, names, &fault);
    *count = *longest = 0;
    if (status != LIG_OK) return status;
    *count = (int64_t)lig_names_count(*names);
    for (int64_t i = 0; i < *count; ++i) {
        const int64_t length = (int64_t)strlen(lig_names_at(*names, (size_t)i));
        if (length > *longest) *longest = length;
    }
    return LIG_OK;
}

// Writes the names, padded with blanks, and frees the list.
void lf_take_names(lig_names *names, char *to, size_t longest) {
    for (size_t i = 0; i < lig_names_count(names); ++i) {
        const char *name = lig_names_at(names, i);
        const size_t length = strlen(name);
        memset(to + i * longest, ' ', longest);
        memcpy(to + i * longest, name, length);
    }
    lig_names_free(names);
}

// What is asked about a port.
enum { IS_CONNECTED = 1, IS_VECTOR = 2, IS_RESIZABLE = 3, LENGTH = 4 };

lig_status lf_port(int64_t key, const char *port, size_t port_length, int32_t what, int64_t *answer) {
    INSTANCE(key);
    *answer = 0;
    NAME(name, port, port_length);
    bool yes = false;
    size_t length = 0;
    lig_status status;
    switch (what) {
        case IS_CONNECTED: status = lig_is_connected(instance, name, &yes, &fault); break;
        case IS_VECTOR: status = lig_is_vector_port(instance, name, &yes, &fault); break;
        case IS_RESIZABLE: status = lig_is_resizable(instance, name, &yes, &fault); break;
        default: status = lig_get_port_length(instance, name, &length, &fault); break;
    }
    *answer = what == LENGTH ? (int64_t)length : yes;
    return status;
}

lig_status lf_set_port_length(int64_t key, const char *port, size_t port_length, int64_t length) {
    INSTANCE(key);
    NAME(name, port, port_length);
    if (length < 0) return fail(LIG_ERR_USAGE, "port \"%s\" cannot have %" PRId64 " slots", name, length);
    return lig_set_port_length(instance, name, (size_t)length, &fault);
}

// ---- settings

lig_status lf_setting_type(int64_t key, const char *setting, size_t length, int32_t *type) {
    INSTANCE(key);
    NAME(name, setting, length);
    return lig_get_setting_type(instance, name, type, &fault);
}

lig_status lf_setting_bool(int64_t key, const char *setting, size_t length, bool *value) {
    INSTANCE(key);
    NAME(name, setting, length);
    return lig_get_setting_bool(instance, name, value, &fault);
}

// An integer that lies from `least` to `most`.
lig_status lf_setting_int(int64_t key, const char *setting, size_t length, int64_t least, int64_t most, int64_t *value) {
    INSTANCE(key);
    NAME(name, setting, length);
    int64_t found;
    const lig_status status = lig_get_setting_int(instance, name, &found, &fault);
    if (status != LIG_OK) return status;
    if (found < least || found > most) {
        return fail(LIG_ERR_SETTING_TYPE, "setting \"%s\" is %" PRId64 ", which does not fit the variable", name, found);
    }
    *value = found;
    return LIG_OK;
}

lig_status lf_setting_float(int64_t key, const char *setting, size_t length, double *value) {
    INSTANCE(key);
    NAME(name, setting, length);
    return lig_get_setting_float(instance, name, value, &fault);
}

lig_status lf_setting_text(int64_t key, const char *setting, size_t length, lig_string *value) {
    INSTANCE(key);
    NAME(name, setting, length);
    const lig_status status = lig_get_setting_string(instance, name, &value->data, &fault);
    if (status == LIG_OK) value->size = strlen(value->data);
    return status;
}

lig_status lf_setting_ints(int64_t key, const char *setting, size_t length, int64_t least, int64_t most,
                           const int64_t **values, size_t *count) {
    INSTANCE(key);
    NAME(name, setting, length);
    const lig_status status = lig_get_setting_int_list(instance, name, values, count, &fault);
    for (size_t i = 0; status == LIG_OK && i < *count; ++i) {
        if ((*values)[i] < least || (*values)[i] > most) {
            return fail(LIG_ERR_SETTING_TYPE, "setting \"%s\" has %" PRId64 " in it, which does not fit the variable", name,
                        (*values)[i]);
        }
    }
    return status;
}

lig_status lf_setting_floats(int64_t key, const char *setting, size_t length, const double **values, size_t *count) {
    INSTANCE(key);
    NAME(name, setting, length);
    return lig_get_setting_float_list(instance, name, values, count, &fault);
}

// Rows of equal length.
lig_status lf_setting_grid(int64_t key, const char *setting, size_t length, const lig_float_row **rows,
                           size_t *count, size_t *columns) {
    INSTANCE(key);
    NAME(name, setting, length);
    const lig_status status = lig_get_setting_float_grid(instance, name, rows, count, &fault);
    if (status != LIG_OK) return status;
    *columns = *count > 0 ? (*rows)[0].count : 0;
    for (size_t i = 0; i < *count; ++i) {
        if ((*rows)[i].count != *columns) {
            return fail(LIG_ERR_SETTING_TYPE, "setting \"%s\" has rows of different lengths, %zu and %zu, which no array of two "
                        "dimensions has", name, *columns, (*rows)[i].count);
        }
    }
    return LIG_OK;
}

// Row by row into an array whose first index runs fastest.
void lf_take_grid(const lig_float_row *rows, size_t count, double *to) {
    for (size_t i = 0; i < count; ++i) {
        for (size_t j = 0; j < rows[i].count; ++j) to[j * count + i] = rows[i].values[j];
    }
}

static lig_value *list_of_floats(const double *values, size_t count) {
    lig_value *list = lig_value_new_list();
    for (size_t i = 0; i < count; ++i) lig_value_append(list, lig_value_new_float(values[i]), NULL);
    return list;
}

// A setting of any type as a value: also rows of different lengths.
lig_status lf_setting_value(int64_t key, const char *setting, size_t length, lf_ref *made) {
    give(LIG_ERR_USAGE, NULL, made);
    INSTANCE(key);
    NAME(name, setting, length);
    lig_setting_type type;
    lig_status status = lig_get_setting_type(instance, name, &type, &fault);
    if (status != LIG_OK) return status;
    lig_value *value = NULL;
    bool truth;
    double number;
    int64_t integer;
    const char *text;
    const int64_t *integers;
    const double *numbers;
    const lig_float_row *rows;
    size_t count;
    switch (type) {
        case LIG_SETTING_BOOL:
            status = lig_get_setting_bool(instance, name, &truth, &fault);
            if (status == LIG_OK) value = lig_value_new_bool(truth);
            break;
        case LIG_SETTING_INT:
            status = lig_get_setting_int(instance, name, &integer, &fault);
            if (status == LIG_OK) value = lig_value_new_int(integer);
            break;
        case LIG_SETTING_FLOAT:
            status = lig_get_setting_float(instance, name, &number, &fault);
            if (status == LIG_OK) value = lig_value_new_float(number);
            break;
        case LIG_SETTING_STRING:
            status = lig_get_setting_string(instance, name, &text, &fault);
            if (status == LIG_OK) value = lig_value_new_string(text, strlen(text));
            break;
        case LIG_SETTING_INT_LIST:
            status = lig_get_setting_int_list(instance, name, &integers, &count, &fault);
            if (status == LIG_OK) value = lig_value_new_list();
            for (size_t i = 0; status == LIG_OK && i < count; ++i) lig_value_append(value, lig_value_new_int(integers[i]), NULL);
            break;
        case LIG_SETTING_FLOAT_LIST:
            status = lig_get_setting_float_list(instance, name, &numbers, &count, &fault);
            if (status == LIG_OK) value = list_of_floats(numbers, count);
            break;
        case LIG_SETTING_FLOAT_GRID:
            status = lig_get_setting_float_grid(instance, name, &rows, &count, &fault);
            if (status == LIG_OK) value = lig_value_new_list();
            for (size_t i = 0; status == LIG_OK && i < count; ++i) {
                lig_value_append(value, list_of_floats(rows[i].values, rows[i].count), NULL);
            }
            break;
        default: return fail(LIG_ERR_SETTING_TYPE, "setting \"%s\" is of a type that this binding does not know", name);
    }
    return give(status, value, made);
}

// ---- submodels

lig_status lf_run_submodel(int64_t key, const lig_submodel *submodel) {
    INSTANCE(key);
    return lig_run_submodel(instance, submodel, &fault);
}

lig_status lf_run_light(const lig_submodel *submodel, lig_status (*make)(lig_instance *, void *, void **, lig_error *),
                        void (*release)(void *), void *context) {
    const lig_instance_options options = {.size = sizeof options, .language = "fortran"};
    const lig_light light = {.size = sizeof light, .submodel = submodel, .make = make, .release = release,
                             .context = context, .options = &options};
    return lig_run_light(&light, &fault);
}
