// A formal submodel that counts to three with an echo. With an argument, its third step fails.
#include "check.h"

struct state {
    int step, initialised, observed, finished;
    bool fails;
};

static lig_status initialise(lig_instance *instance, void *user, lig_error *why) {
    (void)instance, (void)why;
    ((struct state *)user)->initialised++;
    return LIG_OK;
}

static bool is_done(void *user) { return ((struct state *)user)->step == 3; }

static lig_status observe(lig_instance *instance, void *user, lig_error *why) {
    struct state *state = user;
    state->observed++;
    const lig_send_options at = {.size = sizeof at, .timestamp = state->step};
    return lig_send_int(instance, "out", &at, state->step, why);
}

static lig_status solve(lig_instance *instance, void *user, lig_error *why) {
    struct state *state = user;
    lig_message *message;
    int64_t echoed;
    const lig_status status = lig_receive(instance, "in", NULL, &message, why);
    if (status != LIG_OK) return status;
    FINE(lig_value_int(lig_message_value(message), &echoed, &error));
    lig_message_free(message);
    HOLDS(echoed == state->step);
    if (state->fails && state->step == 2) {
        snprintf(why->message, sizeof why->message, "the third step does not converge");
        return LIG_ERR_UNEXPECTED;
    }
    state->step++;
    return LIG_OK;
}

static lig_status observe_final(lig_instance *instance, void *user, lig_error *why) {
    (void)instance, (void)why;
    ((struct state *)user)->finished++;
    return LIG_OK;
}

int main(int argc, char **argv) {
    (void)argv;
    struct state state = {.fails = argc > 1};
    lig_submodel submodel = {.size = sizeof submodel, .initialise = initialise, .is_done = is_done,
                             .observe = observe, .solve = solve, .user = &state};
    lig_instance *instance;
    FINE(lig_instance_create(NULL, &instance, &error));
    ENDS_WITH(lig_run_submodel(instance, &submodel, &error), LIG_ERR_USAGE, "observe_final is NULL");
    submodel.observe_final = observe_final;
    if (state.fails) {
        ENDS_WITH(lig_run_submodel(instance, &submodel, &error), LIG_ERR_UNEXPECTED, "does not converge");
    } else {
        FINE(lig_run_submodel(instance, &submodel, &error));
        HOLDS(state.step == 3 && state.initialised == 1 && state.observed == 3 && state.finished == 1);
    }
    lig_instance_free(instance);
}
