// Land as a linear reservoir: its runoff is its storage divided by its delay. A message with the rain of an
// interval starts a pass; the answer is the mean runoff in the interval.
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

// Loads the state, a number, if the run resumes. It is the first call of a pass.
static void load(double *state) {
    bool yes;
    check(lig_resuming(instance, &yes, &error));
    if (!yes) return;
    lig_message *saved;
    check(lig_load_snapshot(instance, &saved, &error));
    check(lig_value_float(lig_message_value(saved), state, &error));
    lig_message_free(saved);
}

// Saves the state at the end of a pass, if a checkpoint is due.
static void save_final(double time, double state) {
    bool yes;
    check(lig_should_save_final_snapshot(instance, &yes, &error));
    if (!yes) return;
    const lig_times times = {.timestamp = time};
    lig_value *saved = lig_value_new_float(state);
    check(lig_save_final_snapshot(instance, &times, saved, &error));
    lig_value_free(saved);
}

int main(void) {
    const lig_port ports[] = {{LIG_F_INIT, "rain"}, {LIG_O_F, "runoff"}};
    const lig_instance_options options = {.size = sizeof options, .ports = ports, .port_count = 2,
                                          .flags = LIG_USES_CHECKPOINT_API};
    check(lig_instance_create(&options, &instance, &error));
    const double area = 1e6 * setting("area"), delay = setting("delay"), interval = setting("weather_interval");
    const double kept = exp(-interval / delay);
    double stored = setting("runoff") * delay;  // m^3

    bool again;
    for (check(lig_reuse_instance(instance, &again, &error)); again;
         check(lig_reuse_instance(instance, &again, &error))) {
        load(&stored);
        bool init;  // true in each pass, because nothing is saved within one
        check(lig_should_init(instance, &init, &error));
        lig_message *rain;
        lig_times times;
        double fallen;  // m/s
        check(lig_receive(instance, "rain", NULL, &rain, &error));
        check(lig_message_times(rain, &times, &error));
        check(lig_value_float(lig_message_value(rain), &fallen, &error));
        lig_message_free(rain);

        const double came = fallen * area, before = stored;
        stored = stored * kept + came * delay * (1 - kept);
        const lig_send_options at = {.size = sizeof at,
                                     .timestamp = times.timestamp,
                                     .next_timestamp = times.next_timestamp,
                                     .has_next_timestamp = times.has_next_timestamp};
        check(lig_send_float(instance, "runoff", &at, came + (before - stored) / interval, &error));
        save_final(times.timestamp + interval, stored);
    }
    lig_instance_free(instance);
}
