// Light components that send and receive on all their ports in each step. `light idle` stops in its second step
// until the run is ended. `light busy` goes on, with 50 µs for a step of one component.
#define _GNU_SOURCE
#include <ligament.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static bool idles;
static long stepped;

static lig_status send_all(lig_instance *instance, void *user, lig_error *error) {
    lig_names *ports;
    const lig_send_options options = {.size = sizeof options, .timestamp = (double)*(long *)user};
    lig_status status = lig_list_ports(instance, LIG_O_I, &ports, error);
    for (size_t i = 0; status == LIG_OK && i < lig_names_count(ports); i++)
        status = lig_send(instance, lig_names_at(ports, i), &options, NULL, error);
    lig_names_free(ports);
    return status;
}

static lig_status receive_all(lig_instance *instance, void *user, lig_error *error) {
    lig_names *ports;
    lig_message *message;
    lig_status status = lig_list_ports(instance, LIG_S, &ports, error);
    for (size_t i = 0; status == LIG_OK && i < lig_names_count(ports); i++) {
        status = lig_receive(instance, lig_names_at(ports, i), NULL, &message, error);
        if (status == LIG_OK) lig_message_free(message);
    }
    lig_names_free(ports);
    *(long *)user += 1;
    if (idles && ++stepped > 1000)
        for (;;) pause();
    if (!idles) nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
    return status;
}

static bool is_done(void *user) {
    (void)user;
    return false;
}

static lig_status nothing(lig_instance *instance, void *user, lig_error *error) {
    (void)instance, (void)user, (void)error;
    return LIG_OK;
}

static lig_status make(lig_instance *instance, void *context, void **user, lig_error *error) {
    (void)instance, (void)context, (void)error;
    *user = calloc(1, sizeof(long));
    return *user ? LIG_OK : LIG_ERR_OUT_OF_MEMORY;
}

int main(int count, char **words) {
    lig_error error;
    if (count != 2) return 2;
    idles = strcmp(words[1], "idle") == 0;
    const lig_submodel submodel = {.size = sizeof submodel,
                                   .initialise = nothing,
                                   .is_done = is_done,
                                   .observe = send_all,
                                   .solve = receive_all,
                                   .observe_final = nothing};
    const lig_light light = {.size = sizeof light, .submodel = &submodel, .make = make, .release = free};
    if (lig_run_light(&light, &error) == LIG_OK) return 0;
    fprintf(stderr, "%s\n", error.message);
    return 1;
}
