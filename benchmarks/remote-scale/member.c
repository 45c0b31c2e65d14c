// One of many instances. It sends an empty message on each O_I port, and receives one on each S port. With
// -DLIGHT, one process has all instances of its machine.
//
// usage: member FOLDER COUNT. When COUNT instances of this process have received their messages, the process
// adds a byte to FOLDER/arrived and waits until another process opens the FIFO FOLDER/go for writing. A
// benchmark can then inspect all processes at the same time.
#include <fcntl.h>
#include <ligament.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char *folder;
static int left;

static void stay(void) {
    char path[4096];
    snprintf(path, sizeof path, "%s/arrived", folder);
    int arrived = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (arrived < 0 || write(arrived, ".", 1) != 1) exit(1);
    close(arrived);
    snprintf(path, sizeof path, "%s/go", folder);
    int go = open(path, O_RDONLY | O_CLOEXEC);  // waits for the writer
    if (go < 0) exit(1);
    close(go);
}

static lig_status send_all(lig_instance *instance, void *user, lig_error *error) {
    lig_names *ports;
    (void)user;
    lig_status status = lig_list_ports(instance, LIG_O_I, &ports, error);
    for (size_t i = 0; status == LIG_OK && i < lig_names_count(ports); i++)
        status = lig_send(instance, lig_names_at(ports, i), NULL, NULL, error);
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
    *(bool *)user = true;
    if (--left == 0) stay();
    return status;
}

#ifdef LIGHT
static bool is_done(void *user) { return *(bool *)user; }

static lig_status nothing(lig_instance *instance, void *user, lig_error *error) {
    (void)instance, (void)user, (void)error;
    return LIG_OK;
}

static lig_status make(lig_instance *instance, void *context, void **user, lig_error *error) {
    (void)instance, (void)context, (void)error;
    *user = calloc(1, sizeof(bool));
    return *user ? LIG_OK : LIG_ERR_OUT_OF_MEMORY;
}

static lig_status play(lig_error *error) {
    const lig_submodel submodel = {.size = sizeof submodel,
                                   .initialise = nothing,
                                   .is_done = is_done,
                                   .observe = send_all,
                                   .solve = receive_all,
                                   .observe_final = nothing};
    const lig_light light = {.size = sizeof light, .submodel = &submodel, .make = make, .release = free};
    return lig_run_light(&light, error);
}
#else
static lig_status play(lig_error *error) {
    lig_instance *instance;
    bool again, done;
    lig_status status = lig_instance_create(NULL, &instance, error);
    if (status == LIG_OK) status = lig_reuse_instance(instance, &again, error);
    if (status == LIG_OK) status = send_all(instance, &done, error);
    if (status == LIG_OK) status = receive_all(instance, &done, error);
    if (status == LIG_OK) status = lig_reuse_instance(instance, &again, error);
    if (status == LIG_OK) lig_instance_free(instance);
    return status;
}
#endif

int main(int argc, char **argv) {
    lig_error error;
    if (argc != 3) return 2;
    folder = argv[1], left = atoi(argv[2]);
    alarm(600);
    if (play(&error) == LIG_OK) return 0;
    fprintf(stderr, "%s\n", error.message);
    return 1;
}
