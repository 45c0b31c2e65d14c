// A process of a chain. It receives an empty message from the process before it, and sends one to the process
// after it. With -DALONE it does so without the library, as the cost of a bare process.
//
// It holds (hold.h) after its exchange.
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
