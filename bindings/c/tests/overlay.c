// The way of an overlay of settings. "giver" sends it to the settings port of "taker", which applies it. The
// messages of "taker" carry it to "asker", which does not apply overlays but reads them.
#include "check.h"

static lig_instance *instance;

static int64_t setting_k(void) {
    int64_t k;
    FINE(lig_get_setting_int(instance, "k", &k, &error));
    return k;
}

static void give(void) {
    for (int k = 7; k < 9; ++k) {
        lig_value *map = lig_value_new_map(), *settings;
        FINE(lig_value_set(map, "k", lig_value_new_int(k), &error));
        FINE(lig_value_new_settings(map, &settings, &error));
        FINE(lig_send(instance, "settings", NULL, settings, &error));
        lig_value_free(map);
        lig_value_free(settings);
    }
}

int main(int argc, char **argv) {
    HOLDS(argc == 2);
    const bool asks = strcmp(argv[1], "asker") == 0;
    const lig_instance_options options = {.size = sizeof options, .flags = asks ? LIG_DONT_APPLY_OVERLAY : 0};
    FINE(lig_instance_create(&options, &instance, &error));
    int passes = 0;
    for (;; ++passes) {
        bool again;
        FINE(lig_reuse_instance(instance, &again, &error));
        if (!again) break;
        if (strcmp(argv[1], "giver") == 0) {
            give();
        } else if (!asks) {
            HOLDS(setting_k() == 7 + passes);
            FINE(lig_send_int(instance, "out", NULL, passes, &error));
        } else {
            lig_message *message;
            int64_t k;
            FINE(lig_receive(instance, "in", NULL, &message, &error));
            const lig_value *overlay = lig_message_settings(message), *entry;
            HOLDS(overlay != NULL);
            FINE(lig_value_find(overlay, "k", &entry, &error));
            FINE(lig_value_int(entry, &k, &error));
            HOLDS(k == 7 + passes && setting_k() == 1);
            lig_message_free(message);
        }
    }
    HOLDS(passes == (strcmp(argv[1], "giver") == 0 ? 1 : 2));
    lig_instance_free(instance);
}
