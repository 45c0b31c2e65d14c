// One of two instances of a run that spans both ends of the link. It has no further arguments.
#include "library.h"

static lig_instance *instance;

static void peer_open(int is_a, int argc, char **argv) {
    (void)is_a, (void)argv;
    bool again;
    if (argc != 0) fail("usage: member a|b OUT PLAN");
    TRY(lig_instance_create(NULL, &instance, &error));
    TRY(lig_reuse_instance(instance, &again, &error));
}

static void peer_send(const char *data, size_t bytes) {
    const lig_array array = {.dtype = LIG_UINT8, .ndim = 1, .shape = {bytes}, .data = (char *)data};
    TRY(lig_send_array(instance, "out", NULL, &array, &error));
}

static void peer_receive(char *data, size_t bytes) {
    lig_message *message;
    lig_array_view view;
    TRY(lig_receive(instance, "in", NULL, &message, &error));
    TRY(lig_message_array(message, &view, &error));
    if (view.shape[0] != bytes)
        fail("a message of %llu bytes, and not %zu", (unsigned long long)view.shape[0], bytes);
    memcpy(data, view.data, bytes);
    lig_message_free(message);
}

static void peer_close(void) {
    bool again;
    TRY(lig_reuse_instance(instance, &again, &error));
    lig_instance_free(instance);
}
