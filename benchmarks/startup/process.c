// One process of a chain: receives one empty message from the one before it, sends one to the one after it.
// With -DALONE the same without the library: what a process costs by itself.
//
// It holds (hold.h) when its exchange is done.
#include "hold.h"

#ifdef ALONE
int main(void) {
    stay();
    return 0;
}
#else
#include <ligament.h>

static lig_error error;

static void checked(lig_status status) {
    if (status == LIG_OK) return;
    fprintf(stderr, "%s\n", error.message);
    exit(1);
}

static bool has_port(lig_instance *instance, const char *port) {
    bool connected = false;
    checked(lig_is_connected(instance, port, &connected, &error));
    return connected;
}

int main(void) {
    lig_instance *instance;
    lig_message *message;
    bool again;
    checked(lig_instance_create(NULL, &instance, &error));
    checked(lig_reuse_instance(instance, &again, &error));
    if (has_port(instance, "in")) {
        checked(lig_receive(instance, "in", NULL, &message, &error));
        lig_message_free(message);
    }
    if (has_port(instance, "out")) checked(lig_send(instance, "out", NULL, NULL, &error));
    stay();
    checked(lig_reuse_instance(instance, &again, &error));
    lig_instance_free(instance);
    return 0;
}
#endif
