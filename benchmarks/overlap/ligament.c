// Ligament's C interface. With LIGAMENT_LOAN, the program writes the array into a loan. Otherwise the program
// has the array, and `lig_send_array` copies it.
#include <ligament.h>

#include "steps.h"

static lig_instance *instance;
static lig_message *message;
static lig_error error;

static inline void checked(lig_status status, const char *what) {
    if (status != LIG_OK) fail("%s: %s", what, error.message);
}

static void peer_open(int argc, char **argv, size_t bytes) {
    (void)argc, (void)argv, (void)bytes;
    bool again = false;
    checked(lig_instance_create(NULL, &instance, &error), "lig_instance_create");
    checked(lig_reuse_instance(instance, &again, &error), "lig_reuse_instance");
    if (!again) fail("there is nothing to do in this run");
}

#ifdef LIGAMENT_LOAN
static lig_loan *loan;

static inline void *peer_array(size_t bytes) {
    void *data;
    uint64_t shape[1] = {bytes / 8};
    checked(lig_loan_create(instance, LIG_UINT64, 1, shape, &loan, &data, &error), "lig_loan_create");
    return data;
}

static inline void peer_send(void *array, size_t bytes) {
    (void)array, (void)bytes;
    checked(lig_send_loan(instance, "out", NULL, loan, &error), "lig_send_loan");
}
#else
static inline void *peer_array(size_t bytes) {
    (void)bytes;
    return own_array;
}

static inline void peer_send(void *array, size_t bytes) {
    lig_array outgoing = {.dtype = LIG_UINT64, .ndim = 1, .shape = {bytes / 8}, .data = array};
    checked(lig_send_array(instance, "out", NULL, &outgoing, &error), "lig_send_array");
}
#endif

static inline const void *peer_receive(size_t bytes) {
    checked(lig_receive(instance, "in", NULL, &message, &error), "lig_receive");
    lig_array_view view;
    checked(lig_message_array(message, &view, &error), "lig_message_array");
    if (view.shape[0] != bytes / 8) fail("an array of another length came");
    return view.data;
}

static inline void peer_release(void) { lig_message_free(message); }

static void peer_close(void) {
    bool again = false;
    checked(lig_reuse_instance(instance, &again, &error), "lig_reuse_instance");
    if (again) fail("started again, which this model does not do");
    lig_instance_free(instance);
}
