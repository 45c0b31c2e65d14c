// Building values, and reading them. Part of ligament_descriptors.c.

lig_status lf_new_scalar(const lf_scalar *scalar, lf_ref *made) {
    lig_value *value = new_scalar(scalar);
    return give(value != NULL ? LIG_OK : fail(LIG_ERR_OUT_OF_MEMORY, "there is no memory for a value"), value,
                made);
}

lig_status lf_new_text(const char *text, size_t length, lf_ref *made) {
    lig_value *value;
    const lig_status status = new_text(text, length, &value);
    return give(status, value, made);
}

lig_status lf_new_array(const lf_sending *how, const CFI_cdesc_t *data, const char *names, const char *unit,
                        lf_ref *made) {
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
    return give(value != NULL ? LIG_OK : fail(LIG_ERR_OUT_OF_MEMORY, "there is no memory for %zu bytes", size),
                value, made);
}

lig_status lf_new_list(bool of_pairs, lf_ref *made) {
    lig_value *value = of_pairs ? lig_value_new_map() : lig_value_new_list();
    return give(value != NULL ? LIG_OK : fail(LIG_ERR_OUT_OF_MEMORY, "there is no memory for a value"), value,
                made);
}

lig_status lf_new_none(lf_ref *made) {
    lig_value *value = lig_value_new_none();
    return give(value != NULL ? LIG_OK : fail(LIG_ERR_OUT_OF_MEMORY, "there is no memory for a value"), value,
                made);
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

// True if the value itself was built, so that it can be changed and put into another one.
static bool is_built(const lf_ref *ref) {
    Entry *entry = entry_of(ref->key);
    return entry != NULL && ref->edition < 0 && atomic_load(&entry->thing) == (void *)(uintptr_t)ref->value;
}

void lf_free_value(lf_ref *ref) {
    if (is_built(ref)) lig_value_free(let_go(ref->key));
    ref->key = 0;
    ref->value = NULL;
}

// The item for a container: the value itself, if it was built; otherwise a copy, which shares the arrays.
static lig_status item_of(const lf_ref *ref, lig_value **item) {
    *item = NULL;
    const lig_status status = there(ref);
    if (status != LIG_OK) return status;
    if (!is_built(ref)) return lig_value_copy(ref->value, item, &fault);
    *item = let_go(ref->key);
    return LIG_OK;
}

// The container, for a change. All values that were looked up in it before become stale.
static lig_status changed(const lf_ref *ref, lig_value **container) {
    const lig_status status = there(ref);
    if (status != LIG_OK) return status;
    if (!is_built(ref)) {
        return fail(LIG_ERR_USAGE,
                    "what was received, or is part of another value, cannot be changed; change a copy()");
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
    if (ref->key == given->key && ref->key != 0)
        return fail(LIG_ERR_USAGE, "a value cannot be put into itself");
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
    RETURN_IF_ABSENT;
    return from(lig_value_string(ref->value, text, &fault), ref);
}

lig_status lf_count(const lf_ref *ref, int64_t *count) {
    RETURN_IF_ABSENT;
    size_t found = 0;
    const lig_status status = from(lig_value_count(ref->value, &found, &fault), ref);
    *count = (int64_t)found;
    return status;
}

// Positions are counted from 1.
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
    RETURN_IF_ABSENT;
    size_t place;
    lig_status status = place_of(ref->value, index, &place);
    if (status == LIG_OK) status = lig_value_key(ref->value, place, key, &fault);
    return from(status, ref);
}

// The value with a key in a map. If there is none: an error if `must` is true, otherwise an empty value.
lig_status lf_find(const lf_ref *ref, const char *key, size_t length, bool must, lf_ref *made) {
    const lig_value *item = NULL;
    lig_status status = there(ref);
    char *line = line_of(key, trimmed(key, length));
    if (status == LIG_OK && line == NULL) status = fail(LIG_ERR_OUT_OF_MEMORY, "there is no memory for a key");
    if (status == LIG_OK) status = lig_value_find(ref->value, line, &item, &fault);
    if (status == LIG_OK && must && item == NULL)
        status = fail(LIG_ERR_UNEXPECTED, "there is no \"%.200s\" in the map", line);
    free(line);
    lend(ref, item, made);
    return from(status, ref);
}

int32_t lf_kind(const lf_ref *ref) {
    return is_here(ref) ? lig_value_kind(ref->value) : -1;
}

lig_status lf_array(const lf_ref *ref, lig_array_view *view) {
    RETURN_IF_ABSENT;
    return from(lig_value_array(ref->value, view, &fault), ref);
}

lig_status lf_array_name(const lf_ref *ref, int32_t dimension, lig_string *text) {
    RETURN_IF_ABSENT;
    return from(lig_value_array_name(ref->value, (uint32_t)(dimension - 1), text, &fault), ref);
}

lig_status lf_array_unit(const lf_ref *ref, lig_string *text) {
    RETURN_IF_ABSENT;
    return from(lig_value_array_unit(ref->value, text, &fault), ref);
}
