// ABOUT Made by `ligament new`: put your own code where it says "compute".
#include <ligament.h>
#include <stdio.h>
#include <stdlib.h>

static lig_error error;

static void check(lig_status status) {
    if (status == LIG_OK) return;
    fprintf(stderr, "%s\n", error.message);
    exit(1);
}

// Receives a message, on a slot of a vector port or (slot -1) of another: its time. `more` is false after the
// last one.
static inline double receive(lig_instance *instance, const char *port, long slot, bool *more) {
    const lig_receive_options from = {.size = sizeof from, .has_slot = slot >= 0, .slot = (uint32_t)slot};
    lig_message *message;
    lig_times times;
    const lig_status status = lig_receive(instance, port, &from, &message, &error);
    if (status == LIG_ERR_CLOSED && more) {
        *more = false;
        return 0;
    }
    check(status);
    check(lig_message_times(message, &times, &error));
    // Compute here with what has come: lig_message_array(message, …).
    lig_message_free(message);
    if (more) *more = *more && times.has_next_timestamp;
    return times.timestamp;
}

static inline void send(lig_instance *instance, const char *port, long slot, double t, bool more, double dt,
                        double *state) {
    const lig_send_options at = {.size = sizeof at,
                                 .timestamp = t,
                                 .next_timestamp = t + dt,
                                 .has_next_timestamp = more,
                                 .has_slot = slot >= 0,
                                 .slot = (uint32_t)slot};
    const lig_array array = {.dtype = LIG_FLOAT64, .ndim = 1, .shape = {3}, .data = state};
    check(lig_send_array(instance, port, &at, &array, &error));
}

static inline long slots(lig_instance *instance, const char *port) {
    size_t length;
    check(lig_get_port_length(instance, port, &length, &error));
    return (long)length;
}

int main(void) {
    const lig_port ports[] = {PORTS};
    const lig_instance_options options = {.size = sizeof options, .ports = ports, .port_count = COUNT};
    lig_instance *instance;
    bool again;
    check(lig_instance_create(&options, &instance, &error));
    for (check(lig_reuse_instance(instance, &again, &error)); again;
         check(lig_reuse_instance(instance, &again, &error))) {
        double t = 0, dt = 1, state[3] = {0};
        (void)t, (void)dt, (void)state;
BODY
    }
    lig_instance_free(instance);
}
