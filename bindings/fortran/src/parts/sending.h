// Sending. Part of ligament_descriptors.c.

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
    if (how->slot < 0 || how->slot > UINT32_MAX)
        return fail(LIG_ERR_USAGE, "there is no slot %" PRId64, how->slot);
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
    if (scalar->kind == LIG_KIND_BOOL)
        return lig_send_bool(instance, name, &options, scalar->integer != 0, &fault);
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
    RETURN_IF_ABSENT;
    SENDING(name, options);
    return lig_send(instance, name, &options, ref->value, &fault);
}

lig_status lf_send_none(const lf_sending *how, const char *port) {
    SENDING(name, options);
    return lig_send(instance, name, &options, NULL, &fault);
}
