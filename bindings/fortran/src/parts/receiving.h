// Receiving, and loans. Part of ligament_descriptors.c.

static lig_status receive_options(const lf_receiving *how, lig_receive_options *options) {
    memset(options, 0, sizeof *options);
    options->size = sizeof *options;
    options->has_timeout = how->has_timeout;
    options->timeout = how->timeout;
    if (how->slot == NO_SLOT) return LIG_OK;
    if (how->slot < 0 || how->slot > UINT32_MAX)
        return fail(LIG_ERR_USAGE, "there is no slot %" PRId64, how->slot);
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

// Gives Fortran a message that arrived on a port.
static lig_status take(lig_message *message, const char *name, int64_t slot, lf_ref *made, lig_times *times) {
    const lig_status status = lig_message_times(message, times, &fault);
    made->key = keep(message);
    made->value = lig_message_value(message);
    made->edition = -1;
    made->slot = slot;
    size_t length = strlen(name);
    if (length > ORIGIN_SIZE) length = ORIGIN_SIZE;
    memcpy(made->port, name, length);
    memset(made->port + length, ' ', ORIGIN_SIZE - length);
    if (made->key != 0) return status;
    lig_message_free(message);
    return fail(LIG_ERR_OUT_OF_MEMORY, "there is no memory for a message");
}

lig_status lf_receive(const lf_receiving *how, const char *port, lf_ref *made, lig_times *times) {
    lf_free_message(made);
    RECEIVING(name, options);
    lig_message *message;
    const lig_status status = lig_receive(instance, name, &options, &message, &fault);
    return status == LIG_OK ? take(message, name, how->slot, made, times) : status;
}

lig_status lf_receive_with_settings(const lf_receiving *how, const char *port, lf_ref *made, lig_times *times) {
    lf_free_message(made);
    RECEIVING(name, options);
    lig_message *message;
    const lig_status status = lig_receive_with_settings(instance, name, &options, &message, &fault);
    return status == LIG_OK ? take(message, name, how->slot, made, times) : status;
}

// Like `lf_receive`. `connected` is false if nothing is connected to the port; then nothing was received.
lig_status lf_receive_if_connected(const lf_receiving *how, const char *port, lf_ref *made, lig_times *times,
                                   bool *connected) {
    *connected = false;
    lf_free_message(made);
    RECEIVING(name, options);
    lig_message *message;
    const lig_status status = lig_receive_if_connected(instance, name, &options, &message, &fault);
    if (status != LIG_OK || message == NULL) return status;
    *connected = true;
    return take(message, name, how->slot, made, times);
}

lig_status lf_receive_into(const lf_receiving *how, const char *port, CFI_cdesc_t *into, lig_times *times) {
    RECEIVING(name, options);
    lig_array array;
    int64_t strides[LIG_MAX_DIMS];
    if (is_text(into)) {
        return fail(TEXT_AMONG_ARRAYS,
                    "a text cannot be received into a variable: receive a message and use its get_text()");
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
        return status;
    }
    lig_message *message;
    status = lig_receive(instance, name, &options, &message, &fault);
    if (status != LIG_OK) return status;
    status = lig_message_times(message, times, &fault);
    if (status == LIG_OK) status = get(message, lig_message_value(message), how->is_unsigned, into);
    status = named(status, message);
    lig_message_free(message);
    return status;
}

lig_status lf_poll(const lf_receiving *how, const char *port, bool *ready) {
    RECEIVING(name, options);
    return lig_poll(instance, name, &options, ready, &fault);
}

lig_status lf_has_next(const lf_receiving *how, const char *port, bool *more) {
    RECEIVING(name, options);
    return lig_has_next(instance, name, &options, more, &fault);
}

// Waits for the first of several ports, and, if `made` is not NULL, receives there. `ports` are `count` names
// of `how->port_length` characters each; `slots` is NULL, or has a number below 0 for each port without slots.
static lig_status first_of(const lf_receiving *how, const char *ports, size_t count, const int64_t *slots,
                           int64_t *which, lf_ref *made, lig_times *times) {
    *which = 0;
    INSTANCE(how->instance);
    lig_receive_options options;
    lig_status status = receive_options(how, &options);
    if (status != LIG_OK) return status;
    lig_port_slot *entries = calloc(count + 1, sizeof *entries);
    char(*names)[NAME_SIZE] = calloc(count + 1, sizeof *names);
    if (entries == NULL || names == NULL)
        status = fail(LIG_ERR_OUT_OF_MEMORY, "there is no memory for the ports to wait for");
    for (size_t i = 0; status == LIG_OK && i < count; ++i) {
        status = name_of(ports + i * how->port_length, how->port_length, names[i]);
        entries[i].port = names[i];
        if (slots == NULL || slots[i] < 0) continue;
        entries[i].has_slot = true;
        entries[i].slot = (uint32_t)slots[i];
    }
    size_t found = 0;
    lig_message *message;
    if (status == LIG_OK && made == NULL) {
        status = lig_wait_any(instance, entries, count, &options, &found, &fault);
    } else if (status == LIG_OK) {
        status = lig_receive_any(instance, entries, count, &options, &found, &message, &fault);
        if (status == LIG_OK) {
            status = take(message, names[found], entries[found].has_slot ? entries[found].slot : NO_SLOT, made,
                          times);
        }
    }
    *which = status == LIG_OK ? (int64_t)found + 1 : 0;
    free(entries);
    free(names);
    return status;
}

lig_status lf_wait_any(const lf_receiving *how, const char *ports, size_t count, const int64_t *slots,
                       int64_t *which) {
    return first_of(how, ports, count, slots, which, NULL, NULL);
}

lig_status lf_receive_any(const lf_receiving *how, const char *ports, size_t count, const int64_t *slots,
                          lf_ref *made, lig_times *times, int64_t *which) {
    lf_free_message(made);
    return first_of(how, ports, count, slots, which, made, times);
}

// The overlay that came with a message, as a part of it.
lig_status lf_message_settings(const lf_ref *ref, lf_ref *made) {
    lig_status status = there(ref);
    const lig_value *map = status == LIG_OK ? lig_message_settings(thing_of(ref->key)) : NULL;
    lend(ref, map, made);
    return status;
}

// ---- loans

// Lends memory for an array, and points Fortran's pointer to it.
lig_status lf_loan(const lf_sending *how, const CFI_cdesc_t *shape, const char *names, const char *unit,
                   int64_t *key, CFI_cdesc_t *pointer) {
    *key = 0;
    pointer->base_addr = NULL;
    INSTANCE(how->instance);
    lig_array like;
    memset(&like, 0, sizeof like);
    like.dtype = dtype_of(pointer, how->is_unsigned);
    like.ndim = (uint32_t)pointer->rank;
    like.order = how->order >= 0 ? how->order : pointer->rank > 1 ? LIG_COLUMN_MAJOR : LIG_ROW_MAJOR;
    if (pointer->rank > LIG_MAX_DIMS)
        return fail(LIG_ERR_USAGE, "a loan has at most %d dimensions", LIG_MAX_DIMS);
    const lig_dtype kind = shape->rank == 1 ? dtype_of(shape, false) : 0;
    if ((kind != LIG_INT32 && kind != LIG_INT64) || shape->dim[0].extent != pointer->rank) {
        return fail(LIG_ERR_USAGE,
                    "the shape of a loan must have an integer for each of the pointer's %d dimension%s",
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

// The loans of an instance end with it.
void lf_free_loan(int64_t instance_key, int64_t *key) {
    lig_instance *instance = thing_of(instance_key);
    lig_loan *loan = let_go(*key);
    *key = 0;
    if (instance != NULL && loan != NULL) lig_loan_free(instance, loan);
}
