// The driver in C. It receives messages, rebuilds them, and sends them on; README.md describes the ways.
#include <ligament.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static lig_error error;

// Ends the program if a call that must succeed fails.
static void fine(lig_status status) {
    if (status == LIG_OK) return;
    fprintf(stderr, "%s: %s\n", lig_status_name(status), error.message);
    exit(1);
}

static void *roomy(size_t bytes) {
    void *memory = calloc(bytes ? bytes : 1, 1);
    if (!memory) exit(1);
    return memory;
}

// Returns a copy of a text with a NUL at its end.
static char *copied(lig_string text) {
    char *copy = roomy(text.size + 1);
    if (text.size) memcpy(copy, text.data, text.size);
    return copy;
}

static const lig_value *entry(const lig_value *map, const char *key) {
    const lig_value *value;
    fine(lig_value_find(map, key, &value, &error));
    return value;
}

static char *text_of(const lig_value *map, const char *key) {
    lig_string text;
    fine(lig_value_string(entry(map, key), &text, &error));
    return copied(text);
}

// Copies the elements of a view to places that are `strides` bytes apart.
static void spread(const lig_array_view *view, char *to, const int64_t *strides) {
    const size_t size = lig_dtype_size(view->dtype);
    uint64_t index[LIG_MAX_DIMS] = {0};
    for (uint64_t left = view->length; left > 0; --left) {
        int64_t from = 0, into = 0;
        for (uint32_t i = 0; i < view->ndim; ++i) {
            from += (int64_t)index[i] * view->strides[i];
            into += (int64_t)index[i] * strides[i];
        }
        memcpy(to + into, (const char *)view->data + from, size);
        for (uint32_t i = view->ndim; i-- > 0;) {
            if (++index[i] < view->shape[i]) break;
            index[i] = 0;
        }
    }
}

// Returns an array in memory of the caller, with the same elements in the same order. The caller frees the
// memory.
static lig_array own(const lig_array_view *view) {
    lig_array array = {.dtype = view->dtype, .ndim = view->ndim, .order = view->order};
    int64_t strides[LIG_MAX_DIMS], bytes = (int64_t)lig_dtype_size(view->dtype);
    for (uint32_t n = 0; n < view->ndim; ++n) {
        const uint32_t i = view->order == LIG_ROW_MAJOR ? view->ndim - 1 - n : n;
        strides[i] = bytes;
        bytes *= (int64_t)view->shape[i];
        array.shape[i] = view->shape[i];
    }
    array.data = roomy((size_t)bytes);
    spread(view, array.data, strides);
    return array;
}

static lig_value *rebuilt(const lig_value *value);

static lig_value *rebuilt_array(const lig_value *value) {
    lig_array_view view;
    lig_string text;
    char *names[LIG_MAX_DIMS] = {0}, *unit = NULL;
    lig_value *made;
    fine(lig_value_array(value, &view, &error));
    lig_array array = own(&view);
    for (uint32_t i = 0; i < view.ndim; ++i) {
        fine(lig_value_array_name(value, i, &text, &error));
        if (!text.data) continue;
        names[i] = copied(text);
        array.names = (const char *const *)names;
    }
    fine(lig_value_array_unit(value, &text, &error));
    if (text.data) array.unit = unit = copied(text);
    fine(lig_value_new_array(&array, &made, &error));
    for (int i = 0; i < LIG_MAX_DIMS; ++i) free(names[i]);
    free(unit);
    free(array.data);
    return made;
}

static lig_value *rebuilt(const lig_value *value) {
    bool truth;
    int64_t integer;
    uint64_t large;
    double real, imaginary;
    lig_string text;
    const void *bytes;
    size_t count;
    const lig_value *child;
    lig_value *made;
    switch (lig_value_kind(value)) {
        case LIG_KIND_NONE: return lig_value_new_none();
        case LIG_KIND_BOOL: fine(lig_value_bool(value, &truth, &error)); return lig_value_new_bool(truth);
        case LIG_KIND_INT: fine(lig_value_int(value, &integer, &error)); return lig_value_new_int(integer);
        case LIG_KIND_UINT: fine(lig_value_uint(value, &large, &error)); return lig_value_new_uint(large);
        case LIG_KIND_FLOAT: fine(lig_value_float(value, &real, &error)); return lig_value_new_float(real);
        case LIG_KIND_COMPLEX:
            fine(lig_value_complex(value, &real, &imaginary, &error));
            return lig_value_new_complex(real, imaginary);
        case LIG_KIND_STRING:
            fine(lig_value_string(value, &text, &error));
            return lig_value_new_string(text.data, text.size);
        case LIG_KIND_BYTES:
            fine(lig_value_bytes(value, &bytes, &count, &error));
            return lig_value_new_bytes(bytes, count);
        case LIG_KIND_LIST:
            made = lig_value_new_list();
            fine(lig_value_count(value, &count, &error));
            for (size_t i = 0; i < count; ++i) {
                fine(lig_value_at(value, i, &child, &error));
                fine(lig_value_append(made, rebuilt(child), &error));
            }
            return made;
        case LIG_KIND_MAP:
            made = lig_value_new_map();
            fine(lig_value_count(value, &count, &error));
            for (size_t i = 0; i < count; ++i) {
                fine(lig_value_at(value, i, &child, &error));
                fine(lig_value_key(value, i, &text, &error));
                char *key = copied(text);
                fine(lig_value_set(made, key, rebuilt(child), &error));
                free(key);
            }
            return made;
        case LIG_KIND_ARRAY: return rebuilt_array(value);
        default: fprintf(stderr, "a value of kind %s\n", lig_kind_name(lig_value_kind(value))); exit(1);
    }
}

static lig_value *list_of(const double *values, size_t count) {
    lig_value *list = lig_value_new_list();
    for (size_t i = 0; i < count; ++i) fine(lig_value_append(list, lig_value_new_float(values[i]), &error));
    return list;
}

static lig_value *setting(lig_instance *instance, const char *name, const char *type) {
    size_t count;
    if (strcmp(type, "bool") == 0) {
        bool value;
        fine(lig_get_setting_bool(instance, name, &value, &error));
        return lig_value_new_bool(value);
    }
    if (strcmp(type, "int") == 0) {
        int64_t value;
        fine(lig_get_setting_int(instance, name, &value, &error));
        return lig_value_new_int(value);
    }
    if (strcmp(type, "float") == 0) {
        double value;
        fine(lig_get_setting_float(instance, name, &value, &error));
        return lig_value_new_float(value);
    }
    if (strcmp(type, "string") == 0) {
        const char *value;
        fine(lig_get_setting_string(instance, name, &value, &error));
        return lig_value_new_string(value, strlen(value));
    }
    if (strcmp(type, "int_list") == 0) {
        const int64_t *values;
        fine(lig_get_setting_int_list(instance, name, &values, &count, &error));
        lig_value *list = lig_value_new_list();
        for (size_t i = 0; i < count; ++i) fine(lig_value_append(list, lig_value_new_int(values[i]), &error));
        return list;
    }
    if (strcmp(type, "float_list") == 0) {
        const double *values;
        fine(lig_get_setting_float_list(instance, name, &values, &count, &error));
        return list_of(values, count);
    }
    const lig_float_row *rows;
    fine(lig_get_setting_float_grid(instance, name, &rows, &count, &error));
    lig_value *list = lig_value_new_list();
    for (size_t i = 0; i < count; ++i) {
        fine(lig_value_append(list, list_of(rows[i].values, rows[i].count), &error));
    }
    return list;
}

// Returns an array of the type and shape in `how`, to receive into. The caller frees its memory.
static lig_array wanted(const lig_value *how) {
    lig_array array = {0};
    char *dtype = text_of(how, "dtype"), *order = text_of(how, "order");
    for (lig_dtype at = LIG_BOOL; at <= LIG_COMPLEX128; ++at) {
        if (strcmp(lig_dtype_name(at), dtype) == 0) array.dtype = at;
    }
    array.order = order[0] == 'F' ? LIG_COLUMN_MAJOR : LIG_ROW_MAJOR;
    size_t ndim, bytes = lig_dtype_size(array.dtype);
    fine(lig_value_count(entry(how, "shape"), &ndim, &error));
    array.ndim = (uint32_t)ndim;
    for (size_t i = 0; i < ndim; ++i) {
        const lig_value *extent;
        fine(lig_value_at(entry(how, "shape"), i, &extent, &error));
        fine(lig_value_uint(extent, &array.shape[i], &error));
        bytes *= array.shape[i];
    }
    array.data = roomy(bytes);
    free(dtype);
    free(order);
    return array;
}

// Makes the wrong call, and returns the name of the status and the text of the error.
static lig_value *mistake(lig_instance *instance, const char *call, const char *port, const char *out) {
    double number, numbers[5];
    lig_message *message = NULL;
    lig_array five = {.dtype = LIG_FLOAT64, .ndim = 1, .shape = {5}, .data = numbers};
    lig_array integers = {.dtype = LIG_INT32, .ndim = 1, .shape = {3}, .data = numbers};
    lig_send_options never = {.size = sizeof never};
    memset(&never.timestamp, 0xff, sizeof never.timestamp);
    lig_status status = LIG_OK;
    error.message[0] = '\0';
    if (strcmp(call, "send_unknown_port") == 0) status = lig_send(instance, "nowhere", NULL, NULL, &error);
    if (strcmp(call, "receive_unknown_port") == 0)
        status = lig_receive(instance, "nowhere", NULL, &message, &error);
    if (strcmp(call, "send_on_receiving_port") == 0) status = lig_send(instance, port, NULL, NULL, &error);
    if (strcmp(call, "setting_unset") == 0) status = lig_get_setting_float(instance, "absent", &number, &error);
    if (strcmp(call, "setting_type") == 0) status = lig_get_setting_float(instance, "text", &number, &error);
    if (strcmp(call, "into_wrong_shape") == 0)
        status = lig_receive_into(instance, port, NULL, &five, NULL, &error);
    if (strcmp(call, "into_wrong_type") == 0)
        status = lig_receive_into(instance, port, NULL, &integers, NULL, &error);
    if (strncmp(call, "array_", 6) == 0) {
        const bool of_type = strcmp(call, "array_wrong_type") == 0;
        const lig_expected expected = {.size = sizeof expected,
                                       .dtype = of_type ? LIG_INT32 : LIG_FLOAT64,
                                       .ndim = 1,
                                       .has_shape = !of_type,
                                       .shape = {4}};
        lig_array_view view;
        fine(lig_receive(instance, port, NULL, &message, &error));
        status = lig_expect_array(message, NULL, &expected, &view, &error);
        lig_message_free(message);
    }
    if (strcmp(call, "send_not_a_time") == 0) status = lig_send(instance, out, &never, NULL, &error);
    const char *name = lig_status_name(status);
    lig_value *answer = lig_value_new_map();
    lig_error saved = error;
    fine(lig_value_set(answer, "status", lig_value_new_string(name, strlen(name)), &error));
    fine(lig_value_set(answer, "text", lig_value_new_string(saved.message, strlen(saved.message)), &error));
    return answer;
}

// Sends a rebuilt message in the way that the case asks for.
static void send_made(lig_instance *instance, const char *out, const lig_send_options *at, const char *way,
                      const lig_value *how, const lig_message *message) {
    if (strcmp(way, "value") == 0 || strcmp(way, "any") == 0 || strcmp(way, "default") == 0 ||
        strcmp(way, "setting") == 0) {
        lig_value *value;
        if (way[0] == 'd') {
            lig_message *none;
            fine(lig_receive_if_connected(instance, "nothing", NULL, &none, &error));
            value = lig_value_new_map();
            fine(lig_value_set(value, "came", rebuilt(lig_message_value(message)), &error));
            fine(lig_value_set(value, "otherwise", none ? rebuilt(lig_message_value(none))
                                                        : lig_value_new_string("nothing came", 12), &error));
            lig_message_free(none);
        } else if (way[0] != 's') {
            value = rebuilt(lig_message_value(message));
        } else {
            char *name = text_of(how, "name"), *type = text_of(how, "type");
            value = setting(instance, name, type);
            free(name);
            free(type);
        }
        fine(lig_send(instance, out, at, value, &error));
        lig_value_free(value);
        return;
    }
    lig_array_view view;
    fine(lig_message_array(message, &view, &error));
    if (strcmp(way, "strided") == 0) {
        int64_t strides[LIG_MAX_DIMS], bytes = (int64_t)lig_dtype_size(view.dtype);
        lig_array array = {.dtype = view.dtype, .ndim = view.ndim, .strides = strides};
        for (uint32_t i = view.ndim; i-- > 0;) {
            strides[i] = 2 * bytes;
            bytes *= 2 * (int64_t)view.shape[i];
            array.shape[i] = view.shape[i];
        }
        array.data = roomy((size_t)bytes);
        spread(&view, array.data, strides);
        fine(lig_send_array(instance, out, at, &array, &error));
        free(array.data);
        return;
    }
    lig_array array = own(&view);
    if (strcmp(way, "loan") == 0) {
        lig_loan *loan;
        void *data;
        size_t bytes = lig_dtype_size(view.dtype) * view.length;
        fine(lig_loan_create_like(instance, &array, &loan, &data, &error));
        memcpy(data, array.data, bytes);
        fine(lig_send_loan(instance, out, at, loan, &error));
    } else {
        fine(lig_send_array(instance, out, at, &array, &error));
    }
    free(array.data);
}

static lig_send_options at_times(const lig_times *times) {
    return (lig_send_options){.size = sizeof(lig_send_options), .timestamp = times->timestamp,
                              .next_timestamp = times->next_timestamp,
                              .has_next_timestamp = times->has_next_timestamp};
}

// Receives on a port, and sends on each `O_F` port that belongs to this port.
static void pass(lig_instance *instance, const char *port, const lig_names *sending, const lig_value *how) {
    char *way = text_of(how, "way"), *call = NULL;
    const bool into = strcmp(way, "into") == 0, wrong = strcmp(way, "error") == 0;
    if (wrong) call = text_of(how, "call");
    lig_message *message = NULL;
    lig_times times = {0};
    lig_array array = {0};
    lig_value *answer = NULL;
    if (into) {
        array = wanted(how);
        fine(lig_receive_into(instance, port, NULL, &array, &times, &error));
    } else if (strcmp(way, "any") == 0) {
        const lig_port_slot only = {.port = port};
        size_t which = 1;
        fine(lig_receive_any(instance, &only, 1, NULL, &which, &message, &error));
        if (which != 0) abort();
        fine(lig_message_times(message, &times, &error));
    } else if (strcmp(way, "default") == 0) {
        fine(lig_receive_if_connected(instance, port, NULL, &message, &error));
        fine(lig_message_times(message, &times, &error));
    } else if (!wrong || (strncmp(call, "into_", 5) != 0 && strncmp(call, "array_", 6) != 0)) {
        fine(lig_receive(instance, port, NULL, &message, &error));
        if (!wrong) fine(lig_message_times(message, &times, &error));
    }
    const lig_send_options at = at_times(&times);
    for (size_t i = 0; i < lig_names_count(sending); ++i) {
        const char *out = lig_names_at(sending, i);
        if (strncmp(out, port, strlen(port)) != 0 || out[strlen(port)] != '_') continue;
        if (wrong && !answer) answer = mistake(instance, call, port, out);
        if (into) fine(lig_send_array(instance, out, &at, &array, &error));
        else if (wrong) fine(lig_send(instance, out, &at, answer, &error));
        else send_made(instance, out, &at, way, how, message);
    }
    lig_value_free(answer);
    lig_message_free(message);
    free(array.data);
    free(way);
    free(call);
}

int main(void) {
    lig_instance *instance;
    lig_names *receiving, *sending;
    fine(lig_instance_create(NULL, &instance, &error));
    fine(lig_list_ports(instance, LIG_F_INIT, &receiving, &error));
    fine(lig_list_ports(instance, LIG_O_F, &sending, &error));
    for (;;) {
        bool again;
        fine(lig_reuse_instance(instance, &again, &error));
        if (!again) break;
        lig_message *how;
        fine(lig_receive(instance, "how", NULL, &how, &error));
        for (size_t i = 0; i < lig_names_count(receiving); ++i) {
            const char *port = lig_names_at(receiving, i);
            if (strcmp(port, "how") != 0) pass(instance, port, sending, lig_message_value(how));
        }
        lig_message_free(how);
    }
    lig_names_free(receiving);
    lig_names_free(sending);
    lig_instance_free(instance);
}
