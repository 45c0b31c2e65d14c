// Ligament's C interface, compiled in three variants. LIGAMENT_VIEW sends an array and reads received bytes in
// place. LIGAMENT_INTO sends an array and receives into an array. LIGAMENT_LOAN fills shared memory in place on
// both sides. `ligament run` starts it twice, as the components ping (argument a) and pong (argument b).
#include <ligament.h>
#include <math.h>

#include "harness.h"

#if defined(LIGAMENT_VIEW) + defined(LIGAMENT_INTO) + defined(LIGAMENT_LOAN) != 1
#error "define one of LIGAMENT_VIEW, LIGAMENT_INTO, LIGAMENT_LOAN"
#endif

static lig_instance *instance;
static lig_message *message;  // the message that is being read
static lig_error error;
static uint64_t shape[1];  // of the arrays in this case

static inline void checked(lig_status status, const char *what) {
    if (__builtin_expect(status != LIG_OK, 0)) fail("%s: %s", what, error.message);
}

static enum side peer_side(int argc, char **argv) {
    if (argc != 2 || (argv[1][0] != 'a' && argv[1][0] != 'b')) fail("usage: %s a|b", argv[0]);
    return argv[1][0] == 'a' ? SIDE_A : SIDE_B;
}

static void peer_open(enum side side, size_t largest) {
    (void)side, (void)largest;
    bool again = false;
    checked(lig_instance_create(NULL, &instance, &error), "lig_instance_create");
    checked(lig_reuse_instance(instance, &again, &error), "lig_reuse_instance");
    if (!again) fail("there is nothing to do in this run");
}

static void peer_start(const struct exchange *x) { shape[0] = x->bytes / sizeof(uint64_t); }

static inline lig_array array_at(const void *data) {
    return (lig_array){.dtype = LIG_UINT64, .ndim = 1, .shape = {shape[0]}, .data = (void *)data};
}

#ifdef LIGAMENT_LOAN
static lig_loan *loan;  // the loan that peer_array returned last

static inline void *peer_array(size_t bytes) {
    void *data;
    if (bytes == 0) return send_array;
    checked(lig_loan_create(instance, LIG_UINT64, 1, shape, &loan, &data, &error), "lig_loan_create");
    return data;
}
#else
static inline void *peer_array(size_t bytes) {
    (void)bytes;
    return send_array;
}
#endif

static inline void peer_send(void *array, size_t bytes) {
    if (bytes == 0) {
        checked(lig_send(instance, "out", NULL, NULL, &error), "lig_send");
        return;
    }
#ifdef LIGAMENT_LOAN
    (void)array;
    checked(lig_send_loan(instance, "out", NULL, loan, &error), "lig_send_loan");
#else
    lig_array outgoing = array_at(array);
    checked(lig_send_array(instance, "out", NULL, &outgoing, &error), "lig_send_array");
#endif
}

static inline const void *peer_receive(size_t bytes) {
#ifdef LIGAMENT_INTO
    if (bytes) {
        lig_array landing = array_at(receive_array);
        lig_times times;
        checked(lig_receive_into(instance, "in", NULL, &landing, &times, &error), "lig_receive_into");
        return receive_array;
    }
#endif
    checked(lig_receive(instance, "in", NULL, &message, &error), "lig_receive");
    if (bytes == 0) return receive_array;
    lig_array_view view;
    checked(lig_message_array(message, &view, &error), "lig_message_array");
    if (view.shape[0] != shape[0]) fail("an array of another length came");
    return view.data;
}

static inline void peer_release(void) {
    if (message) lig_message_free(message);
    message = NULL;
}

static inline void peer_echo(const void *data, size_t bytes) {
#ifdef LIGAMENT_LOAN
    fail("a loan is filled by its sender: mode worked only");
#endif
    peer_send((void *)data, bytes);
    peer_release();
}

static void peer_close(void) {
    bool again = false;
    checked(lig_reuse_instance(instance, &again, &error), "lig_reuse_instance");
    if (again) fail("started again, which this model does not do");
    lig_instance_free(instance);
}
