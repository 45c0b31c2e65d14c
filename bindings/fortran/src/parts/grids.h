// Domains: the blocks of grids. Part of ligament_descriptors.c.

// A domain, the key of its instance, and the type and shape of each field's array, with which another array of
// the field is compared.
typedef struct {
    lig_domain *handle;
    int64_t instance;
    lig_array *fields;
    size_t count;
} Block;

// A domain needs its instance, so it cannot be used after it.
static lig_status block_of(int64_t key, Block **block) {
    *block = thing_of(key);
    if (*block == NULL) return fail(LIG_ERR_USAGE, "there is no domain here: it was freed, or never made");
    if (thing_of((*block)->instance) != NULL) return LIG_OK;
    return fail(LIG_ERR_USAGE, "the instance of this domain was freed; free the domain before it");
}

#define BLOCK(key)                                                                \
    Block *block;                                                                 \
    do {                                                                          \
        const lig_status found = block_of(key, &block);                           \
        if (found != LIG_OK) return found;                                        \
    } while (0)

lig_status lf_domain_create(int64_t instance_key, int64_t *key) {
    *key = 0;
    INSTANCE(instance_key);
    Block *block = calloc(1, sizeof *block);
    if (block == NULL) return fail(LIG_ERR_OUT_OF_MEMORY, "there is no memory for a domain");
    block->instance = instance_key;
    lig_status status = lig_domain_create(instance, &block->handle, &fault);
    if (status == LIG_OK) {
        *key = keep(block);
        if (*key != 0) return LIG_OK;
        status = fail(LIG_ERR_OUT_OF_MEMORY, "there is no memory for a domain");
    }
    lig_domain_free(block->handle);
    free(block);
    return status;
}

void lf_domain_free(int64_t *key) {
    Block *block = let_go(*key);
    *key = 0;
    if (block == NULL) return;
    lig_domain_free(block->handle);
    free(block->fields);
    free(block);
}

// Gives numbers for each axis: for `which` 1 the shape, for 2 and 3 the ends of the block, for 4 the blocks.
// Returns the number of axes.
int64_t lf_domain_numbers(int64_t key, int32_t which, int64_t numbers[3]) {
    const Block *block = thing_of(key);
    if (block == NULL) return 0;
    const uint64_t *(*const functions[])(const lig_domain *) = {lig_domain_shape, lig_domain_begin_point,
                                                                lig_domain_end_point, lig_domain_blocks};
    const uint64_t *of_axes = functions[which - 1](block->handle);
    const size_t axes = lig_domain_ndim(block->handle);
    for (size_t axis = 0; axis < axes; ++axis) numbers[axis] = (int64_t)of_axes[axis];
    return (int64_t)axes;
}

int32_t lf_domain_block(int64_t key) {
    const Block *block = thing_of(key);
    return block != NULL ? (int32_t)lig_domain_block(block->handle) : 0;
}

// Describes the array of a field, which is `named` in errors. Its elements must be contiguous.
static lig_status describe_field(const CFI_cdesc_t *array, const char *named, lig_array *described) {
    int64_t strides[LIG_MAX_DIMS];
    const lig_status status = describe(array, false, named, described, strides);
    if (status != LIG_OK || described->strides == NULL) return status;
    if (described->dtype == LIG_BOOL) {
        return fail(LIG_ERR_USAGE,
                    "truth values of more than one byte cannot be %s: use logical(c_bool), or integers", named);
    }
    return fail(LIG_ERR_USAGE,
                "a section with gaps cannot be %s: give the whole array, whose elements lie next to each other",
                named);
}

// `lengths` has the lengths of the name and of the unit. The unit may be NULL.
lig_status lf_domain_add_field(int64_t key, const char *name_text, const size_t lengths[2],
                               const CFI_cdesc_t *array, int64_t ghosts, const char *unit_text,
                               int32_t *field) {
    *field = -1;
    BLOCK(key);
    NAME(name, name_text, lengths[0]);
    char named[NAME_SIZE + sizeof "the field \"\""];
    snprintf(named, sizeof named, "the field \"%s\"", name);
    lig_array described;
    lig_status status = describe_field(array, named, &described);
    if (status != LIG_OK) return status;
    NAME(unit, unit_text, unit_text != NULL ? lengths[1] : 0);
    if (ghosts < 0) {
        return fail(LIG_ERR_USAGE, "the field \"%s\" cannot have %" PRId64 " ghosts; give a number from 0 on",
                    name, ghosts);
    }
    described.unit = unit;
    lig_array *fields = realloc(block->fields, (block->count + 1) * sizeof *fields);
    if (fields == NULL) return fail(LIG_ERR_OUT_OF_MEMORY, "there is no memory for a field");
    block->fields = fields;
    uint32_t number;
    status = lig_domain_add_field(block->handle, name, (size_t)ghosts, &described, &number, &fault);
    if (status != LIG_OK) return status;
    described.unit = NULL;
    block->fields[block->count++] = described;
    *field = (int32_t)number;
    return LIG_OK;
}

lig_status lf_domain_set_data(int64_t key, int32_t field, const CFI_cdesc_t *array) {
    BLOCK(key);
    char named[32];
    snprintf(named, sizeof named, "field %" PRId32, field);
    lig_array described;
    const lig_status status = describe_field(array, named, &described);
    if (status != LIG_OK) return status;
    if (field >= 0 && (size_t)field < block->count) {
        const lig_array *first = &block->fields[field];
        bool same = described.dtype == first->dtype && described.ndim == first->ndim &&
                    described.order == first->order;
        for (uint32_t axis = 0; same && axis < first->ndim; ++axis) {
            same = described.shape[axis] == first->shape[axis];
        }
        if (!same) {
            return fail(LIG_ERR_USAGE,
                        "this array is of another type, shape or order than that with which field %d was added",
                        field);
        }
    }
    return lig_domain_set_data(block->handle, (uint32_t)field, described.data, &fault);
}

lig_status lf_domain_set_direction(int64_t key, int32_t field, const int32_t *direction, size_t count) {
    BLOCK(key);
    const size_t axes = lig_domain_ndim(block->handle);
    if (count != axes) {
        return fail(LIG_ERR_USAGE,
                    "a direction with %zu numbers was given for field %d; give -1, 0 or 1 for each of the "
                    "grid's %zu axes",
                    count, field, axes);
    }
    return lig_domain_set_direction(block->handle, (uint32_t)field, direction, &fault);
}

// `call` is 1 for the whole exchange, 2 for its begin, 3 for its end.
lig_status lf_domain_exchange(int64_t key, int32_t call, double time, const int32_t *fields, size_t count) {
    BLOCK(key);
    const uint32_t *numbers = (const uint32_t *)fields;
    if (call == 1) return lig_domain_exchange(block->handle, time, numbers, count, &fault);
    if (call == 2) return lig_domain_begin(block->handle, time, numbers, count, &fault);
    return lig_domain_end(block->handle, numbers, count, &fault);
}

lig_status lf_domain_publish(int64_t key, int32_t field) {
    BLOCK(key);
    return lig_domain_publish(block->handle, (uint32_t)field, &fault);
}

// Copies the reals of an array or section to doubles, in Fortran's order of elements.
static void take_reals(const CFI_cdesc_t *array, double *doubles, size_t count) {
    CFI_index_t index[CFI_MAX_RANK] = {0};
    for (size_t i = 0; i < count; ++i) {
        const char *place = array->base_addr;
        for (int axis = 0; axis < array->rank; ++axis) place += index[axis] * array->dim[axis].sm;
        if (array->type == CFI_type_float) {
            float number;
            memcpy(&number, place, sizeof number);
            doubles[i] = number;
        } else {
            memcpy(&doubles[i], place, sizeof doubles[i]);
        }
        for (int axis = 0; axis < array->rank && ++index[axis] == array->dim[axis].extent; ++axis) {
            index[axis] = 0;
        }
    }
}

// `call` is 1 for the sum, 2 for the smallest and 3 for the largest number.
lig_status lf_domain_reduce(int64_t key, int32_t call, const CFI_cdesc_t *values, double *reduced) {
    BLOCK(key);
    lig_array described;
    int64_t strides[LIG_MAX_DIMS];
    const lig_status status = describe(values, false, "reduced", &described, strides);
    if (status != LIG_OK) return status;
    char name[64];
    if (described.dtype != LIG_FLOAT64 && described.dtype != LIG_FLOAT32) {
        return fail(LIG_ERR_USAGE, "%s cannot be reduced: give reals of 4 or 8 bytes", type_name(values, name));
    }
    size_t count = 1;
    for (uint32_t axis = 0; axis < described.ndim; ++axis) count *= (size_t)described.shape[axis];
    double *copies = NULL;
    const double *numbers = values->base_addr;
    if (count > 0 && (described.dtype == LIG_FLOAT32 || described.strides != NULL)) {
        numbers = copies = malloc(count * sizeof *copies);
        if (copies == NULL) return fail(LIG_ERR_OUT_OF_MEMORY, "there is no memory for %zu numbers", count);
        take_reals(values, copies, count);
    }
    lig_status (*const reductions[])(lig_domain *, const double *, size_t, double *, lig_error *) = {
        lig_domain_sum, lig_domain_min, lig_domain_max};
    const lig_status done = reductions[call - 1](block->handle, numbers, count, reduced, &fault);
    free(copies);
    return done;
}
