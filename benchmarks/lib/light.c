// Light components: light [STEPS]. Each receives a message on each F_INIT port. In each step (one by default),
// it sends an empty message on each O_I port and receives a message on each S port. At its end it sends a
// message on each O_F port.
//
// Writes the seconds from the first step of all components to the last step into the file that LIGHT_SECONDS
// names.
#include <ligament.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct part {
    long step;
    lig_names *start, *out, *in, *end;
};

static long steps = 1;
static double begun, ended;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + 1e-9 * time.tv_nsec;
}

static lig_status ports(lig_instance *instance, lig_operator of, lig_names **names, lig_error *error) {
    return *names ? LIG_OK : lig_list_ports(instance, of, names, error);
}

static lig_status send_all(lig_instance *instance, lig_operator of, lig_names **names, lig_error *error) {
    lig_status status = ports(instance, of, names, error);
    for (size_t i = 0; status == LIG_OK && i < lig_names_count(*names); i++)
        status = lig_send(instance, lig_names_at(*names, i), NULL, NULL, error);
    return status;
}

static lig_status receive_all(lig_instance *instance, lig_operator of, lig_names **names, lig_error *error) {
    lig_message *message;
    lig_status status = ports(instance, of, names, error);
    for (size_t i = 0; status == LIG_OK && i < lig_names_count(*names); i++) {
        status = lig_receive(instance, lig_names_at(*names, i), NULL, &message, error);
        if (status == LIG_OK) lig_message_free(message);
    }
    return status;
}

static lig_status initialise(lig_instance *instance, void *user, lig_error *error) {
    struct part *part = user;
    part->step = 0;
    return receive_all(instance, LIG_F_INIT, &part->start, error);
}

static bool is_done(void *user) { return ((struct part *)user)->step >= steps; }

static lig_status observe(lig_instance *instance, void *user, lig_error *error) {
    if (begun == 0) begun = now();
    return send_all(instance, LIG_O_I, &((struct part *)user)->out, error);
}

static lig_status solve(lig_instance *instance, void *user, lig_error *error) {
    struct part *part = user;
    part->step++;
    return receive_all(instance, LIG_S, &part->in, error);
}

static lig_status observe_final(lig_instance *instance, void *user, lig_error *error) {
    ended = now();
    return send_all(instance, LIG_O_F, &((struct part *)user)->end, error);
}

static lig_status make(lig_instance *instance, void *context, void **user, lig_error *error) {
    (void)instance, (void)context, (void)error;
    *user = calloc(1, sizeof(struct part));
    return *user ? LIG_OK : LIG_ERR_OUT_OF_MEMORY;
}

static void release(void *user) {
    struct part *part = user;
    lig_names *all[] = {part->start, part->out, part->in, part->end};
    for (int i = 0; i < 4; i++)
        if (all[i]) lig_names_free(all[i]);
    free(part);
}

int main(int count, char **words) {
    lig_error error;
    const lig_submodel submodel = {.size = sizeof submodel,
                                   .initialise = initialise,
                                   .is_done = is_done,
                                   .observe = observe,
                                   .solve = solve,
                                   .observe_final = observe_final};
    const lig_light light = {.size = sizeof light, .submodel = &submodel, .make = make, .release = release};
    if (count > 1) steps = atol(words[1]);
    if (lig_run_light(&light, &error) != LIG_OK) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    const char *path = getenv("LIGHT_SECONDS");
    FILE *file = path ? fopen(path, "w") : NULL;
    if (file) fprintf(file, "%.9f\n", ended - begun);
    return path && (!file || fclose(file) != 0);
}
