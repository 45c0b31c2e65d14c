// A town that draws water from a canal: little at night, more by day.
#include <ligament.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static lig_instance *instance;
static lig_error error;

static void check(lig_status status) {
    if (status == LIG_OK) return;
    fprintf(stderr, "%s\n", error.message);
    exit(1);
}

static double setting(const char *name) {
    double value;
    check(lig_get_setting_float(instance, name, &value, &error));
    return value;
}

int main(void) {
    const double turn = 2 * acos(-1.0), day = 86400;
    const lig_port ports[] = {{LIG_O_I, "intake"}};
    const lig_instance_options options = {.size = sizeof options, .ports = ports, .port_count = 1};
    check(lig_instance_create(&options, &instance, &error));

    bool again;
    for (check(lig_reuse_instance(instance, &again, &error)); again;
         check(lig_reuse_instance(instance, &again, &error))) {
        const double t_max = setting("t_max"), interval = setting("weather_interval");
        for (long i = 0; i * interval < t_max; i++) {
            const double time = i * interval;
            const lig_send_options at = {.size = sizeof at,
                                         .timestamp = time,
                                         .next_timestamp = time + interval,
                                         .has_next_timestamp = time + interval < t_max};
            // Negative, because the water leaves the canal.
            const double flow = setting("swing") * cos(turn * time / day) - setting("intake");
            check(lig_send_float(instance, "intake", &at, flow, &error));
        }
    }
    lig_instance_free(instance);
}
