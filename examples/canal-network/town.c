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

// Returns the number of the first interval: 0, or the saved one if the run resumes within a pass.
static long first_interval(void) {
    bool resumes, init;
    int64_t saved = 0;
    check(lig_resuming(instance, &resumes, &error));
    if (resumes) {
        lig_message *message;
        check(lig_load_snapshot(instance, &message, &error));
        check(lig_value_int(lig_message_value(message), &saved, &error));
        lig_message_free(message);
    }
    check(lig_should_init(instance, &init, &error));
    return init ? 0 : (long)saved;
}

// The state: the number of the next interval.
static void save(double time, long next, bool is_final) {
    const lig_times times = {.timestamp = time};
    lig_value *state = lig_value_new_int(next);
    check(is_final ? lig_save_final_snapshot(instance, &times, state, &error)
                   : lig_save_snapshot(instance, &times, state, &error));
    lig_value_free(state);
}

int main(void) {
    const double turn = 2 * acos(-1.0), day = 86400;
    const lig_port ports[] = {{LIG_O_I, "intake"}};
    const lig_instance_options options = {.size = sizeof options, .ports = ports, .port_count = 1,
                                          .flags = LIG_USES_CHECKPOINT_API};
    check(lig_instance_create(&options, &instance, &error));

    bool again;
    for (check(lig_reuse_instance(instance, &again, &error)); again;
         check(lig_reuse_instance(instance, &again, &error))) {
        const double t_max = setting("t_max"), interval = setting("weather_interval");
        bool is_due;
        long i = first_interval();
        for (; i * interval < t_max; i++) {
            const double time = i * interval;
            const lig_send_options at = {.size = sizeof at,
                                         .timestamp = time,
                                         .next_timestamp = time + interval,
                                         .has_next_timestamp = time + interval < t_max};
            // Negative, because the water leaves the canal.
            const double flow = setting("swing") * cos(turn * time / day) - setting("intake");
            check(lig_send_float(instance, "intake", &at, flow, &error));
            check(lig_should_save_snapshot(instance, time + interval, &is_due, &error));
            if (is_due) save(time + interval, i + 1, false);
        }
        check(lig_should_save_final_snapshot(instance, &is_due, &error));
        if (is_due) save(t_max, i, true);
    }
    lig_instance_free(instance);
}
