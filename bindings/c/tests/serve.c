// Messages that carry settings. "client" sends each request with other settings. "worker" computes with these
// settings. "server" passes each message on with the settings that came with it: as a message, an array, and a
// loan.
#include "check.h"

static lig_instance *instance;

enum { REQUESTS = 4 };

static lig_value *k_is(int64_t k) {
    lig_value *map = lig_value_new_map(), *list = lig_value_new_list();
    FINE(lig_value_set(map, "k", lig_value_new_int(k), &error));
    FINE(lig_value_append(list, lig_value_new_float(0.5), &error));
    FINE(lig_value_set(map, "list", list, &error));
    return map;
}

static int64_t k_of(const lig_value *settings) {
    const lig_value *entry;
    int64_t k;
    FINE(lig_value_find(settings, "k", &entry, &error));
    FINE(lig_value_int(entry, &k, &error));
    return k;
}

static double number_in(const lig_message *message) {
    double number;
    lig_array_view view;
    if (lig_value_kind(lig_message_value(message)) == LIG_KIND_ARRAY) {
        FINE(lig_message_array(message, &view, &error));
        return *(const double *)view.data;
    }
    FINE(lig_value_float(lig_message_value(message), &number, &error));
    return number;
}

static void ask(int request) {
    lig_value *map = k_is(request % 2 + 10), *settings = map;
    if (request >= 2) {
        FINE(lig_value_new_settings(map, &settings, &error));
    }
    const lig_send_options options = {.size = sizeof options, .timestamp = request, .settings = settings};
    FINE(lig_send_float(instance, "requests", &options, request, &error));
    if (settings != map) lig_value_free(settings);
    lig_value_free(map);
    lig_message *answer;
    FINE(lig_receive(instance, "answers", NULL, &answer, &error));
    HOLDS(k_of(lig_message_settings(answer)) == request % 2 + 10);
    HOLDS(number_in(answer) == request + 100 * (request % 2 + 10));
    lig_message_free(answer);
}

static void wrong_overlays(void) {
    lig_value *list = lig_value_new_list(), *map = lig_value_new_map();
    FINE(lig_value_set(map, "k", lig_value_new_complex(1, 2), &error));
    const lig_value *wrong[] = {list, map};
    for (int i = 0; i < 2; ++i) {
        const lig_send_options options = {.size = sizeof options, .settings = wrong[i]};
        ENDS_WITH(lig_send_float(instance, "requests", &options, 1.0, &error), LIG_ERR_USAGE,
                  i ? "\"k\" cannot be a setting" : "must be settings, or a map");
    }
    lig_value_free(list);
    lig_value_free(map);
}

static void work(void) {
    lig_message *message;
    int64_t k;
    FINE(lig_receive(instance, "in", NULL, &message, &error));
    FINE(lig_get_setting_int(instance, "k", &k, &error));
    FINE(lig_send_float(instance, "out", NULL, number_in(message) + 100.0 * (double)k, &error));
    lig_message_free(message);
}

static void serve(int pass) {
    lig_message *message;
    FINE(lig_receive(instance, "in", NULL, &message, &error));
    const lig_send_options options = {.size = sizeof options, .settings = lig_message_settings(message)};
    double numbers[] = {number_in(message), 0.0, 0.0};
    const lig_array whole = {.dtype = LIG_FLOAT64, .ndim = 1, .shape = {3}, .data = numbers};
    const int64_t stride = 16;
    lig_array spaced = whole;
    spaced.shape[0] = 2;
    spaced.strides = &stride;
    lig_loan *loan;
    void *data;
    switch (pass) {
        case 0: FINE(lig_send(instance, "out", &options, lig_message_value(message), &error)); break;
        case 1: FINE(lig_send_array(instance, "out", &options, &whole, &error)); break;
        case 2: FINE(lig_send_array(instance, "out", &options, &spaced, &error)); break;
        default:
            FINE(lig_loan_create(instance, LIG_FLOAT64, 1, whole.shape, &loan, &data, &error));
            memcpy(data, numbers, sizeof numbers);
            FINE(lig_send_loan(instance, "out", &options, loan, &error));
    }
    lig_message_free(message);
}

int main(int argc, char **argv) {
    HOLDS(argc == 2);
    const bool worker = strcmp(argv[1], "worker") == 0;
    const lig_instance_options options = {.size = sizeof options, .flags = worker ? 0 : LIG_DONT_APPLY_OVERLAY};
    FINE(lig_instance_create(&options, &instance, &error));
    for (int pass = 0;; ++pass) {
        bool again;
        FINE(lig_reuse_instance(instance, &again, &error));
        if (!again) break;
        if (worker) {
            work();
        } else if (strcmp(argv[1], "server") == 0) {
            serve(pass);
        } else {
            wrong_overlays();
            for (int request = 0; request < REQUESTS; ++request) ask(request);
        }
    }
    lig_instance_free(instance);
}
