// A component with a clock. In each tick it sends events on all its sending ports, and prints the delivered
// events with the number of the tick. The settings give the number of steps. `clocks.py` computes the same
// events.
#include <inttypes.h>
#include <ligament.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PORTS = 16, IDS = 1000 };

static lig_error error;

static void fine(lig_status status) {
    if (status == LIG_OK) return;
    fprintf(stderr, "%s\n", error.message);
    exit(1);
}

static void show(lig_instance *instance, const char *port, int64_t pass, int64_t tick) {
    for (;;) {
        size_t count;
        const double *times;
        const int32_t *ids;
        fine(lig_events(instance, port, &count, &times, &ids, &error));
        if (count == 0) return;
        for (size_t i = 0; i < count; ++i)
            printf("%" PRId64 " %s %" PRId64 " %a %" PRId32 "\n", pass, port, tick, times[i], ids[i]);
    }
}

// Sets the ids that this rank wants in a pass on the port pN, if it does not want all.
static void map_wanted(lig_instance *instance, const char *port, int64_t pass, uint32_t rank) {
    int64_t one_of, ids[IDS];
    fine(lig_get_setting_int(instance, "one_of", &one_of, &error));
    if (one_of == 0) return;
    size_t count = 0;
    for (int64_t id = 0; id < IDS; ++id)
        if ((id * 7 + (int64_t)rank * 3 + atoi(port + 1) + pass) % one_of == 0) ids[count++] = id;
    fine(lig_map_list(instance, port, ids, count, &error));
}

// Begins each pass of the other components: sends one message for each on each of its ports.
static int macro(int argc, char **argv) {
    lig_port ports[MAX_PORTS];
    const size_t count = (size_t)(argc - 3);
    for (size_t p = 0; p < count; ++p) ports[p] = (lig_port){LIG_O_I, argv[3 + p]};
    const lig_instance_options options = {.size = sizeof options, .ports = ports, .port_count = count};
    lig_instance *instance;
    bool again;
    fine(lig_instance_create(&options, &instance, &error));
    fine(lig_reuse_instance(instance, &again, &error));
    for (int pass = 0; pass < atoi(argv[2]); ++pass) {
        for (size_t p = 0; p < count; ++p) fine(lig_send_bool(instance, ports[p].name, NULL, true, &error));
    }
    lig_instance_free(instance);
    return 0;
}

// Arguments: the number of this component, then each port as "o_i:name", "s:name" or "f_init:name".
int main(int argc, char **argv) {
    if (argc > 3 && strcmp(argv[1], "macro") == 0) return macro(argc, argv);
    lig_port ports[MAX_PORTS];
    size_t count = 0;
    const char *sends[MAX_PORTS], *receives[MAX_PORTS];
    size_t send_count = 0, receive_count = 0;
    const int number = argc > 1 ? atoi(argv[1]) : 0;
    bool begins = false;
    for (int i = 2; i < argc && count < MAX_PORTS; ++i) {
        const char *name = strchr(argv[i], ':') + 1;
        if (argv[i][0] == 'o') sends[send_count++] = name;
        if (argv[i][0] == 's') receives[receive_count++] = name;
        if (argv[i][0] == 'f') begins = true;
        const lig_operator operator = argv[i][0] == 'o' ? LIG_O_I : argv[i][0] == 's' ? LIG_S : LIG_F_INIT;
        ports[count++] = (lig_port){operator, name};
    }
    const lig_instance_options options = {.size = sizeof options, .ports = ports, .port_count = count};
    lig_instance *instance;
    fine(lig_instance_create(&options, &instance, &error));
    const uint32_t rank = lig_instance_rank(instance);
    bool again;
    for (int64_t pass = 0; fine(lig_reuse_instance(instance, &again, &error)), again; ++pass) {
        int64_t steps;
        double step;
        lig_message *message;
        if (begins) {
            fine(lig_receive(instance, "begin", NULL, &message, &error));
            lig_message_free(message);
        }
        fine(lig_get_setting_int(instance, "steps", &steps, &error));
        fine(lig_get_setting_float(instance, "step", &step, &error));
        for (size_t p = 0; p < receive_count; ++p) map_wanted(instance, receives[p], pass, rank);
        for (size_t p = 0; p < receive_count; ++p) show(instance, receives[p], pass, 0);
        for (int64_t tick = 0; tick < steps; ++tick) {
            double time;
            fine(lig_time(instance, &time, &error));
            for (size_t p = 0; p < send_count; ++p) {
                const int64_t events = (tick * 7 + number + rank + (int64_t)p + pass) % 4;
                for (int64_t j = 0; j < events; ++j) {
                    const double at = time + (double)j * (step / 4);
                    const int32_t id = (int32_t)((tick * 31 + j * 7 + number * 13 + rank * 5 + pass) % IDS);
                    fine(lig_insert_event(instance, sends[p], at, id, &error));
                }
            }
            fine(lig_tick(instance, NULL, &error));
            for (size_t p = 0; p < receive_count; ++p) show(instance, receives[p], pass, tick + 1);
        }
    }
    lig_instance_free(instance);
    return 0;
}
