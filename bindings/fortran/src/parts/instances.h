// Instances, settings and submodels. Part of ligament_descriptors.c.

// `names` are `count` names of `length` characters each. If `count` is below 0, the ports are those of the
// model.
lig_status lf_create(const int32_t *operators, const char *names, size_t length, int64_t count, int64_t flags,
                     int64_t ranks, int64_t threads, int64_t *key) {
    *key = 0;
    if (ranks < 0 || ranks > UINT32_MAX || threads < 0 || threads > UINT32_MAX) {
        return fail(LIG_ERR_USAGE, "an instance cannot have %" PRId64 " ranks and %" PRId64 " threads", ranks,
                    threads);
    }
    lig_instance *instance = NULL;
    const size_t number = count > 0 ? (size_t)count : 0;
    lig_port *ports = calloc(number + 1, sizeof *ports);
    char(*texts)[NAME_SIZE] = calloc(number + 1, sizeof *texts);
    lig_status status = LIG_OK;
    if (ports == NULL || texts == NULL)
        status = fail(LIG_ERR_OUT_OF_MEMORY, "there is no memory for the ports");
    for (size_t i = 0; status == LIG_OK && i < number; ++i) {
        status = name_of(names + i * length, length, texts[i]);
        ports[i].op = operators[i];
        ports[i].name = texts[i];
    }
    const lig_instance_options options = {.size = sizeof options,
                                          .ports = count >= 0 ? ports : NULL,
                                          .port_count = number,
                                          .flags = (uint64_t)flags,
                                          .language = "fortran",
                                          .ranks = (uint32_t)ranks,
                                          .threads = (uint32_t)threads};
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

lig_status lf_steer(int64_t key, double time, bool *changed) {
    INSTANCE(key);
    *changed = false;
    return lig_steer(instance, time, changed, &fault);
}

lig_status lf_declare_steerable(int64_t key, const char *setting, size_t length, const bool *bounded,
                                const double *range, const char *unit, size_t unit_length, bool restart) {
    INSTANCE(key);
    char *name = line_of(setting, trimmed(setting, length));
    char *measure = line_of(unit, trimmed(unit, unit_length));
    lig_status status = LIG_ERR_OUT_OF_MEMORY;
    if (name != NULL && measure != NULL) {
        status = lig_declare_steerable(instance, name, bounded[0] ? range[0] : -INFINITY,
                                       bounded[1] ? range[1] : INFINITY, measure, restart, &fault);
    } else {
        status = fail(LIG_ERR_OUT_OF_MEMORY, "there is no memory for a text");
    }
    free(name);
    free(measure);
    return status;
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

// Gives the name of the instance, or of the run.
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

// Returns the number of this rank, or the number of all ranks of its instance.
int32_t lf_rank(int64_t key, bool of_all) {
    const lig_instance *instance = thing_of(key);
    return (int32_t)(of_all ? lig_instance_ranks(instance) : lig_instance_rank(instance));
}

// Gives the names of the ports with an operator, or of the settings (operator 0). `longest` is the length of
// the longest name.
lig_status lf_names(int64_t key, int32_t op, lig_names **names, int64_t *count, int64_t *longest) {
    INSTANCE(key);
    *names = NULL;
    const lig_status status =
        op != 0 ? lig_list_ports(instance, op, names, &fault) : lig_list_settings(instance, names, &fault);
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

// The questions about a port.
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

// Returns true if all numbers are at least 0, as indices and lengths are.
static bool are_counts(const int64_t *numbers, int64_t count) {
    for (int64_t i = 0; i < count; ++i)
        if (numbers[i] < 0) return false;
    return true;
}

lig_status lf_map_block(int64_t key, const char *port, size_t port_length, const int64_t *start,
                        int64_t start_count, const int64_t *shape, int64_t shape_count) {
    INSTANCE(key);
    NAME(name, port, port_length);
    if (start_count != shape_count)
        return fail(LIG_ERR_USAGE, "port \"%s\": a block has as many first indices as lengths, not %" PRId64
                                   " and %" PRId64, name, start_count, shape_count);
    if (!are_counts(start, start_count) || !are_counts(shape, shape_count))
        return fail(LIG_ERR_USAGE, "port \"%s\": a block has no negative first index or length", name);
    return lig_map_block(instance, name, (size_t)start_count, (const uint64_t *)start, (const uint64_t *)shape,
                         &fault);
}

lig_status lf_map_range(int64_t key, const char *port, size_t port_length, int64_t first, int64_t last) {
    INSTANCE(key);
    NAME(name, port, port_length);
    if (first < 0 || last < 0)
        return fail(LIG_ERR_USAGE, "port \"%s\": a range has no negative ends", name);
    return lig_map_range(instance, name, (uint64_t)first, (uint64_t)last, &fault);
}

lig_status lf_map_list(int64_t key, const char *port, size_t port_length, const int64_t *numbers,
                       int64_t count) {
    INSTANCE(key);
    NAME(name, port, port_length);
    return lig_map_list(instance, name, numbers, (size_t)count, &fault);
}

lig_status lf_array_shape(int64_t key, const char *port, size_t port_length, int64_t *lengths,
                          int64_t *count) {
    INSTANCE(key);
    *count = 0;
    NAME(name, port, port_length);
    uint64_t shape[LIG_MAX_DIMS];
    size_t ndim = 0;
    const lig_status status = lig_array_shape(instance, name, shape, &ndim, &fault);
    if (status != LIG_OK) return status;
    for (size_t i = 0; i < ndim; ++i) lengths[i] = (int64_t)shape[i];
    *count = (int64_t)ndim;
    return status;
}

lig_status lf_time(int64_t key, double *time) {
    INSTANCE(key);
    *time = 0;
    return lig_time(instance, time, &fault);
}

lig_status lf_tick(int64_t key, bool *changed) {
    INSTANCE(key);
    *changed = false;
    return lig_tick(instance, changed, &fault);
}

lig_status lf_insert_events(int64_t key, const char *port, size_t port_length, const double *times,
                            int64_t time_count, const int32_t *ids, int64_t id_count) {
    INSTANCE(key);
    NAME(name, port, port_length);
    if (time_count != id_count)
        return fail(LIG_ERR_USAGE, "port \"%s\": events have as many times as ids, not %" PRId64
                                   " and %" PRId64, name, time_count, id_count);
    return lig_insert_events(instance, name, (size_t)time_count, times, ids, &fault);
}

lig_status lf_events(int64_t key, const char *port, size_t port_length, int64_t *count, const double **times,
                     const int32_t **ids) {
    INSTANCE(key);
    *count = 0;
    NAME(name, port, port_length);
    size_t events = 0;
    const lig_status status = lig_events(instance, name, &events, times, ids, &fault);
    *count = (int64_t)events;
    return status;
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

// Gives an integer setting, which must lie between `least` and `most`.
lig_status lf_setting_int(int64_t key, const char *setting, size_t length, int64_t least, int64_t most,
                          int64_t *value) {
    INSTANCE(key);
    NAME(name, setting, length);
    int64_t found;
    const lig_status status = lig_get_setting_int(instance, name, &found, &fault);
    if (status != LIG_OK) return status;
    if (found < least || found > most) {
        return fail(LIG_ERR_SETTING_TYPE, "setting \"%s\" is %" PRId64 ", which does not fit the variable",
                    name, found);
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
            return fail(LIG_ERR_SETTING_TYPE,
                        "setting \"%s\" has %" PRId64 " in it, which does not fit the variable", name,
                        (*values)[i]);
        }
    }
    return status;
}

lig_status lf_setting_floats(int64_t key, const char *setting, size_t length, const double **values,
                             size_t *count) {
    INSTANCE(key);
    NAME(name, setting, length);
    return lig_get_setting_float_list(instance, name, values, count, &fault);
}

// Gives a setting with rows of equal length.
lig_status lf_setting_grid(int64_t key, const char *setting, size_t length, const lig_float_row **rows,
                           size_t *count, size_t *columns) {
    INSTANCE(key);
    NAME(name, setting, length);
    const lig_status status = lig_get_setting_float_grid(instance, name, rows, count, &fault);
    if (status != LIG_OK) return status;
    *columns = *count > 0 ? (*rows)[0].count : 0;
    for (size_t i = 0; i < *count; ++i) {
        if ((*rows)[i].count != *columns) {
            return fail(LIG_ERR_SETTING_TYPE,
                        "setting \"%s\" has rows of different lengths, %zu and %zu, which no array of two "
                        "dimensions has",
                        name, *columns, (*rows)[i].count);
        }
    }
    return LIG_OK;
}

// Copies row by row into an array whose first index runs fastest.
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

// Gives a setting of any type as a value. Rows may have different lengths.
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
            for (size_t i = 0; status == LIG_OK && i < count; ++i)
                lig_value_append(value, lig_value_new_int(integers[i]), NULL);
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
        default:
            return fail(LIG_ERR_SETTING_TYPE, "setting \"%s\" is of a type that this binding does not know",
                        name);
    }
    return give(status, value, made);
}

// ---- submodels

lig_status lf_run_submodel(int64_t key, const lig_submodel *submodel) {
    INSTANCE(key);
    return lig_run_submodel(instance, submodel, &fault);
}

lig_status lf_run_light(const lig_submodel *submodel,
                        lig_status (*make)(lig_instance *, void *, void **, lig_error *),
                        void (*release)(void *), void *context, int64_t flags) {
    const lig_instance_options options = {
        .size = sizeof options, .language = "fortran", .flags = (uint64_t)flags};
    const lig_light light = {.size = sizeof light, .submodel = submodel, .make = make, .release = release,
                             .context = context, .options = &options};
    return lig_run_light(&light, &fault);
}
