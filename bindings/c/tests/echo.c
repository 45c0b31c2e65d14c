// A micro model that takes every value apart, puts it together again, and sends it back.
#include "check.h"

static lig_value *rebuilt(const lig_value *value) {
    bool truth;
    int64_t integer;
    uint64_t large;
    double real, imaginary;
    lig_string text, names[LIG_MAX_DIMS];
    char terminated[LIG_MAX_DIMS][32];
    const char *pointers[LIG_MAX_DIMS];
    const void *bytes;
    size_t count;
    lig_array_view view;
    const lig_value *child;
    lig_value *made = NULL;
    char key[32], unit[32];
    switch (lig_value_kind(value)) {
        case LIG_KIND_NONE: return lig_value_new_none();
        case LIG_KIND_BOOL: FINE(lig_value_bool(value, &truth, &error)); return lig_value_new_bool(truth);
        case LIG_KIND_INT: FINE(lig_value_int(value, &integer, &error)); return lig_value_new_int(integer);
        case LIG_KIND_UINT: FINE(lig_value_uint(value, &large, &error)); return lig_value_new_uint(large);
        case LIG_KIND_FLOAT: FINE(lig_value_float(value, &real, &error)); return lig_value_new_float(real);
        case LIG_KIND_COMPLEX:
            FINE(lig_value_complex(value, &real, &imaginary, &error));
            return lig_value_new_complex(real, imaginary);
        case LIG_KIND_STRING:
            FINE(lig_value_string(value, &text, &error));
            return lig_value_new_string(text.data, text.size);
        case LIG_KIND_BYTES:
            FINE(lig_value_bytes(value, &bytes, &count, &error));
            return lig_value_new_bytes(bytes, count);
        case LIG_KIND_LIST:
            made = lig_value_new_list();
            FINE(lig_value_count(value, &count, &error));
            for (size_t i = 0; i < count; ++i) {
                FINE(lig_value_at(value, i, &child, &error));
                FINE(lig_value_append(made, rebuilt(child), &error));
            }
            return made;
        case LIG_KIND_MAP:
            made = lig_value_new_map();
            FINE(lig_value_count(value, &count, &error));
            for (size_t i = 0; i < count; ++i) {
                FINE(lig_value_at(value, i, &child, &error));
                FINE(lig_value_key(value, i, &text, &error));
                snprintf(key, sizeof key, "%.*s", (int)text.size, text.data);
                FINE(lig_value_set(made, key, rebuilt(child), &error));
            }
            return made;
        case LIG_KIND_ARRAY: {
            FINE(lig_value_array(value, &view, &error));
            lig_array array = {.dtype = view.dtype, .ndim = view.ndim, .order = view.order,
                               .data = (void *)view.data, .strides = view.strides};
            for (uint32_t i = 0; i < view.ndim; ++i) {
                array.shape[i] = view.shape[i];
                FINE(lig_value_array_name(value, i, &names[i], &error));
                if (names[i].data) {
                    snprintf(terminated[i], sizeof terminated[i], "%.*s", (int)names[i].size, names[i].data);
                    pointers[i] = terminated[i];
                    array.names = pointers;
                }
            }
            FINE(lig_value_array_unit(value, &text, &error));
            if (text.data) {
                snprintf(unit, sizeof unit, "%.*s", (int)text.size, text.data);
                array.unit = unit;
            }
            FINE(lig_value_new_array(&array, &made, &error));
            return made;
        }
        default: HOLDS(!"a value of a kind that was not sent"); return NULL;
    }
}

int main(void) {
    const lig_port ports[] = {{LIG_F_INIT, "in"}, {LIG_O_F, "out"}};
    const lig_instance_options options = {.size = sizeof options, .ports = ports, .port_count = 2};
    lig_instance *instance;
    FINE(lig_instance_create(&options, &instance, &error));
    for (;;) {
        bool again;
        FINE(lig_reuse_instance(instance, &again, &error));
        if (!again) break;
        lig_message *message;
        lig_times times;
        FINE(lig_receive(instance, "in", NULL, &message, &error));
        FINE(lig_message_times(message, &times, &error));
        lig_value *value = rebuilt(lig_message_value(message));
        lig_message_free(message);
        const lig_send_options at = {.size = sizeof at, .timestamp = times.timestamp,
                                     .next_timestamp = times.next_timestamp,
                                     .has_next_timestamp = times.has_next_timestamp};
        FINE(lig_send(instance, "out", &at, value, &error));
        lig_value_free(value);
    }
    lig_instance_free(instance);
}
