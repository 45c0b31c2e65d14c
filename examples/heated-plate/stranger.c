// A component for any model. It takes the names, operators and slots of its ports from the model, prints each
// received value of any kind, and sends the last one on. It goes on until no more messages come, or for `steps`
// steps.

#include <inttypes.h>
#include <ligament.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static lig_instance *instance;
static lig_error error;
static lig_message *last;  // The message to send on; NULL before the first one.

static void check(lig_status status) {
    if (status == LIG_OK) return;
    fprintf(stderr, "%s\n", error.message);
    exit(1);
}

// The ports of one operator.
typedef struct {
    lig_names *names;
    size_t count;
} ports;

static ports list_ports(lig_operator op) {
    ports found;
    check(lig_list_ports(instance, op, &found.names, &error));
    found.count = lig_names_count(found.names);
    return found;
}

static void print_value(const lig_value *value);

static void print_string(lig_string text) { printf("\"%.*s\"", (int)text.size, text.data); }

static void print_array(const lig_value *value) {
    lig_array_view view;
    lig_string unit;
    check(lig_value_array(value, &view, &error));
    check(lig_value_array_unit(value, &unit, &error));
    printf("%s array of %s and shape (", view.order == LIG_COLUMN_MAJOR ? "a column-major" : "an",
           lig_dtype_name(view.dtype));
    for (uint32_t d = 0; d < view.ndim; d++) printf("%s%" PRIu64, d ? ", " : "", view.shape[d]);
    printf(")");
    if (unit.data != NULL) printf(" in %.*s", (int)unit.size, unit.data);
    if (view.dtype == LIG_FLOAT64 && view.length > 0) {
        // Prints each element; the last index runs fastest, whatever the order in memory is.
        double sum = 0;
        uint64_t index[LIG_MAX_DIMS] = {0};
        for (uint64_t n = 0; n < view.length; n++) {
            const char *element = view.data;
            double number;
            for (uint32_t d = 0; d < view.ndim; d++) element += (int64_t)index[d] * view.strides[d];
            memcpy(&number, element, sizeof number);
            sum += number;
            for (uint32_t d = view.ndim; d-- > 0 && ++index[d] == view.shape[d];) index[d] = 0;
        }
        printf(" with the sum %.10g", sum);
    }
}

static void print_members(const lig_value *value, bool named) {
    size_t count;
    check(lig_value_count(value, &count, &error));
    printf(named ? "{" : "[");
    for (size_t i = 0; i < count; i++) {
        const lig_value *item;
        if (i > 0) printf(", ");
        if (named) {
            lig_string key;
            check(lig_value_key(value, i, &key, &error));
            print_string(key);
            printf(": ");
        }
        check(lig_value_at(value, i, &item, &error));
        print_value(item);
    }
    printf(named ? "}" : "]");
}

static void print_value(const lig_value *value) {
    switch (lig_value_kind(value)) {
        case LIG_KIND_NONE: printf("nothing"); break;
        case LIG_KIND_BOOL: {
            bool truth;
            check(lig_value_bool(value, &truth, &error));
            printf(truth ? "true" : "false");
            break;
        }
        case LIG_KIND_INT: {
            int64_t number;
            check(lig_value_int(value, &number, &error));
            printf("%" PRId64, number);
            break;
        }
        case LIG_KIND_UINT: {
            uint64_t number;
            check(lig_value_uint(value, &number, &error));
            printf("%" PRIu64, number);
            break;
        }
        case LIG_KIND_FLOAT: {
            double number;
            check(lig_value_float(value, &number, &error));
            printf("%g", number);
            break;
        }
        case LIG_KIND_COMPLEX: {
            double real, imaginary;
            check(lig_value_complex(value, &real, &imaginary, &error));
            printf("%g%+gi", real, imaginary);
            break;
        }
        case LIG_KIND_STRING: {
            lig_string text;
            check(lig_value_string(value, &text, &error));
            print_string(text);
            break;
        }
        case LIG_KIND_BYTES: {
            const void *data;
            size_t size;
            check(lig_value_bytes(value, &data, &size, &error));
            printf("%zu bytes", size);
            break;
        }
        case LIG_KIND_LIST: print_members(value, false); break;
        case LIG_KIND_MAP: print_members(value, true); break;
        case LIG_KIND_ARRAY: print_array(value); break;
        case LIG_KIND_SETTINGS: {
            lig_value *map;
            check(lig_value_settings(value, &map, &error));
            printf("settings ");
            print_members(map, true);
            lig_value_free(map);
            break;
        }
        default: printf("a value of the kind %s", lig_kind_name(lig_value_kind(value)));
    }
}

// Returns the number of slots of a port, and 1 for a port that is not a vector port.
static size_t slots(const char *port, bool *vector) {
    size_t length = 1;
    check(lig_is_vector_port(instance, port, vector, &error));
    if (*vector) check(lig_get_port_length(instance, port, &length, &error));
    return length;
}

// Receives one message from each slot of each connected port. Returns false if no more messages come on one of
// them.
static bool receive_all(ports from) {
    for (size_t i = 0; i < from.count; i++) {
        const char *port = lig_names_at(from.names, i);
        bool connected, vector, resizable;
        check(lig_is_connected(instance, port, &connected, &error));
        if (!connected) continue;
        check(lig_is_resizable(instance, port, &resizable, &error));
        size_t count = slots(port, &vector);
        // The message for the first slot of a resizable port tells the number of slots.
        if (resizable && count == 0) count = 1;
        for (size_t slot = 0; slot < count; slot++) {
            const lig_receive_options options = {
                .size = sizeof options, .has_slot = vector, .slot = (uint32_t)slot};
            lig_message *message;
            lig_times times;
            const lig_status status = lig_receive(instance, port, &options, &message, &error);
            if (status == LIG_ERR_CLOSED) return false;
            check(status);
            if (resizable && slot == 0) count = slots(port, &vector);
            check(lig_message_times(message, &times, &error));
            printf("%s", port);
            if (vector) printf("[%zu]", slot);
            printf(" at %g: ", times.timestamp);
            print_value(lig_message_value(message));
            printf("\n");
            lig_message_free(last);
            last = message;
        }
    }
    return true;
}

// Sends the last value on each slot of each port.
static void send_all(ports to, lig_send_options options) {
    for (size_t i = 0; i < to.count; i++) {
        const char *port = lig_names_at(to.names, i);
        bool resizable;
        check(lig_is_resizable(instance, port, &resizable, &error));
        if (resizable) check(lig_set_port_length(instance, port, 1, &error));
        const size_t count = slots(port, &options.has_slot);
        for (size_t slot = 0; slot < count; slot++) {
            options.slot = (uint32_t)slot;
            check(lig_send(instance, port, &options, lig_message_value(last), &error));
        }
    }
}

static bool any_connected(ports of) {
    for (size_t i = 0; i < of.count; i++) {
        bool connected;
        check(lig_is_connected(instance, lig_names_at(of.names, i), &connected, &error));
        if (connected) return true;
    }
    return false;
}

// Makes one pass of the execution loop.
static void simulate(ports f_init, ports o_i, ports s, ports o_f) {
    // Without `steps`, a component that receives goes on as long as others send, and one that only sends does
    // so once.
    int64_t steps = any_connected(s) ? INT64_MAX : 1;
    lig_setting_type type;
    if (lig_get_setting_type(instance, "steps", &type, NULL) == LIG_OK)
        check(lig_get_setting_int(instance, "steps", &steps, &error));

    receive_all(f_init);
    for (int64_t step = 0; step < steps; step++) {
        const lig_send_options at = {.size = sizeof at,
                                     .timestamp = (double)step,
                                     .next_timestamp = (double)(step + 1),
                                     .has_next_timestamp = step + 1 < steps};
        send_all(o_i, at);
        if (!receive_all(s)) break;
    }

    // The state belongs to the time that was announced for the next message, or to that of the last message.
    lig_send_options at = {.size = sizeof at};
    if (last != NULL) {
        lig_times times;
        check(lig_message_times(last, &times, &error));
        at.timestamp = times.has_next_timestamp ? times.next_timestamp : times.timestamp;
    }
    send_all(o_f, at);
}

int main(void) {
    check(lig_instance_create(NULL, &instance, &error));
    printf("this is %s in the run %s\n", lig_instance_name(instance), lig_run_name(instance));
    const ports f_init = list_ports(LIG_F_INIT), o_i = list_ports(LIG_O_I);
    const ports s = list_ports(LIG_S), o_f = list_ports(LIG_O_F);
    bool again;
    for (check(lig_reuse_instance(instance, &again, &error)); again;
         check(lig_reuse_instance(instance, &again, &error)))
        simulate(f_init, o_i, s, o_f);

    lig_names_free(f_init.names);
    lig_names_free(o_i.names);
    lig_names_free(s.names);
    lig_names_free(o_f.names);
    lig_message_free(last);
    lig_instance_free(instance);
}
