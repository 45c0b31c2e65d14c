// Calls the operations that the other driver in C does not use, and prints their results (README.md).
#include <ligament.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static lig_error error;

static void fine(lig_status status) {
    if (status == LIG_OK) return;
    fprintf(stderr, "%s\n", error.message);
    exit(1);
}

static bool never(void *user) { return user != NULL; }

static lig_receive_options from(uint32_t slot) {
    return (lig_receive_options){.size = sizeof(lig_receive_options), .has_slot = true, .slot = slot};
}

static lig_send_options to(uint32_t slot, double time) {
    return (lig_send_options){
        .size = sizeof(lig_send_options), .timestamp = time, .has_slot = true, .slot = slot};
}

static size_t ports(lig_instance *instance, lig_operator op) {
    lig_names *names;
    fine(lig_list_ports(instance, op, &names, &error));
    const size_t count = lig_names_count(names);
    lig_names_free(names);
    return count;
}

static void about(lig_instance *instance) {
    const size_t *index;
    bool there, not_there;
    size_t length;
    double ratio;
    lig_names *names;
    fine(lig_set_interrupt_check(instance, never, NULL, &error));
    fine(lig_log(instance, LIG_LOG_WARNING, "said by the giver", &error));
    printf("name %s\n", lig_instance_name(instance));
    printf("index %zu\n", lig_instance_index(instance, &index));
    printf("rank %u of %u\n", lig_instance_rank(instance), lig_instance_ranks(instance));
    printf("run %d\n", lig_run_name(instance)[0] != '\0');
    printf("ports %zu %zu\n", ports(instance, LIG_O_I), ports(instance, LIG_S));
    fine(lig_is_connected(instance, "deal", &there, &error));
    fine(lig_is_connected(instance, "nothing", &not_there, &error));
    printf("connected %d %d\n", there, not_there);
    fine(lig_is_vector_port(instance, "deal", &there, &error));
    fine(lig_is_vector_port(instance, "plain", &not_there, &error));
    printf("vector %d %d\n", there, not_there);
    fine(lig_is_resizable(instance, "deal", &there, &error));
    fine(lig_is_resizable(instance, "plain", &not_there, &error));
    printf("resizable %d %d\n", there, not_there);
    fine(lig_set_port_length(instance, "deal", 2, &error));
    fine(lig_get_port_length(instance, "deal", &length, &error));
    printf("length %zu\n", length);
    fine(lig_get_setting_float(instance, "ratio", &ratio, &error));
    fine(lig_list_settings(instance, &names, &error));
    printf("setting %d\nsettings %zu\n", (int)(4 * ratio), lig_names_count(names));
    lig_names_free(names);
    bool before, from;
    fine(lig_declare_steerable(instance, "ratio", 0, 1, "m", false, &error));
    fine(lig_steer(instance, 0, &before, &error));
    fine(lig_steer(instance, 1, &from, &error));
    fine(lig_get_setting_float(instance, "ratio", &ratio, &error));
    printf("steered %d %d %d\n", before, from, (int)(4 * ratio));
}

static void giver(void) {
    const lig_port declared[] = {
        {LIG_O_I, "deal[]"}, {LIG_O_I, "plain"}, {LIG_S, "back[]"}, {LIG_S, "nothing"}};
    const lig_instance_options options = {.size = sizeof options, .ports = declared, .port_count = 4};
    lig_instance *instance;
    bool again, ready;
    fine(lig_instance_create(&options, &instance, &error));
    fine(lig_reuse_instance(instance, &again, &error));
    about(instance);

    const lig_send_options first = to(0, 1), second = to(1, 1);
    const uint64_t shape[] = {2};
    lig_loan *loan;
    void *data;
    fine(lig_send_int(instance, "deal", &first, 5, &error));
    fine(lig_loan_create(instance, LIG_FLOAT64, 1, shape, &loan, &data, &error));
    memcpy(data, (double[]){1, 2}, 2 * sizeof(double));
    fine(lig_send_loan(instance, "deal", &second, loan, &error));

    const lig_port_slot slots[] = {{"back", true, 0}, {"back", true, 1}};
    const lig_receive_options back[] = {from(0), from(1)};
    size_t which;
    lig_message *message, *none;
    lig_times times;
    int64_t number;
    fine(lig_wait_any(instance, slots, 2, NULL, &which, &error));
    fine(lig_poll(instance, "back", &back[0], &ready, &error));
    printf("first %zu %d\n", which, ready);
    fine(lig_has_next(instance, "back", &back[0], &ready, &error));
    printf("more %d\n", ready);
    fine(lig_receive(instance, "back", &back[0], &message, &error));
    fine(lig_message_times(message, &times, &error));
    fine(lig_value_int(lig_message_value(message), &number, &error));
    printf("came %d %d\noverlay %d\n", (int)number, (int)times.timestamp,
           lig_message_settings(message) != NULL);
    lig_message_free(message);

    double two[2];
    const lig_array into = {.dtype = LIG_FLOAT64, .ndim = 1, .shape = {2}, .data = two};
    fine(lig_receive_into(instance, "back", &back[1], &into, NULL, &error));
    printf("into %d\n", (int)(two[0] + two[1]));
    fine(lig_receive_if_connected(instance, "nothing", NULL, &none, &error));
    printf("nothing %d\n", none != NULL);
    const lig_expected expected = {
        .size = sizeof expected, .dtype = LIG_INT64, .ndim = 1, .has_shape = true, .shape = {1}};
    lig_array_view view;
    fine(lig_receive_any(instance, slots, 1, NULL, &which, &message, &error));
    fine(lig_expect_array(message, NULL, &expected, &view, &error));
    printf("any %zu %d\n", which, (int)*(const int64_t *)view.data);
    lig_message_free(message);
    const lig_value *k;
    int64_t under;
    fine(lig_receive_with_settings(instance, "back", &back[1], &message, &error));
    fine(lig_value_find(lig_message_settings(message), "k", &k, &error));
    fine(lig_value_int(k, &under, &error));
    fine(lig_value_int(lig_message_value(message), &number, &error));
    printf("under %d %d\n", (int)under, (int)number);
    lig_message_free(message);
    fine(lig_has_next(instance, "back", &back[1], &ready, &error));
    printf("more %d\n", ready);
    fine(lig_finish(instance, &error));
    fine(lig_error_shutdown(instance, "it is over, so that nobody hears this", &error));
    lig_instance_free(instance);
}

static lig_status nothing(lig_instance *instance, void *user, lig_error *why) {
    (void)instance, (void)user, (void)why;
    return LIG_OK;
}

static int steps;

static bool done(void *user) {
    (void)user;
    return steps == 1;
}

// Receives on two slots, and sends both messages back. Then it sends a third message, and one with an overlay
// of its own.
static lig_status solve(lig_instance *instance, void *user, lig_error *why) {
    (void)user, (void)why;
    const lig_receive_options deal[] = {from(0), from(1)};
    ++steps;
    lig_message *messages[2];
    for (int i = 0; i < 2; ++i) fine(lig_receive(instance, "deal", &deal[i], &messages[i], &error));
    fine(lig_set_port_length(instance, "back", 2, &error));
    for (uint32_t i = 0; i < 2; ++i) {
        const lig_send_options at = to(i, 1);
        fine(lig_send(instance, "back", &at, lig_message_value(messages[i]), &error));
        lig_message_free(messages[i]);
    }
    const int64_t seven[] = {7};
    const lig_array array = {.dtype = LIG_INT64, .ndim = 1, .shape = {1}, .data = (void *)seven};
    const lig_send_options at = to(0, 2);
    fine(lig_send_array(instance, "back", &at, &array, &error));
    lig_value *settings = lig_value_new_map();
    fine(lig_value_set(settings, "k", lig_value_new_int(3), &error));
    lig_send_options under = to(1, 2);
    under.settings = settings;
    fine(lig_send_int(instance, "back", &under, 9, &error));
    lig_value_free(settings);
    return LIG_OK;
}

// Sends the two rows of the array that this rank has.
static void rows(void) {
    const lig_port declared[] = {{LIG_O_I, "rows"}};
    const lig_instance_options options = {.size = sizeof options, .ports = declared, .port_count = 1};
    lig_instance *instance;
    bool again;
    double part[2][6];
    fine(lig_instance_create(&options, &instance, &error));
    fine(lig_reuse_instance(instance, &again, &error));
    const uint64_t start[] = {2 * lig_instance_rank(instance), 0}, shape[] = {2, 6};
    fine(lig_map_block(instance, "rows", 2, start, shape, &error));
    for (int step = 0; step < 3; ++step) {
        for (int i = 0; i < 2; ++i)
            for (int j = 0; j < 6; ++j) part[i][j] = 10 * ((int)start[0] + i) + j + 100 * step;
        const lig_array array = {.dtype = LIG_FLOAT64, .ndim = 2, .shape = {2, 6}, .data = part};
        const lig_send_options options = {.size = sizeof options, .timestamp = step};
        fine(lig_send_array(instance, "rows", &options, &array, &error));
    }
    lig_instance_free(instance);
}

// Receives the part of the array that belongs to this rank.
static void part(void) {
    const lig_port declared[] = {{LIG_S, "part"}};
    const lig_instance_options options = {.size = sizeof options, .ports = declared, .port_count = 1};
    const uint64_t start[] = {1, 2}, shape[] = {3, 4};
    const int64_t list[] = {23, 0, 7};
    lig_instance *instance;
    bool again;
    double data[12];
    uint64_t whole[LIG_MAX_DIMS];
    size_t ndim, count = 12;
    fine(lig_instance_create(&options, &instance, &error));
    fine(lig_reuse_instance(instance, &again, &error));
    fine(lig_array_shape(instance, "part", whole, &ndim, &error));
    printf("array %d %d\n", (int)whole[0], (int)whole[ndim - 1]);
    const uint32_t rank = lig_instance_rank(instance);
    if (rank == 0) fine(lig_map_range(instance, "part", 3, 3 + (count = 6), &error));
    if (rank == 1) fine(lig_map_list(instance, "part", list, count = 3, &error));
    if (rank == 2) fine(lig_map_block(instance, "part", 2, start, shape, &error));
    for (int step = 0; step < 3; ++step) {
        lig_array into = {.dtype = LIG_FLOAT64, .ndim = 1, .shape = {count}, .data = data};
        if (rank == 2) into = (lig_array){.dtype = LIG_FLOAT64, .ndim = 2, .shape = {3, 4}, .data = data};
        fine(lig_receive_into(instance, "part", NULL, &into, NULL, &error));
        double sum = 0;
        for (size_t i = 0; i < count; ++i) sum += (double)(i + 1) * data[i];
        printf("part %d\n", (int)sum);
    }
    lig_instance_free(instance);
}

// Sends three events in each tick.
static void pulse(void) {
    const lig_port declared[] = {{LIG_O_I, "spikes"}};
    const lig_instance_options options = {.size = sizeof options, .ports = declared, .port_count = 1};
    lig_instance *instance;
    bool again;
    double now;
    fine(lig_instance_create(&options, &instance, &error));
    fine(lig_reuse_instance(instance, &again, &error));
    for (int step = 0; step < 3; ++step) {
        fine(lig_time(instance, &now, &error));
        const int32_t first = 10 * step + (int32_t)lig_instance_rank(instance);
        const double times[] = {now + 0.00025, now + 0.0005};
        const int32_t ids[] = {first + 2, first + 4};
        fine(lig_insert_event(instance, "spikes", now, first, &error));
        fine(lig_insert_events(instance, "spikes", 2, times, ids, &error));
        fine(lig_tick(instance, NULL, &error));
    }
    lig_instance_free(instance);
}

// Prints the sum of the events that are delivered in each tick.
static void count(void) {
    const lig_port declared[] = {{LIG_S, "input"}};
    const lig_instance_options options = {.size = sizeof options, .ports = declared, .port_count = 1};
    lig_instance *instance;
    bool again, changed;
    size_t events;
    const double *times;
    const int32_t *ids;
    fine(lig_instance_create(&options, &instance, &error));
    fine(lig_reuse_instance(instance, &again, &error));
    for (int step = 0; step < 3; ++step) {
        double now, microseconds = 0;
        int sum = 0;
        fine(lig_tick(instance, &changed, &error));
        fine(lig_time(instance, &now, &error));
        while (fine(lig_events(instance, "input", &events, &times, &ids, &error)), events > 0) {
            for (size_t i = 0; i < events; ++i) {
                sum += ids[i];
                microseconds += 1e6 * times[i];
            }
        }
        printf("tick %d ids %d times %d\n", (int)(1e6 * now + 0.5), sum, (int)(microseconds + 0.5));
    }
    lig_instance_free(instance);
}

int main(int argc, char **argv) {
    const lig_submodel submodel = {.size = sizeof submodel, .initialise = nothing, .is_done = done,
                                   .observe = nothing, .solve = solve, .observe_final = nothing};
    const char *role = argc > 1 ? argv[1] : "";
    if (strcmp(role, "giver") == 0) giver();
    if (strcmp(role, "rows") == 0) rows();
    if (strcmp(role, "part") == 0) part();
    if (strcmp(role, "pulse") == 0) pulse();
    if (strcmp(role, "count") == 0) count();
    if (strcmp(role, "taker") == 0) {
        const lig_port declared[] = {{LIG_S, "deal[]"}, {LIG_O_I, "back[]"}};
        const lig_instance_options options = {.size = sizeof options, .ports = declared, .port_count = 2};
        lig_instance *instance;
        fine(lig_instance_create(&options, &instance, &error));
        fine(lig_run_submodel(instance, &submodel, &error));
        lig_instance_free(instance);
    }
    if (strcmp(role, "lone") == 0) {
        const lig_light light = {.size = sizeof light, .submodel = &submodel};
        steps = 1;
        fine(lig_run_light(&light, &error));
    }
}
