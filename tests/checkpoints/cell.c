// The micro model as a submodel that the library drives: with "light" as argument by lig_run_light, otherwise
// by lig_run_submodel. Its state: sum, passes, first time, step, value.
#include <ligament.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static lig_status initialise(lig_instance *instance, void *user, lig_error *error) {
    double *state = user;
    lig_message *message;
    lig_times times;
    if (lig_receive(instance, "in", NULL, &message, error) != LIG_OK) return LIG_ERR_USAGE;
    lig_status status = lig_message_times(message, &times, error);
    if (status == LIG_OK) status = lig_value_float(lig_message_value(message), &state[4], error);
    lig_message_free(message);
    state[2] = times.timestamp;
    state[3] = 0;
    return status;
}

static bool is_done(void *user) { return ((double *)user)[3] >= 5; }

static lig_status observe(lig_instance *instance, void *user, lig_error *error) {
    (void)instance, (void)user, (void)error;
    return LIG_OK;
}

static lig_status solve(lig_instance *instance, void *user, lig_error *error) {
    double *state = user;
    (void)instance, (void)error;
    state[4] = state[4] * 0.7 + 0.01 * state[0];
    state[3] += 1;
    return LIG_OK;
}

static lig_status observe_final(lig_instance *instance, void *user, lig_error *error) {
    double *state = user;
    state[0] += state[4];
    state[1] += 1;
    FILE *file = fopen("end.txt", "w");
    if (file == NULL) return LIG_ERR_SYSTEM;
    fprintf(file, "%.0f %.17g\n", state[1], state[0]);
    fclose(file);
    const lig_send_options send = {.size = sizeof send, .timestamp = state[2] + 0.5};
    return lig_send_float(instance, "out", &send, state[4], error);
}

static lig_status model_time(void *user, double *time, lig_error *error) {
    const double *state = user;
    (void)error;
    *time = state[2] + 0.1 * state[3];
    return LIG_OK;
}

static lig_status save(lig_instance *instance, void *user, lig_error *error) {
    const lig_array field = {.dtype = LIG_FLOAT64, .ndim = 1, .shape = {5}, .data = user};
    const lig_times times = {.timestamp = ((double *)user)[2]};
    lig_value *saved;
    lig_status status = lig_value_new_array_borrowed(&field, &saved, error);
    if (status != LIG_OK) return status;
    status = lig_save_snapshot(instance, &times, saved, error);
    lig_value_free(saved);
    return status;
}

static lig_status restore(lig_instance *instance, void *user, lig_error *error) {
    double *state = user;
    lig_message *message;
    lig_array_view view;
    lig_status status = lig_load_snapshot(instance, &message, error);
    if (status != LIG_OK) return status;
    status = lig_message_array(message, &view, error);
    for (int i = 0; status == LIG_OK && i < 5; ++i) state[i] = ((const double *)view.data)[i];
    lig_message_free(message);
    FILE *file = fopen("resumed.txt", "w");
    if (file == NULL) return LIG_ERR_SYSTEM;
    fprintf(file, "%.0f\n", state[3]);
    fclose(file);
    return status;
}

static lig_status make(lig_instance *instance, void *context, void **user, lig_error *error) {
    (void)instance, (void)context, (void)error;
    *user = calloc(5, sizeof(double));
    return *user == NULL ? LIG_ERR_OUT_OF_MEMORY : LIG_OK;
}

int main(int count, char **arguments) {
    const lig_port ports[] = {{LIG_F_INIT, "in"}, {LIG_O_F, "out"}};
    const lig_instance_options options = {
        .size = sizeof options, .ports = ports, .port_count = 2, .flags = LIG_USES_CHECKPOINT_API};
    double state[5] = {0};
    const lig_submodel submodel = {
        .size = sizeof submodel, .initialise = initialise, .is_done = is_done, .observe = observe,
        .solve = solve, .observe_final = observe_final, .user = state, .save = save, .restore = restore,
        .model_time = model_time};
    lig_error error;
    lig_status status;
    if (count > 1 && strcmp(arguments[1], "light") == 0) {
        const lig_light light = {
            .size = sizeof light, .submodel = &submodel, .make = make, .release = free, .options = &options};
        status = lig_run_light(&light, &error);
    } else {
        lig_instance *instance;
        status = lig_instance_create(&options, &instance, &error);
        if (status == LIG_OK) {
            status = lig_run_submodel(instance, &submodel, &error);
            lig_instance_free(instance);
        }
    }
    if (status != LIG_OK) fprintf(stderr, "%s\n", error.message);
    return status != LIG_OK;
}
