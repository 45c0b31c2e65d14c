// Texts and arrays of Fortran, converted for the C interface. Part of ligament_descriptors.c.

// ---- texts

static size_t trimmed(const char *text, size_t length) {
    while (length > 0 && text[length - 1] == ' ') --length;
    return length;
}

// Converts a name to a C string, without the blanks at its end.
static lig_status name_of(const char *text, size_t length, char name[NAME_SIZE]) {
    length = trimmed(text, length);
    if (length >= NAME_SIZE) return fail(LIG_ERR_USAGE, "a name of %zu characters is too long", length);
    // Names of ports are short, so a loop is faster than the calls to search and to copy.
    for (size_t i = 0; i < length; ++i) {
        if (text[i] == 0) return fail(LIG_ERR_USAGE, "there is a NUL in a name");
        name[i] = text[i];
    }
    name[length] = 0;
    return LIG_OK;
}

// Does the same for text of any length. The caller frees the result.
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

// Returns the element type of a descriptor; 0 if messages have no such type. Fortran's integers are signed, and
// so are those of messages unless the caller says otherwise.
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

// Returns the name of a type as users of Fortran know it.
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

// Describes a Fortran array, as it lies in memory, to the C interface. `verb` names the operation, for errors.
// A logical of more than one byte is described as truth values of one byte, its lowest.
static lig_status describe(const CFI_cdesc_t *array, bool is_unsigned, const char *verb, lig_array *into,
                           int64_t strides[LIG_MAX_DIMS]) {
    char name[64];
    memset(into, 0, sizeof *into);
    if (is_text(array)) {
        return fail(TEXT_AMONG_ARRAYS,
                    "an array of texts cannot be %s: use a list of texts (ligament_list), or integers", verb);
    }
    into->dtype = dtype_of(array, is_unsigned);
    if (into->dtype == 0 && array->base_addr != NULL) {
        return fail(LIG_ERR_USAGE,
                    "%s cannot be %s: messages have integers of 1 to 8 bytes, real and complex numbers of "
                    "4 or 8 bytes each part, and truth values",
                    type_name(array, name), verb);
    }
    if (array->rank > LIG_MAX_DIMS) {
        return fail(LIG_ERR_USAGE, "an array with %d dimensions cannot be %s: %d are the most", array->rank,
                    verb, LIG_MAX_DIMS);
    }
    into->ndim = (uint32_t)array->rank;
    into->data = array->base_addr;
    // An array constructor without elements has no address either, but a valid descriptor.
    const bool nowhere_at_all =
        array->base_addr == NULL && !(array->rank > 0 && array->dim[0].sm == (CFI_index_t)array->elem_len);
    bool empty = false;
    for (int i = 0; i < array->rank && !nowhere_at_all; ++i) {
        if (array->dim[i].extent < 0 && array->base_addr != NULL) {
            return fail(LIG_ERR_USAGE,
                        "an array of assumed size cannot be %s: say how long it is, as in a(1:n)", verb);
        }
        into->shape[i] = (uint64_t)array->dim[i].extent;
        strides[i] = (int64_t)array->dim[i].sm;
        empty = empty || array->dim[i].extent == 0;
    }
    if (nowhere_at_all || (array->base_addr == NULL && !empty)) {
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

// The names of dimensions and the unit of an array as C strings, which live as long as this struct.
typedef struct {
    char *names, *unit;
    const char *each[LIG_MAX_DIMS];
} Labels;

static lig_status label(lig_array *array, const lf_sending *how, const char *names, const char *unit,
                        Labels *labels) {
    memset(labels, 0, sizeof *labels);
    if (names != NULL && how->name_count > 0) {
        if (how->name_count != array->ndim) {
            return fail(LIG_ERR_USAGE, "%zu names were given for %u dimensions", how->name_count, array->ndim);
        }
        labels->names = malloc(how->name_count * (how->name_length + 1));
        if (labels->names == NULL)
            return fail(LIG_ERR_OUT_OF_MEMORY, "there is no memory for names of dimensions");
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

// Describes an array with its labels, and in the order in which it will travel.
static lig_status describe_fully(const CFI_cdesc_t *data, const lf_sending *how, const char *names,
                                 const char *unit, const char *verb, lig_array *array,
                                 int64_t strides[LIG_MAX_DIMS], Labels *labels) {
    labels->names = labels->unit = NULL;
    const lig_status status = describe(data, how->is_unsigned, verb, array, strides);
    if (status != LIG_OK) return status;
    if (how->order >= 0 && how->order != array->order) {
        if (array->ndim > 1 && array->strides == NULL && array->data != NULL) array->strides = strides;
        array->order = how->order;
    }
    return label(array, how, names, unit, labels);
}
