// Light components in C, by their role (the first argument). "micro" returns the array that it gets, doubled,
// with its own index added. "walker" sends a number on, one larger, in each step. The setting `fails` names the
// instance that fails, and `mute` the one that sends nothing.
#include <ligament.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_VALUES = 1024 };

struct part {
    double values[MAX_VALUES];
    uint64_t count;
    size_t index;
    double time;
    bool done;
    int64_t number, step, steps;
};

static const lig_array *as_array(struct part *part, lig_array *array) {
    *array = (lig_array){.dtype = LIG_FLOAT64, .ndim = 1, .shape = {part->count}, .data = part->values};
    return array;
}

// True if the setting names this instance.
static bool is_named_by(const char *setting, lig_instance *instance) {
    lig_error error;
    const char *name;
    return lig_get_setting_string(instance, setting, &name, &error) == LIG_OK &&
           strcmp(name, lig_instance_name(instance)) == 0;
}

static bool is_done(void *user) { return ((struct part *)user)->done; }

static lig_status nothing(lig_instance *instance, void *user, lig_error *error) {
    (void)instance, (void)user, (void)error;
    return LIG_OK;
}

// --- micro ---

static lig_status micro_initialise(lig_instance *instance, void *user, lig_error *error) {
    struct part *part = user;
    lig_message *message;
    lig_status status = lig_receive(instance, "in", NULL, &message, error);
    if (status != LIG_OK) return status;
    lig_array_view view;
    status = lig_message_array(message, &view, error);
    if (status != LIG_OK) return status;
    part->count = view.shape[0] < MAX_VALUES ? view.shape[0] : MAX_VALUES;
    memcpy(part->values, view.data, part->count * sizeof *part->values);
    lig_times times;
    status = lig_message_times(message, &times, error);
    if (status != LIG_OK) return status;
    part->time = times.timestamp;
    part->done = false;
    lig_message_free(message);
    return LIG_OK;
}

static lig_status micro_solve(lig_instance *instance, void *user, lig_error *error) {
    struct part *part = user;
    if (is_named_by("fails", instance)) {
        strcpy(error->message, "the lattice has melted");
        return LIG_ERR_USAGE;
    }
    for (uint64_t i = 0; i < part->count; i++) part->values[i] = 2 * part->values[i] + (double)part->index;
    part->done = true;
    return LIG_OK;
}

static lig_status micro_observe_final(lig_instance *instance, void *user, lig_error *error) {
    struct part *part = user;
    lig_array array;
    const lig_send_options when = {.size = sizeof when, .timestamp = part->time};
    const lig_status status = lig_send_array(instance, "out", &when, as_array(part, &array), error);
    // The receiver does not see a later change by the sender.
    memset(part->values, 0xff, sizeof part->values);
    return status;
}

// --- walker ---

static lig_status walker_initialise(lig_instance *instance, void *user, lig_error *error) {
    struct part *part = user;
    part->step = 0;
    lig_status status = lig_get_setting_int(instance, "steps", &part->steps, error);
    if (status == LIG_OK) status = lig_get_setting_int(instance, "start", &part->number, error);
    part->done = part->steps == 0;
    return status;
}

static lig_status walker_observe(lig_instance *instance, void *user, lig_error *error) {
    struct part *part = user;
    const lig_send_options when = {.size = sizeof when, .timestamp = (double)part->step};
    if (is_named_by("mute", instance)) return LIG_OK;
    return lig_send_int(instance, "out", &when, part->number, error);
}

static lig_status walker_solve(lig_instance *instance, void *user, lig_error *error) {
    struct part *part = user;
    lig_message *message;
    lig_status status = lig_receive(instance, "in", NULL, &message, error);
    if (status != LIG_OK) return status;
    status = lig_value_int(lig_message_value(message), &part->number, error);
    lig_message_free(message);
    part->number += 1;
    part->done = ++part->step == part->steps;
    if (is_named_by("fails", instance)) status = lig_receive(instance, "in", NULL, &message, error);
    return status;
}

static lig_status walker_observe_final(lig_instance *instance, void *user, lig_error *error) {
    struct part *part = user;
    (void)error;
    printf("%s ends at %lld\n", lig_instance_name(instance), (long long)part->number);
    return LIG_OK;
}

// --- both ---

static int made, released;

static lig_status make(lig_instance *instance, void *context, void **user, lig_error *error) {
    (void)context, (void)error;
    struct part *part = calloc(1, sizeof *part);
    const size_t *index;
    if (lig_instance_index(instance, &index) > 0) part->index = index[0];
    *user = part;
    made += 1;
    return LIG_OK;
}

static void release(void *user) {
    free(user);
    released += 1;
}

int main(int argc, char **argv) {
    const bool micro = argc > 1 && strcmp(argv[1], "micro") == 0;
    const lig_submodel submodel = {
        .size = sizeof submodel,
        .initialise = micro ? micro_initialise : walker_initialise,
        .is_done = is_done,
        .observe = micro ? nothing : walker_observe,
        .solve = micro ? micro_solve : walker_solve,
        .observe_final = micro ? micro_observe_final : walker_observe_final,
    };
    const lig_light light = {.size = sizeof light, .submodel = &submodel, .make = make, .release = release};
    lig_error error;
    if (lig_run_light(&light, &error) != LIG_OK) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    printf("made %d, released %d\n", made, released);
    return 0;
}
