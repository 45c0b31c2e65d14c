// A program of the time of C ABI 0.4: compiled against the header beside it, it must run with
// every library that says `libligament.so.0`. It is never changed. One argument: "macro" or "micro".

#include <ligament.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FINE(call) ended(call, LIG_OK, __LINE__)
#define ENDS(call, status) ended(call, status, __LINE__)
#define HOLDS(truth) holds(truth, __LINE__)

static lig_error error;

static void ended(lig_status found, lig_status wanted, int line) {
    if (found == wanted) return;
    printf("the call in line %d gave %s, not %s: %s\n", line, lig_status_name(found), lig_status_name(wanted),
        error.message);
    exit(1);
}

static void holds(bool truth, int line) {
    if (truth) return;
    printf("what line %d says does not hold\n", line);
    exit(1);
}

static bool give_up(void *user) {
    ++*(int *)user;
    return false;
}

// A path without a model, both ends here.
static void paths(void) {
    const double soon = 60.0;
    char at[32], place[8];
    lig_path *one, *other, *met;
    uint16_t port;
    uint64_t sends, receives, never;
    size_t length;
    bool done;
    lig_path_statistics seen;
    FINE(lig_path_key_make("abi.key", &error));
    FINE(lig_path_listen("abi.key", "127.0.0.1:0", NULL, &one, &error));
    FINE(lig_path_port(one, &port, &error));
    snprintf(at, sizeof at, "127.0.0.1:%u", port);
    const lig_path_options options = {.size = sizeof options, .streams = 1, .window = 4096, .longest = 4096,
        .patience = 30,
                                      .pace = 1 << 30};
    FINE(lig_path_open("abi.key", at, &options, &other, &error));
    FINE(lig_path_wait_connected(other, soon, &error));
    // Two ends cannot meet at a port that each of them chooses.
    ENDS(lig_path_meet("abi.key", "127.0.0.1:0", NULL, &met, &error), LIG_ERR_USAGE);
    FINE(lig_path_set_pace(one, 0, &error));
    FINE(lig_path_send(one, "first", 5, soon, &error));
    FINE(lig_path_probe(other, &length, soon, &error));
    HOLDS(length == 5);
    FINE(lig_path_receive(other, place, sizeof place, &length, soon, &error));
    HOLDS(length == 5 && memcmp(place, "first", 5) == 0);
    FINE(lig_path_ireceive(other, &receives, &error));
    FINE(lig_path_isend(one, "second", 6, &sends, &error));
    FINE(lig_path_wait(other, receives, place, sizeof place, &length, soon, &error));
    HOLDS(length == 6 && memcmp(place, "second", 6) == 0);
    FINE(lig_path_wait(one, sends, NULL, 0, NULL, soon, &error));
    FINE(lig_path_ireceive(other, &never, &error));
    FINE(lig_path_test(other, never, &done, &error));
    HOLDS(!done);
    FINE(lig_path_cancel(other, never, &error));
    FINE(lig_path_send(other, "back", 4, soon, &error));
    FINE(lig_path_send_receive(one, "there", 5, place, sizeof place, &length, soon, &error));
    HOLDS(length == 4);
    ENDS(lig_path_barrier(one, 0.01, &error), LIG_ERR_TIMED_OUT);
    FINE(lig_path_barrier(other, soon, &error));
    FINE(lig_path_get_statistics(one, &seen, &error));
    HOLDS(seen.connected && seen.sent == 3 && seen.received == 1 && seen.sent_bytes == 16
        && seen.received_bytes == 4);
    FINE(lig_path_close(one, soon, &error));
    lig_path_free(other);
}

// Every setting of the model, one of each type.
static void settings(lig_instance *instance) {
    bool flag;
    int64_t count;
    double ratio;
    const char *title;
    const int64_t *integers;
    const double *numbers;
    const lig_float_row *rows;
    size_t size;
    lig_setting_type type;
    FINE(lig_get_setting_bool(instance, "flag", &flag, &error));
    FINE(lig_get_setting_int(instance, "count", &count, &error));
    FINE(lig_get_setting_float(instance, "ratio", &ratio, &error));
    FINE(lig_get_setting_string(instance, "title", &title, &error));
    HOLDS(flag && count == 3 && ratio == 0.25 && strcmp(title, "a title") == 0);
    FINE(lig_get_setting_int_list(instance, "integers", &integers, &size, &error));
    HOLDS(size == 2 && integers[0] == 1 && integers[1] == -2);
    FINE(lig_get_setting_float_list(instance, "numbers", &numbers, &size, &error));
    HOLDS(size == 2 && numbers[0] == 0.5 && numbers[1] == 1.5);
    FINE(lig_get_setting_float_grid(instance, "grid", &rows, &size, &error));
    HOLDS(size == 2 && rows[1].count == 2 && rows[1].values[1] == 4.0);
    FINE(lig_get_setting_type(instance, "grid", &type, &error));
    HOLDS(type == LIG_SETTING_FLOAT_GRID);
    ENDS(lig_get_setting_int(instance, "absent", &count, &error), LIG_ERR_SETTING_UNSET);
    ENDS(lig_get_setting_int(instance, "title", &count, &error), LIG_ERR_SETTING_TYPE);

    lig_names *names;
    FINE(lig_list_settings(instance, &names, &error));
    HOLDS(lig_names_count(names) == 7 && lig_names_at(names, 7) == NULL);
    lig_names_free(names);
}

// A map with one value of each kind.
static lig_value *everything(void) {
    lig_value *map = lig_value_new_map(), *list = lig_value_new_list(), *array, *settings;
    const double elements[6] = {0, 1, 2, 3, 4, 5};
    const char *names[] = {"x", "y"};
    const lig_array described = {.dtype = LIG_FLOAT64, .ndim = 2, .order = LIG_COLUMN_MAJOR, .shape = {3, 2},
                                 .data = (void *)elements, .names = names, .unit = "m"};
    FINE(lig_value_append(list, lig_value_new_none(), &error));
    FINE(lig_value_append(list, lig_value_new_bool(true), &error));
    FINE(lig_value_append(list, lig_value_new_int(-5), &error));
    FINE(lig_value_append(list, lig_value_new_uint(UINT64_MAX), &error));
    FINE(lig_value_append(list, lig_value_new_float(0.5), &error));
    FINE(lig_value_append(list, lig_value_new_complex(1, -1), &error));
    FINE(lig_value_append(list, lig_value_new_string("text", 4), &error));
    FINE(lig_value_append(list, lig_value_new_bytes("\0\1", 2), &error));
    FINE(lig_value_new_array(&described, &array, &error));
    FINE(lig_value_append(list, array, &error));
    FINE(lig_value_set(map, "list", list, &error));
    lig_value *pairs = lig_value_new_map();
    FINE(lig_value_set(pairs, "ratio", lig_value_new_float(0.75), &error));
    FINE(lig_value_new_settings(pairs, &settings, &error));
    lig_value_free(pairs);
    FINE(lig_value_set(map, "settings", settings, &error));
    return map;
}

static const lig_value *item(const lig_value *list, size_t index, lig_kind kind) {
    const lig_value *found;
    FINE(lig_value_at(list, index, &found, &error));
    HOLDS(lig_value_kind(found) == kind);
    return found;
}

static void check_everything(const lig_value *map) {
    const lig_value *list, *settings;
    lig_string text;
    size_t count;
    bool truth;
    int64_t integer;
    uint64_t large;
    double number, imaginary;
    const void *bytes;
    lig_array_view view;
    FINE(lig_value_find(map, "list", &list, &error));
    FINE(lig_value_count(list, &count, &error));
    FINE(lig_value_key(map, 1, &text, &error));
    HOLDS(count == 9 && text.size == 8 && memcmp(text.data, "settings", 8) == 0);
    item(list, 0, LIG_KIND_NONE);
    FINE(lig_value_bool(item(list, 1, LIG_KIND_BOOL), &truth, &error));
    FINE(lig_value_int(item(list, 2, LIG_KIND_INT), &integer, &error));
    FINE(lig_value_uint(item(list, 3, LIG_KIND_UINT), &large, &error));
    HOLDS(truth && integer == -5 && large == UINT64_MAX);
    FINE(lig_value_float(item(list, 4, LIG_KIND_FLOAT), &number, &error));
    HOLDS(number == 0.5);
    FINE(lig_value_complex(item(list, 5, LIG_KIND_COMPLEX), &number, &imaginary, &error));
    HOLDS(number == 1 && imaginary == -1);
    FINE(lig_value_string(item(list, 6, LIG_KIND_STRING), &text, &error));
    HOLDS(text.size == 4 && memcmp(text.data, "text", 4) == 0);
    FINE(lig_value_bytes(item(list, 7, LIG_KIND_BYTES), &bytes, &count, &error));
    HOLDS(count == 2 && memcmp(bytes, "\0\1", 2) == 0);
    const lig_value *array = item(list, 8, LIG_KIND_ARRAY);
    FINE(lig_value_array(array, &view, &error));
    HOLDS(view.dtype == LIG_FLOAT64 && view.ndim == 2 && view.order == LIG_COLUMN_MAJOR && view.contiguous);
    HOLDS(view.length == 6 && view.shape[0] == 3 && view.shape[1] == 2 && view.strides[0] == 8
        && view.strides[1] == 24);
    HOLDS(((const double *)view.data)[5] == 5);
    FINE(lig_value_array_name(array, 1, &text, &error));
    HOLDS(text.size == 1 && text.data[0] == 'y');
    FINE(lig_value_array_unit(array, &text, &error));
    HOLDS(text.size == 1 && text.data[0] == 'm');

    lig_value *copy, *pairs;
    FINE(lig_value_find(map, "settings", &settings, &error));
    FINE(lig_value_copy(settings, &copy, &error));
    FINE(lig_value_settings(copy, &pairs, &error));
    FINE(lig_value_find(pairs, "ratio", &settings, &error));
    FINE(lig_value_float(settings, &number, &error));
    HOLDS(number == 0.75);
    lig_value_free(pairs);
    lig_value_free(copy);
}

static const double row[] = {1, 2, 3, 4};
static const int64_t backwards[] = {-8};
static const lig_array plain = {.dtype = LIG_FLOAT64, .ndim = 1, .shape = {4}, .data = (void *)row};
static const lig_array strided = {.dtype = LIG_FLOAT64, .ndim = 1, .shape = {4}, .strides = backwards,
                                  .data = (void *)(row + 3)};

// Takes the array with what is expected of it, and with what it is not.
static void check_expected(const lig_message *message) {
    lig_expected expected = {.size = sizeof expected, .dtype = LIG_FLOAT64, .ndim = 1, .has_shape = true,
        .shape = {4}};
    lig_array_view view;
    lig_string origin;
    FINE(lig_expect_array(message, NULL, &expected, &view, &error));
    FINE(lig_expect_array(NULL, lig_message_value(message), NULL, &view, &error));
    expected.shape[0] = -1;
    FINE(lig_expect_array(message, lig_message_value(message), &expected, &view, &error));
    expected = (lig_expected){.size = sizeof expected, .ndim = 2, .has_ndim = true};
    ENDS(lig_expect_array(message, NULL, &expected, &view, &error), LIG_ERR_UNEXPECTED);
    lig_message_origin(message, &origin);
    HOLDS(origin.size > 0);
}

// Sends one message of each way there is, and gets each back.
static void macro(lig_instance *instance) {
    lig_send_options at = {.size = sizeof at, .next_timestamp = 1, .has_next_timestamp = true};
    lig_value *value, *borrowed;
    lig_loan *loan;
    void *data;
    const uint64_t shape[] = {4};

    value = everything();
    FINE(lig_send(instance, "out", &at, value, &error));
    lig_value_free(value);
    FINE(lig_send_bool(instance, "out", &at, true, &error));
    FINE(lig_send_int(instance, "out", &at, 7, &error));
    FINE(lig_send_float(instance, "out", &at, 0.5, &error));
    FINE(lig_send_string(instance, "out", &at, "text", &error));
    FINE(lig_send_bytes(instance, "out", &at, "\0\1", 2, &error));
    FINE(lig_send_array(instance, "out", &at, &strided, &error));
    FINE(lig_loan_create(instance, LIG_FLOAT64, 1, shape, &loan, &data, &error));
    HOLDS(lig_loan_data(loan) == data);
    memcpy(data, row, sizeof row);
    FINE(lig_send_loan(instance, "out", &at, loan, &error));
    FINE(lig_loan_create_like(instance, &plain, &loan, NULL, &error));
    lig_loan_free(instance, loan);
    FINE(lig_value_new_array_borrowed(&plain, &borrowed, &error));
    at = (lig_send_options){.size = sizeof at, .timestamp = 1};
    FINE(lig_send(instance, "out", &at, borrowed, &error));
    lig_value_free(borrowed);

    static const lig_kind kinds[] = {LIG_KIND_MAP, LIG_KIND_BOOL, LIG_KIND_INT, LIG_KIND_FLOAT, LIG_KIND_STRING,
                                     LIG_KIND_BYTES, LIG_KIND_ARRAY, LIG_KIND_ARRAY};
    lig_message *message;
    lig_times times;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        const lig_receive_options soon = {.size = sizeof soon, .timeout = 60, .has_timeout = true};
        const lig_port_slot ports[] = {{.port = "in"}};
        size_t which;
        bool ready;
        FINE(lig_wait_any(instance, ports, 1, &soon, &which, &error));
        FINE(lig_poll(instance, "in", NULL, &ready, &error));
        HOLDS(which == 0 && ready);
        FINE(lig_has_next(instance, "in", &soon, &ready, &error));
        HOLDS(ready);
        switch (i) {
            case 0: FINE(lig_receive_if_connected(instance, "in", &soon, &message, &error)); break;
            case 1: FINE(lig_receive_any(instance, ports, 1, &soon, &which, &message, &error)); break;
            case 2: FINE(lig_receive_with_settings(instance, "in", &soon, &message, &error)); break;
            default: FINE(lig_receive(instance, "in", &soon, &message, &error));
        }
        HOLDS(which == 0);
        FINE(lig_message_times(message, &times, &error));
        HOLDS(times.timestamp == 0 && times.has_next_timestamp && times.next_timestamp == 1);
        HOLDS(lig_value_kind(lig_message_value(message)) == kinds[i]
            && (lig_message_settings(message) != NULL) == (i == 2));
        if (kinds[i] == LIG_KIND_MAP) check_everything(lig_message_value(message));
        if (kinds[i] == LIG_KIND_ARRAY) {
            lig_array_view view;
            FINE(lig_message_array(message, &view, &error));
            HOLDS(((const double *)view.data)[0] == (i == 6 ? 4 : 1));
            check_expected(message);
        }
        lig_message_free(message);
    }
    double came[4];
    const lig_array into = {.dtype = LIG_FLOAT64, .ndim = 1, .shape = {4}, .data = came};
    FINE(lig_receive_into(instance, "in", NULL, &into, &times, &error));
    HOLDS(memcmp(came, row, sizeof row) == 0 && times.timestamp == 1 && !times.has_next_timestamp);
}

// Sends back what comes.
static lig_status echo(lig_instance *instance, void *user, lig_error *why) {
    (void)user;
    for (int i = 0; i < 9; i++) {
        lig_message *message;
        lig_times times;
        lig_status status = lig_receive(instance, "in", NULL, &message, why);
        if (status != LIG_OK) return status;
        FINE(lig_message_times(message, &times, &error));
        const lig_send_options at = {.size = sizeof at, .timestamp = times.timestamp,
                                     .next_timestamp = times.next_timestamp,
                                     .has_next_timestamp = times.has_next_timestamp};
        status = lig_send(instance, "out", &at, lig_message_value(message), why);
        lig_message_free(message);
        if (status != LIG_OK) return status;
    }
    return LIG_OK;
}

static int steps;

static lig_status nothing(lig_instance *instance, void *user, lig_error *why) {
    (void)instance, (void)user, (void)why;
    steps = 0;
    return LIG_OK;
}

static lig_status silent(lig_instance *instance, void *user, lig_error *why) {
    (void)instance, (void)user, (void)why;
    return LIG_OK;
}

static lig_status step(lig_instance *instance, void *user, lig_error *why) {
    steps++;
    return echo(instance, user, why);
}

static bool over(void *user) {
    (void)user;
    return steps == 1;
}

int main(int argc, char **argv) {
    const bool first = argc > 1 && strcmp(argv[1], "macro") == 0;
    const lig_port ports[] = {{LIG_O_I, "out"}, {LIG_S, "in"}, {LIG_O_I, "many[]"}};
    const lig_instance_options options = {.size = sizeof options, .ports = ports, .port_count = 3,
        .language = "c",
                                          .ranks = 1, .threads = 2};
    lig_instance *instance;
    lig_names *names;
    const size_t *index;
    int asked = 0;
    int32_t major, minor;
    bool again, truth;

    lig_abi_version(&major, &minor);
    HOLDS(major == 0 && minor >= 3 && lig_version()[0] != '\0');
    HOLDS(strcmp(lig_dtype_name(LIG_FLOAT64), "float64") == 0 && lig_dtype_size(LIG_FLOAT64) == 8);
    HOLDS(strcmp(lig_kind_name(LIG_KIND_MAP), "map") == 0);
    FINE(lig_instance_create(&options, &instance, &error));
    FINE(lig_set_interrupt_check(instance, give_up, &asked, &error));
    HOLDS(strcmp(lig_instance_name(instance), first ? "macro" : "micro") == 0
        && lig_run_name(instance) != NULL);
    HOLDS(lig_instance_index(instance, &index) == 0);
    HOLDS(lig_instance_rank(instance) == 0 && lig_instance_ranks(instance) == 1);
    FINE(lig_list_ports(instance, LIG_O_I, &names, &error));
    HOLDS(lig_names_count(names) == 2 && strcmp(lig_names_at(names, 0), "out") == 0);
    lig_names_free(names);
    FINE(lig_is_connected(instance, "out", &truth, &error));
    HOLDS(truth);
    FINE(lig_is_vector_port(instance, "many", &truth, &error));
    HOLDS(truth);
    FINE(lig_is_resizable(instance, "out", &truth, &error));
    HOLDS(!truth);
    ENDS(lig_set_port_length(instance, "out", 2, &error), LIG_ERR_USAGE);
    size_t length;
    ENDS(lig_get_port_length(instance, "out", &length, &error), LIG_ERR_USAGE);
    const uint64_t begin[] = {0}, lengths[] = {2};
    const int64_t numbers[] = {1, 0};
    uint64_t whole[LIG_MAX_DIMS];
    ENDS(lig_array_shape(instance, "out", whole, &length, &error), LIG_ERR_USAGE);
    ENDS(lig_map_block(instance, "out", 1, begin, lengths, &error), LIG_ERR_USAGE);
    ENDS(lig_map_range(instance, "out", 0, 2, &error), LIG_ERR_USAGE);
    ENDS(lig_map_list(instance, "out", numbers, 2, &error), LIG_ERR_USAGE);
    {
        double time = 0;
        bool changed;
        size_t count;
        const double *times;
        const int32_t *ids;
        ENDS(lig_time(instance, &time, &error), LIG_ERR_USAGE);
        ENDS(lig_tick(instance, &changed, &error), LIG_ERR_USAGE);
        ENDS(lig_insert_event(instance, "out", time, 1, &error), LIG_ERR_USAGE);
        ENDS(lig_insert_events(instance, "out", 0, NULL, NULL, &error), LIG_ERR_USAGE);
        ENDS(lig_events(instance, "in", &count, &times, &ids, &error), LIG_ERR_USAGE);
    }
    {
        lig_domain *domain;
        const uint32_t fields[] = {0};
        const int32_t direction[] = {1};
        const lig_array array = {.dtype = LIG_FLOAT64, .ndim = 1, .shape = {2}};
        uint32_t field;
        double result;
        ENDS(lig_grid_run(0, NULL, NULL, &error), LIG_ERR_USAGE);
        ENDS(lig_domain_create(instance, &domain, &error), LIG_ERR_USAGE);
        HOLDS(lig_domain_ndim(domain) == 0 && lig_domain_block(domain) == 0);
        HOLDS(lig_domain_shape(domain) == NULL && lig_domain_blocks(domain) == NULL);
        HOLDS(lig_domain_begin_point(domain) == NULL && lig_domain_end_point(domain) == NULL);
        ENDS(lig_domain_add_field(domain, "u", 1, &array, &field, &error), LIG_ERR_USAGE);
        ENDS(lig_domain_set_data(domain, 0, &result, &error), LIG_ERR_USAGE);
        ENDS(lig_domain_set_direction(domain, 0, direction, &error), LIG_ERR_USAGE);
        ENDS(lig_domain_exchange(domain, 0, fields, 1, &error), LIG_ERR_USAGE);
        ENDS(lig_domain_begin(domain, 0, fields, 1, &error), LIG_ERR_USAGE);
        ENDS(lig_domain_end(domain, fields, 1, &error), LIG_ERR_USAGE);
        ENDS(lig_domain_publish(domain, 0, &error), LIG_ERR_USAGE);
        ENDS(lig_domain_sum(domain, NULL, 0, &result, &error), LIG_ERR_USAGE);
        ENDS(lig_domain_min(domain, NULL, 0, &result, &error), LIG_ERR_USAGE);
        ENDS(lig_domain_max(domain, NULL, 0, &result, &error), LIG_ERR_USAGE);
        lig_domain_free(domain);
    }
    settings(instance);
    if (first) paths();
    FINE(lig_declare_steerable(instance, "count", 0, INFINITY, NULL, false, &error));
    FINE(lig_steer(instance, 0, &truth, &error));
    HOLDS(!truth);
    ENDS(lig_steer(instance, NAN, &truth, &error), LIG_ERR_USAGE);
    {
        const lig_times times = {.timestamp = 0};
        lig_message *message;
        const char *directory;
        ENDS(lig_resuming(instance, &truth, &error), LIG_ERR_USAGE);
        ENDS(lig_load_snapshot(instance, &message, &error), LIG_ERR_USAGE);
        ENDS(lig_should_init(instance, &truth, &error), LIG_ERR_USAGE);
        ENDS(lig_should_save_snapshot(instance, 0, &truth, &error), LIG_ERR_USAGE);
        ENDS(lig_save_snapshot(instance, &times, NULL, &error), LIG_ERR_USAGE);
        ENDS(lig_should_save_final_snapshot(instance, &truth, &error), LIG_ERR_USAGE);
        ENDS(lig_save_final_snapshot(instance, &times, NULL, &error), LIG_ERR_USAGE);
        ENDS(lig_snapshot_directory(instance, &directory, &error), LIG_ERR_USAGE);
    }
    FINE(lig_log(instance, LIG_LOG_INFO, "a caller of ABI 0.4", &error));

    if (first) {
        for (FINE(lig_reuse_instance(instance, &again, &error)); again;
             FINE(lig_reuse_instance(instance, &again, &error)))
            macro(instance);
    } else {
        const lig_submodel submodel = {sizeof submodel, nothing, over, silent, step, silent, NULL,
                                       nothing, nothing, NULL};
        FINE(lig_run_submodel(instance, &submodel, &error));
    }
    FINE(lig_finish(instance, &error));
    ENDS(lig_error_shutdown(NULL, "never", &error), LIG_ERR_USAGE);
    lig_instance_free(instance);
    // Who it was is nobody any more.
    const lig_submodel none = {sizeof none, nothing, over, silent, step, silent, NULL, NULL, NULL, NULL};
    const lig_light light = {.size = sizeof light, .submodel = &none};
    ENDS(lig_run_light(&light, &error), LIG_ERR_REGISTRATION);
    puts("all is as it was");
}
