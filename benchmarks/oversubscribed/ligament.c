// Ligament's C interface. It sends from an array, and reads received bytes in place. `ligament run` starts one
// instance for each position, which is the argument.
#include <ligament.h>

#include "ring.h"

static lig_instance *instance;
static lig_message *message;  // the message that is being read
static lig_error error;

static inline void checked(lig_status status, const char *what) {
    if (__builtin_expect(status != LIG_OK, 0)) fail("%s: %s", what, error.message);
}

static int peer_position(int argc, char **argv) {
    if (argc != 2) fail("usage: %s POSITION", argv[0]);
    return atoi(argv[1]);
}

static void peer_open(size_t largest) {
    (void)largest;
    bool again = false;
    checked(lig_instance_create(NULL, &instance, &error), "lig_instance_create");
    checked(lig_reuse_instance(instance, &again, &error), "lig_reuse_instance");
    if (!again) fail("there is nothing to do in this run");
}

static inline void peer_send(void *array, size_t bytes) {
    if (bytes == 0) {
        checked(lig_send(instance, "out", NULL, NULL, &error), "lig_send");
        return;
    }
    lig_array outgoing = {.dtype = LIG_UINT8, .ndim = 1, .shape = {bytes}, .data = array};
    checked(lig_send_array(instance, "out", NULL, &outgoing, &error), "lig_send_array");
}

static inline const void *peer_receive(size_t bytes) {
    checked(lig_receive(instance, "in", NULL, &message, &error), "lig_receive");
    if (bytes == 0) return receive_array;
    lig_array_view view;
    checked(lig_message_array(message, &view, &error), "lig_message_array");
    if (view.shape[0] != bytes) fail("an array of another length came");
    return view.data;
}

static inline void peer_release(void) {
    lig_message_free(message);
    message = NULL;
}

static void peer_close(void) {
    bool again = false;
    checked(lig_reuse_instance(instance, &again, &error), "lig_reuse_instance");
    if (again) fail("started again, which this model does not do");
    lig_instance_free(instance);
}
