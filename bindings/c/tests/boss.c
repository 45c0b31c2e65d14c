// Gives tasks to three workers (worker.c, worker.cpp), and meanwhile makes all kinds of calls on ports.
#include "check.h"

static lig_instance *instance;

static lig_receive_options slot(uint32_t number) {
    return (lig_receive_options){.size = sizeof(lig_receive_options), .has_slot = true, .slot = number};
}

static lig_send_options to(uint32_t number, double timestamp) {
    return (lig_send_options){
        .size = sizeof(lig_send_options), .timestamp = timestamp, .has_slot = true, .slot = number};
}

static void check_ports(void) {
    lig_names *names;
    bool truth;
    size_t length;
    FINE(lig_list_ports(instance, LIG_O_I, &names, &error));
    HOLDS(lig_names_count(names) == 2);
    HOLDS(strcmp(lig_names_at(names, 0), "tasks") == 0 && strcmp(lig_names_at(names, 1), "spare") == 0);
    HOLDS(lig_names_at(names, 2) == NULL);
    lig_names_free(names);
    FINE(lig_list_ports(instance, LIG_F_INIT, &names, &error));
    HOLDS(lig_names_count(names) == 0);
    lig_names_free(names);
    FINE(lig_is_connected(instance, "tasks", &truth, &error));
    HOLDS(truth);
    FINE(lig_is_connected(instance, "spare", &truth, &error));
    HOLDS(!truth);
    FINE(lig_is_vector_port(instance, "results", &truth, &error));
    HOLDS(truth);
    FINE(lig_get_port_length(instance, "results", &length, &error));
    HOLDS(length == 3);
    ENDS_WITH(lig_get_port_length(instance, "spare", &length, &error), LIG_ERR_USAGE, "not a vector port");
    HOLDS(strcmp(lig_instance_name(instance), "boss") == 0);
    HOLDS(lig_instance_index(instance, NULL) == 0);
    HOLDS(strlen(lig_run_name(instance)) > 0);
}

static void check_mistakes(void) {
    lig_message *message;
    const lig_send_options none = to(3, 0), first = to(0, 0);
    const lig_receive_options beyond = slot(3);
    ENDS_WITH(lig_send(instance, "taks", NULL, NULL, &error), LIG_ERR_USAGE, "no port \"taks\"");
    ENDS_WITH(lig_send(instance, "results", &first, NULL, &error), LIG_ERR_USAGE, "receives");
    ENDS_WITH(lig_send(instance, "tasks", NULL, NULL, &error), LIG_ERR_USAGE, "which slot");
    ENDS_WITH(lig_send(instance, "tasks", &none, NULL, &error), LIG_ERR_USAGE, "no slot 3");
    ENDS_WITH(lig_send(instance, "spare", &first, NULL, &error), LIG_ERR_USAGE, "not a vector port");
    ENDS_WITH(lig_send_string(instance, "spare", NULL, "\xff", &error), LIG_ERR_USAGE, "not UTF-8");
    ENDS_WITH(lig_receive(instance, "tasks", NULL, &message, &error), LIG_ERR_USAGE, "sends");
    ENDS_WITH(lig_receive(instance, "results", &beyond, &message, &error), LIG_ERR_USAGE, "no slot 3");
    // In some other languages, true is not 1.
    lig_receive_options truly = slot(3);
    memset(&truly.has_slot, 0xff, 1);
    ENDS_WITH(lig_receive(instance, "results", &truly, &message, &error), LIG_ERR_USAGE, "no slot 3");
    ENDS_WITH(lig_receive(instance, "nowhere", NULL, &message, &error), LIG_ERR_USAGE, "nothing is connected");
    // This call is for a code that has a value of its own if the port is not connected.
    message = (lig_message *)&error;
    FINE(lig_receive_if_connected(instance, "nowhere", NULL, &message, &error));
    HOLDS(message == NULL);
    ENDS_WITH(lig_receive_if_connected(instance, "spare", NULL, &message, &error), LIG_ERR_USAGE, "sends");
    ENDS_WITH(lig_receive_if_connected(instance, "no where", NULL, &message, &error), LIG_ERR_USAGE, "no port");
    ENDS_WITH(lig_receive_if_connected(instance, "results", &beyond, &message, &error), LIG_ERR_USAGE,
              "no slot 3");
    // A send on a port that is not connected does nothing.
    FINE(lig_send_int(instance, "spare", NULL, 1, &error));
}

static void check_settings(void) {
    bool truth;
    int64_t integer;
    double number;
    const char *text, *same;
    const int64_t *integers;
    const double *numbers;
    const lig_float_row *rows;
    size_t count;
    lig_setting_type type;
    FINE(lig_get_setting_bool(instance, "flag", &truth, &error));
    HOLDS(truth);
    FINE(lig_get_setting_int(instance, "count", &integer, &error));
    HOLDS(integer == 3);
    FINE(lig_get_setting_float(instance, "count", &number, &error));
    HOLDS(number == 3.0);
    FINE(lig_get_setting_float(instance, "ratio", &number, &error));
    HOLDS(number == 0.25);
    FINE(lig_get_setting_string(instance, "title", &text, &error));
    HOLDS(strcmp(text, "a title") == 0);
    FINE(lig_get_setting_string(instance, "title", &same, &error));
    HOLDS(same == text);
    FINE(lig_get_setting_int_list(instance, "integers", &integers, &count, &error));
    HOLDS(count == 2 && integers[0] == 1 && integers[1] == -2);
    FINE(lig_get_setting_float_list(instance, "numbers", &numbers, &count, &error));
    HOLDS(count == 2 && numbers[0] == 0.5 && numbers[1] == 1.5);
    FINE(lig_get_setting_float_list(instance, "integers", &numbers, &count, &error));
    HOLDS(count == 2 && numbers[1] == -2.0 && integers[1] == -2);
    FINE(lig_get_setting_float_grid(instance, "grid", &rows, &count, &error));
    HOLDS(count == 2 && rows[0].count == 2 && rows[1].values[1] == 4.0);
    FINE(lig_get_setting_type(instance, "grid", &type, &error));
    HOLDS(type == LIG_SETTING_FLOAT_GRID);
    ENDS_WITH(lig_get_setting_int(instance, "title", &integer, &error), LIG_ERR_SETTING_TYPE, "title");
    ENDS_WITH(lig_get_setting_int(instance, "absent", &integer, &error), LIG_ERR_SETTING_UNSET, "absent");
    lig_names *names;
    FINE(lig_list_settings(instance, &names, &error));
    HOLDS(lig_names_count(names) == 7);
    lig_names_free(names);
}

// An array of 40 by 50 numbers has these expected properties, and does not have the others.
static void check_expected(const lig_message *message, uint32_t from) {
    lig_expected expected = {.size = sizeof expected};
    lig_array_view view;
    lig_string origin;
    char words[64];
    snprintf(words, sizeof words, "port \"results[%u]\" from worker[%u].out", from, from);
    lig_message_origin(message, &origin);
    HOLDS(origin.size == strlen(words) && memcmp(origin.data, words, origin.size) == 0);
    FINE(lig_expect_array(message, NULL, NULL, &view, &error));
    FINE(lig_expect_array(message, NULL, &expected, &view, &error));
    expected.dtype = LIG_FLOAT64;
    FINE(lig_expect_array(message, NULL, &expected, &view, &error));
    expected.ndim = 2, expected.has_ndim = true;
    FINE(lig_expect_array(message, lig_message_value(message), &expected, &view, &error));
    HOLDS(view.shape[0] == 40 && view.shape[1] == 50 && view.dtype == LIG_FLOAT64);
    expected.has_shape = true, expected.shape[0] = -1, expected.shape[1] = 50;
    FINE(lig_expect_array(message, NULL, &expected, &view, &error));
    expected.shape[0] = 50;
    ENDS_WITH(lig_expect_array(message, NULL, &expected, &view, &error), LIG_ERR_UNEXPECTED, words);
    HOLDS(strstr(error.message, "float64 with shape [40, 50]") &&
          strstr(error.message, "float64 with shape [50, 50]"));
    expected = (lig_expected){.size = sizeof expected, .has_ndim = true};
    ENDS_WITH(lig_expect_array(message, NULL, &expected, &view, &error), LIG_ERR_UNEXPECTED,
              "with 0 dimensions");
    expected = (lig_expected){.size = sizeof expected, .dtype = LIG_INT32};
    ENDS_WITH(lig_expect_array(message, NULL, &expected, &view, &error), LIG_ERR_UNEXPECTED,
              "an array of int32 was expected");
    expected.dtype = (lig_dtype)99;
    ENDS_WITH(lig_expect_array(message, NULL, &expected, &view, &error), LIG_ERR_USAGE, "no element type 99");
    expected = (lig_expected){.size = sizeof expected, .ndim = 9, .has_shape = true};
    ENDS_WITH(lig_expect_array(message, NULL, &expected, &view, &error), LIG_ERR_USAGE, "at most 8");
    ENDS_WITH(lig_expect_array(NULL, NULL, NULL, &view, &error), LIG_ERR_USAGE, "message is NULL");
    expected.size = 3;
    ENDS_WITH(lig_expect_array(message, NULL, &expected, &view, &error), LIG_ERR_USAGE, "sizeof(lig_expected)");
}

int main(void) {
    const lig_port ports[] = {
        {LIG_O_I, "tasks[]"}, {LIG_O_I, "spare"}, {LIG_S, "results[]"}, {LIG_S, "nowhere"}};
    const lig_instance_options options = {
        .size = sizeof options, .ports = ports, .port_count = 4, .ranks = 2, .threads = 3};
    bool truth;
    FINE(lig_instance_create(&options, &instance, &error));
    FINE(lig_reuse_instance(instance, &truth, &error));
    HOLDS(truth);
    check_ports();
    check_mistakes();
    check_settings();
    FINE(lig_log(instance, LIG_LOG_WARNING, "the boss begins", &error));

    // The workers have no task yet, so no message comes.
    lig_message *message;
    lig_receive_options soon = slot(0);
    soon.has_timeout = true;
    soon.timeout = 0.02;
    ENDS_WITH(lig_receive(instance, "results", &soon, &message, &error), LIG_ERR_TIMED_OUT, "results[0]");
    FINE(lig_poll(instance, "results", &soon, &truth, &error));
    HOLDS(!truth);
    const lig_port_slot all[] = {{"results", true, 0}, {"results", true, 1}, {"results", true, 2}};
    size_t which;
    ENDS_WITH(lig_wait_any(instance, all, 3, &soon, &which, &error), LIG_ERR_TIMED_OUT, "");
    ENDS_WITH(lig_receive_any(instance, all, 3, &soon, &which, &message, &error), LIG_ERR_TIMED_OUT, "");
    HOLDS(message == NULL);
    ENDS_WITH(lig_receive_any(instance, all, 0, &soon, &which, &message, &error), LIG_ERR_USAGE, "no ports");
    ENDS_WITH(lig_receive_if_connected(instance, "results", &soon, &message, &error), LIG_ERR_TIMED_OUT,
              "results[0]");
    soon.timeout = -1;
    ENDS_WITH(lig_receive(instance, "results", &soon, &message, &error), LIG_ERR_USAGE, "-1");

    // Each worker gets one task. The answers are loans, and come in any order.
    for (uint32_t i = 0; i < 3; ++i) {
        const lig_send_options options_ = to(i, 1.0);
        FINE(lig_send_int(instance, "tasks", &options_, 10 * (int64_t)i, &error));
    }
    bool answered[3] = {false, false, false};
    for (int i = 0; i < 3; ++i) {
        lig_port_slot left[3];
        size_t count = 0;
        for (int j = 0; j < 3; ++j) {
            if (!answered[j]) left[count++] = all[j];
        }
        uint32_t from;
        if (i == 0) {
            FINE(lig_wait_any(instance, left, count, NULL, &which, &error));
            from = left[which].slot;
            const lig_receive_options ready = slot(from);
            FINE(lig_receive_if_connected(instance, "results", &ready, &message, &error));
        } else {
            FINE(lig_receive_any(instance, left, count, NULL, &which, &message, &error));
            from = left[which].slot;
        }
        answered[from] = true;
        lig_array_view view;
        FINE(lig_message_array(message, &view, &error));
        check_expected(message, from);
        HOLDS(view.dtype == LIG_FLOAT64 && view.ndim == 2 && view.shape[0] == 40 && view.shape[1] == 50);
        HOLDS((uintptr_t)view.data % 64 == 0);
        for (int k = 0; k < 2000; ++k) HOLDS(((const double *)view.data)[k] == 10.0 * from + k);
        lig_message_free(message);
    }
    HOLDS(answered[0] && answered[1] && answered[2]);

    // Sends every second column of a table. The workers receive it into arrays of their own and send back the
    // sum.
    int32_t table[4][4];
    for (int i = 0; i < 16; ++i) table[i / 4][i % 4] = i;
    const int64_t strides[] = {16, 8};
    const lig_array columns = {
        .dtype = LIG_INT32, .ndim = 2, .shape = {4, 2}, .strides = strides, .data = table};
    for (uint32_t i = 0; i < 3; ++i) {
        const lig_send_options options_ = to(i, 2.0);
        FINE(lig_send_array(instance, "tasks", &options_, &columns, &error));
    }
    for (uint32_t i = 0; i < 3; ++i) {
        const lig_receive_options from = slot(i);
        int64_t sum;
        FINE(lig_receive(instance, "results", &from, &message, &error));
        FINE(lig_value_int(lig_message_value(message), &sum, &error));
        HOLDS(sum == 0 + 2 + 4 + 6 + 8 + 10 + 12 + 14);
        lig_array_view view;
        ENDS_WITH(lig_message_array(message, &view, &error), LIG_ERR_UNEXPECTED, "an integer");
        char words[64];
        snprintf(words, sizeof words, "port \"results[%u]\" from worker[%u].out", i, i);
        HOLDS(strstr(error.message, words) != NULL);
        lig_message_free(message);
    }

    // Sends arrays of another shape and of another type than the workers expect. Then the conduits end.
    float into[5] = {-1, -1, -1, -1, -1};
    const lig_array four = {.dtype = LIG_FLOAT32, .ndim = 1, .shape = {4}, .data = into};
    const lig_array doubles = {.dtype = LIG_FLOAT64, .ndim = 1, .shape = {2}, .data = into};
    const lig_array five = {.dtype = LIG_FLOAT32, .ndim = 1, .shape = {5}, .data = into};
    const lig_receive_options slots[] = {slot(0), slot(1), slot(2)};
    ENDS_WITH(lig_receive_into(instance, "results", &slots[0], &four, NULL, &error), LIG_ERR_UNEXPECTED, "[5]");
    HOLDS(strstr(error.message, "port \"results[0]\" from worker[0].out") &&
          strstr(error.message, "shape [4]"));
    ENDS_WITH(lig_receive_into(instance, "results", &slots[1], &doubles, NULL, &error), LIG_ERR_UNEXPECTED,
              "float64");
    HOLDS(into[0] == -1 && into[4] == -1);
    lig_times times;
    FINE(lig_receive_into(instance, "results", &slots[2], &five, &times, &error));
    HOLDS(into[0] == 0 && into[4] == 4 && times.timestamp == 3.0 && !times.has_next_timestamp);
    ENDS_WITH(lig_receive(instance, "results", &slots[1], &message, &error), LIG_ERR_CLOSED, "results[1]");
    HOLDS(message == NULL);
    ENDS_WITH(lig_receive_if_connected(instance, "results", &slots[1], &message, &error), LIG_ERR_CLOSED,
              "results[1]");
    // The call fails only when all of the conduits have ended.
    ENDS_WITH(lig_receive_any(instance, all, 3, NULL, &which, &message, &error), LIG_ERR_CLOSED, "have ended");
    FINE(lig_poll(instance, "results", &slots[1], &truth, &error));
    HOLDS(truth);

    FINE(lig_reuse_instance(instance, &truth, &error));
    HOLDS(!truth);
    ENDS_WITH(lig_send_int(instance, "spare", NULL, 1, &error), LIG_ERR_USAGE, "is over");
    FINE(lig_finish(instance, &error));
    lig_instance_free(instance);
}
