// Values that are too deep, too wide or too large, and times that are not numbers. Each call gives a status and
// a text, or ends in reasonable time.
#include "check.h"

#include <math.h>

static lig_instance *instance;

// Returns lists inside each other, or NULL after the expected error.
static lig_value *nested(size_t depth) {
    lig_value *value = lig_value_new_int(7);
    for (size_t i = 0; i < depth; ++i) {
        lig_value *outer = i % 2 ? lig_value_new_map() : lig_value_new_list();
        const lig_status status =
            i % 2 ? lig_value_set(outer, "in", value, &error) : lig_value_append(outer, value, &error);
        if (status != LIG_OK) {
            HOLDS(status == LIG_ERR_USAGE && strstr(error.message, "inside more than 64 lists and maps"));
            lig_value_free(outer);
            return NULL;
        }
        value = outer;
    }
    return value;
}

static void deep(void) {
    HOLDS(!nested(200000) && !nested(65));
    lig_value *value = nested(64), *copy, *more = lig_value_new_list();
    HOLDS(value);
    FINE(lig_value_copy(value, &copy, &error));
    ENDS_WITH(lig_value_append(more, copy, &error), LIG_ERR_USAGE, "inside more than 64");
    lig_value_free(more);
    // An item that was replaced by a flatter one no longer counts for the depth.
    lig_value *map = lig_value_new_map();
    FINE(lig_value_set(map, "a", nested(63), &error));
    FINE(lig_value_set(map, "a", lig_value_new_int(1), &error));
    more = lig_value_new_list();
    FINE(lig_value_append(more, map, &error));
    FINE(lig_send(instance, "out", NULL, more, &error));
    lig_value_free(more);
    FINE(lig_send(instance, "out", NULL, value, &error));
    lig_value_free(value);
    lig_message *message;
    const lig_value *inner;
    FINE(lig_receive(instance, "in", NULL, &message, &error));
    lig_message_free(message);
    FINE(lig_receive(instance, "in", NULL, &message, &error));
    inner = lig_message_value(message);
    for (size_t i = 0; i < 64; ++i) FINE(lig_value_at(inner, 0, &inner, &error));
    HOLDS(lig_value_kind(inner) == LIG_KIND_INT);
    FINE(lig_value_copy(lig_message_value(message), &copy, &error));
    lig_message_free(message);
    lig_value_free(copy);
}

// A linear search for each key would take the square of this number of comparisons.
enum { KEYS = 300000 };

static void wide(void) {
    lig_value *map = lig_value_new_map(), *copy;
    char key[40];
    for (int again = 0; again < 2; ++again) {
        for (int i = 0; i < KEYS; ++i) {
            snprintf(key, sizeof key, "a key of some length %d", i);
            FINE(lig_value_set(map, key, lig_value_new_int(i + again), &error));
        }
    }
    FINE(lig_value_copy(map, &copy, &error));
    FINE(lig_value_set(copy, "another", lig_value_new_none(), &error));
    FINE(lig_value_set(copy, "a key of some length 5", lig_value_new_int(-1), &error));
    const lig_value *found;
    size_t count;
    lig_string text;
    int64_t number;
    FINE(lig_value_count(map, &count, &error));
    HOLDS(count == KEYS);
    FINE(lig_value_count(copy, &count, &error));
    HOLDS(count == KEYS + 1);
    for (size_t i = 0; i < KEYS; i += 999) {
        snprintf(key, sizeof key, "a key of some length %zu", i);
        FINE(lig_value_key(map, i, &text, &error));
        HOLDS(text.size == strlen(key) && memcmp(text.data, key, text.size) == 0);
        FINE(lig_value_at(map, i, &found, &error));
        FINE(lig_value_int(found, &number, &error));
        HOLDS(number == (int64_t)i + 1);
    }
    FINE(lig_value_find(copy, "a key of some length 5", &found, &error));
    FINE(lig_value_int(found, &number, &error));
    HOLDS(number == -1);
    lig_value_free(map);
    lig_value_free(copy);
}

static void absurd(void) {
    char one = 0;
    const size_t sizes[] = {SIZE_MAX, SIZE_MAX / 2, (size_t)1 << 62, (size_t)1 << 52};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
        HOLDS(!lig_value_new_bytes(&one, sizes[i]) && !lig_value_new_string(&one, sizes[i]));
        HOLDS(lig_send_bytes(instance, "out", NULL, &one, sizes[i], &error) != LIG_OK && error.message[0]);
        for (uint32_t ndim = 1; ndim <= 2; ++ndim) {
            // In two dimensions, no extent is too large by itself.
            const lig_array array = {.dtype = LIG_INT8, .ndim = ndim, .data = &one,
                                     .shape = {ndim == 1 ? sizes[i] : (uint64_t)1 << 30, sizes[i] >> 30}};
            lig_value *value;
            HOLDS(lig_value_new_array(&array, &value, &error) != LIG_OK && !value && error.message[0]);
            error.message[0] = 0;
            HOLDS(lig_send_array(instance, "out", NULL, &array, &error) != LIG_OK && error.message[0]);
            lig_loan *loan;
            error.message[0] = 0;
            HOLDS(lig_loan_create(instance, LIG_INT8, ndim, array.shape, &loan, NULL, &error) != LIG_OK &&
                  !loan);
            HOLDS(error.message[0]);
        }
    }
    lig_value *list = lig_value_new_list();
    ENDS_WITH(lig_value_append(list, lig_value_new_bytes(&one, SIZE_MAX), &error), LIG_ERR_USAGE, "too large");
    lig_value_free(list);
    const lig_port_slot port = {.port = "in"};
    size_t which;
    ENDS_WITH(lig_wait_any(instance, &port, SIZE_MAX, NULL, &which, &error), LIG_ERR_USAGE,
              "too many to wait for");
    ENDS_WITH(lig_set_port_length(instance, "out", SIZE_MAX, &error), LIG_ERR_USAGE, "not a vector port");
}

// Sends in every way. Each send must be refused with these words.
static void no_times(double timestamp, double next, bool has_next, const char *words) {
    const lig_send_options at = {.size = sizeof at, .timestamp = timestamp, .next_timestamp = next,
                                 .has_next_timestamp = has_next};
    double numbers[40] = {0};
    const uint64_t shape[] = {40};
    const lig_array array = {.dtype = LIG_FLOAT64, .ndim = 1, .shape = {40}, .data = numbers};
    lig_loan *loan;
    ENDS_WITH(lig_send(instance, "out", &at, NULL, &error), LIG_ERR_USAGE, words);
    ENDS_WITH(lig_send_int(instance, "out", &at, 1, &error), LIG_ERR_USAGE, words);
    ENDS_WITH(lig_send_array(instance, "out", &at, &array, &error), LIG_ERR_USAGE, words);
    FINE(lig_loan_create(instance, LIG_FLOAT64, 1, shape, &loan, NULL, &error));
    ENDS_WITH(lig_send_loan(instance, "out", &at, loan, &error), LIG_ERR_USAGE, words);
    HOLDS(strstr(error.message, "port \"out\""));
}

// An array like the one before takes another way than the first one, and so does a message without a value.
static void sent_and_echoed(double timestamp, bool array) {
    const lig_send_options at = {.size = sizeof at, .timestamp = timestamp, .next_timestamp = timestamp,
                                 .has_next_timestamp = true};
    double numbers[40] = {0};
    const lig_array all = {.dtype = LIG_FLOAT64, .ndim = 1, .shape = {40}, .data = numbers};
    lig_message *message;
    if (array) FINE(lig_send_array(instance, "out", &at, &all, &error));
    else FINE(lig_send(instance, "out", &at, NULL, &error));
    FINE(lig_receive(instance, "in", NULL, &message, &error));
    lig_message_free(message);
}

static void times(void) {
    for (int i = 0; i < 3; ++i) {
        no_times(NAN, 0, false, "the timestamp is NaN, which is no time");
        no_times(INFINITY, 0, false, "the timestamp is inf, which is no time");
        no_times(-INFINITY, 0, true, "the timestamp is -inf, which is no time");
        no_times(1, NAN, true, "the next timestamp is NaN, which is no time");
        no_times(1, INFINITY, true, "the next timestamp is inf, which is no time");
        no_times(2, 1.5, true, "the next timestamp 1.5 is earlier than the timestamp 2");
        sent_and_echoed(i + 10, true);
        sent_and_echoed(i + 10.5, false);
    }
    // This is allowed, and reported once.
    sent_and_echoed(-3, true);
    sent_and_echoed(-4, false);
}

int main(void) {
    FINE(lig_instance_create(NULL, &instance, &error));
    bool again;
    FINE(lig_reuse_instance(instance, &again, &error));
    times();
    deep();
    wide();
    absurd();
    FINE(lig_reuse_instance(instance, &again, &error));
    HOLDS(!again);
    lig_instance_free(instance);
}
