// Pointers to received arrays in place, and copies of these arrays. Part of ligament_descriptors.c.

// The target of Fortran's pointers to arrays without elements.
static _Alignas(16) char nowhere[16];

// Points a Fortran pointer to elements with these `strides`. CFI_setpointer takes its target only from another
// descriptor, and CFI_establish makes only contiguous ones.
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

static const char *signed_apart(lig_dtype came, lig_dtype asked) {
    if (came >= LIG_UINT8 && came <= LIG_UINT64 && asked == came - LIG_UINT8 + LIG_INT8) {
        return "; say unsigned=.true. to get its bits";
    }
    if (asked >= LIG_UINT8 && asked <= LIG_UINT64 && came == asked - LIG_UINT8 + LIG_INT8) {
        return "; leave out unsigned=.true.";
    }
    return "";
}

// Gives the array of a value, which must have this type and rank, and this shape unless `shape` is NULL. The
// value is part of `message`, which may be NULL.
static lig_status expect(const lig_message *message, const lig_value *value, lig_dtype dtype, int rank,
                         const uint64_t *shape, lig_array_view *view) {
    lig_expected expected = {.size = sizeof expected, .dtype = dtype, .ndim = (uint32_t)rank, .has_ndim = true,
                             .has_shape = shape != NULL};
    for (int i = 0; shape != NULL && i < rank; ++i) expected.shape[i] = (int64_t)shape[i];
    const lig_status status = lig_expect_array(message, value, &expected, view, &fault);
    if (status != LIG_ERR_UNEXPECTED || lig_value_kind(value) != LIG_KIND_ARRAY) return status;
    char text[sizeof fault.message];
    memcpy(text, fault.message, sizeof text);
    if (lig_value_array(value, view, NULL) != LIG_OK) return status;
    return fail(status, "%.950s%s", text, signed_apart(view->dtype, dtype));
}

// True if all truth values are 0 or 1, as in Fortran; in C, any value other than 0 is true, too.
static bool are_plain(const lig_array_view *view) {
    if (!view->contiguous) return true;
    const unsigned char *bytes = view->data;
    unsigned char seen = 0;
    for (uint64_t i = 0; i < view->length; ++i) seen |= bytes[i];
    return seen <= 1;
}

// True if a message's own value is such an array, so that no error has to name the expected one.
static bool is_as_expected(const lf_ref *ref, lig_dtype dtype, int rank, lig_array_view *view) {
    const lig_message *message = ref->edition == -1 ? message_of(ref) : NULL;
    return message != NULL && lig_message_array(message, view, NULL) == LIG_OK && view->dtype == dtype &&
           view->ndim == (uint32_t)rank;
}

// Points Fortran's pointer to a received array, in place. Element (i, j) is the sender's in either order,
// because the pointer's strides follow the order.
lig_status lf_view(const lf_ref *ref, bool is_unsigned, CFI_cdesc_t *pointer) {
    pointer->base_addr = NULL;
    RETURN_IF_ABSENT;
    lig_array_view view;
    const lig_dtype dtype = dtype_of(pointer, is_unsigned);
    if (!is_as_expected(ref, dtype, pointer->rank, &view)) {
        const lig_status status = expect(message_of(ref), ref->value, dtype, pointer->rank, NULL, &view);
        if (status != LIG_OK) return from(status, ref);
    }
    for (uint32_t i = 0; view.length > 0 && i < view.ndim; ++i) {
        if (view.shape[i] > 1 && view.strides[i] % (int64_t)pointer->elem_len != 0) {
            fail(LIG_ERR_UNEXPECTED,
                 "elements lie %" PRId64 " bytes apart, where a pointer cannot lead; copy them, by get()",
                 view.strides[i]);
            return from(LIG_ERR_UNEXPECTED, ref);
        }
    }
    if (view.dtype == LIG_BOOL && view.length > 0 && !are_plain(&view)) {
        fail(LIG_ERR_UNEXPECTED,
             "truth values came that are neither 0 nor 1, which Fortran cannot read in place; copy them, "
             "by get() or receive_into()");
        return from(LIG_ERR_UNEXPECTED, ref);
    }
    point(pointer, view.length > 0 ? (void *)(uintptr_t)view.data : NULL, view.shape, view.strides);
    return LIG_OK;
}

// Does the same for bytes.
lig_status lf_view_bytes(const lf_ref *ref, CFI_cdesc_t *pointer) {
    pointer->base_addr = NULL;
    RETURN_IF_ABSENT;
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
    return fail(LIG_ERR_UNEXPECTED,
                "the value is of kind \"%s\", which does not go into a variable of type %s with %d "
                "dimension%s",
                lig_kind_name(lig_value_kind(value)), type_name(to, name), to->rank, to->rank == 1 ? "" : "s");
}

static lig_status get_integer(const lig_value *value, lig_dtype dtype, CFI_cdesc_t *to) {
    int64_t number = 0;
    if (dtype >= LIG_UINT8) {
        uint64_t bits;
        const lig_status status = lig_value_uint(value, &bits, &fault);
        if (status != LIG_OK) return status;
        if (to->elem_len < 8 && bits >> (8 * to->elem_len) != 0) {
            return fail(LIG_ERR_UNEXPECTED, "the integer %" PRIu64 " does not fit %s", bits,
                        lig_dtype_name(dtype));
        }
        number = (int64_t)bits;
    } else {
        const lig_status status = lig_value_int(value, &number, &fault);
        if (status != LIG_OK) return status;
        const int64_t limit = to->elem_len < 8 ? (int64_t)1 << (8 * to->elem_len - 1) : 0;
        if (limit != 0 && (number < -limit || number >= limit)) {
            return fail(LIG_ERR_UNEXPECTED, "the integer %" PRId64 " does not fit %s", number,
                        lig_dtype_name(dtype));
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

static lig_status get(const lig_message *message, const lig_value *value, bool is_unsigned, CFI_cdesc_t *to) {
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
    status = expect(message, value, described.dtype, to->rank, described.shape, &view);
    if (status == LIG_OK) scatter(&view, to);
    return status;
}

lig_status lf_get(const lf_ref *ref, bool is_unsigned, CFI_cdesc_t *to) {
    RETURN_IF_ABSENT;
    return from(get(message_of(ref), ref->value, is_unsigned, to), ref);
}
