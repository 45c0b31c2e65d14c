// Calls that need no run: which calls are refused, and with which text. Prints the text of the attempt to
// create an instance.
#include "check.h"

int main(void) {
    HOLDS(strcmp(lig_version(), "0.1.0") == 0);

    lig_instance *instance = (lig_instance *)&error;
    HOLDS(lig_instance_create(NULL, &instance, NULL) == LIG_ERR_REGISTRATION);
    HOLDS(instance == NULL);
    ENDS_WITH(lig_instance_create(NULL, &instance, &error), LIG_ERR_REGISTRATION, "LIGAMENT_AGENT");
    puts(error.message);

    // Impossible options are refused.
    ENDS_WITH(lig_instance_create(NULL, NULL, &error), LIG_ERR_USAGE, "instance is NULL");
    lig_instance_options forgotten = {0};
    ENDS_WITH(lig_instance_create(&forgotten, &instance, &error), LIG_ERR_USAGE,
              "sizeof(lig_instance_options)");
    forgotten.size = (size_t)0x7f0000001000;
    ENDS_WITH(lig_instance_create(&forgotten, &instance, &error), LIG_ERR_USAGE,
              "sizeof(lig_instance_options)");
    const lig_port wrong = {(lig_operator)9, "a"};
    lig_instance_options options = {.size = sizeof options, .ports = &wrong, .port_count = 1};
    ENDS_WITH(lig_instance_create(&options, &instance, &error), LIG_ERR_USAGE, "operator 9");
    const lig_port nameless = {LIG_S, NULL};
    options.ports = &nameless;
    ENDS_WITH(lig_instance_create(&options, &instance, &error), LIG_ERR_USAGE, "name is NULL");
    const lig_port not_utf8 = {LIG_S, "\xff"};
    options.ports = &not_utf8;
    ENDS_WITH(lig_instance_create(&options, &instance, &error), LIG_ERR_USAGE, "not UTF-8");
    // Options of a later header, with members that this library does not know.
    struct {
        lig_instance_options known;
        double later;
    } longer = {.known = {.size = sizeof longer}};
    ENDS_WITH(lig_instance_create(&longer.known, &instance, &error), LIG_ERR_REGISTRATION, "");
    longer.later = 1;
    ENDS_WITH(lig_instance_create(&longer.known, &instance, &error), LIG_ERR_USAGE, "a newer Ligament");
    // Options of an earlier header, which ended before `language`: the bytes behind it are not read.
    lig_instance_options shorter = {.size = offsetof(lig_instance_options, language),
                                    .language = (const char *)1};
    ENDS_WITH(lig_instance_create(&shorter, &instance, &error), LIG_ERR_REGISTRATION, "");
    const lig_instance_options flagged = {.size = sizeof flagged, .flags = (uint64_t)1 << 63};
    ENDS_WITH(lig_instance_create(&flagged, &instance, &error), LIG_ERR_USAGE, "no flags 0x8000000000000000");

    // Every value of a truth value except 0 is true, not only 1.
    bool found;
    lig_value *(*new_bool)(unsigned char) = (lig_value * (*)(unsigned char))(void (*)(void))lig_value_new_bool;
    lig_value *truth_of_fortran = new_bool(0xff);
    FINE(lig_value_bool(truth_of_fortran, &found, &error));
    HOLDS(memcmp(&found, "\1", 1) == 0);
    lig_value_free(truth_of_fortran);

    // NULL is an error, or does nothing.
    bool truth;
    size_t count;
    lig_message *message = NULL;
    ENDS_WITH(lig_reuse_instance(NULL, &truth, &error), LIG_ERR_USAGE, "instance is NULL");
    ENDS_WITH(lig_send(NULL, "out", NULL, NULL, &error), LIG_ERR_USAGE, "instance is NULL");
    ENDS_WITH(lig_receive(NULL, "in", NULL, &message, &error), LIG_ERR_USAGE, "instance is NULL");
    ENDS_WITH(lig_receive(NULL, "in", NULL, NULL, &error), LIG_ERR_USAGE, "message is NULL");
    ENDS_WITH(lig_value_bool(NULL, &truth, &error), LIG_ERR_USAGE, "value is NULL");
    ENDS_WITH(lig_value_count(NULL, &count, &error), LIG_ERR_USAGE, "value is NULL");
    ENDS_WITH(lig_run_submodel(NULL, NULL, &error), LIG_ERR_USAGE, "lig_submodel is NULL");
    HOLDS(lig_instance_name(NULL) == NULL && lig_run_name(NULL) == NULL);
    HOLDS(lig_instance_index(NULL, NULL) == 0);
    HOLDS(lig_names_count(NULL) == 0 && lig_names_at(NULL, 0) == NULL);
    HOLDS(lig_message_value(NULL) == NULL && lig_message_settings(NULL) == NULL);
    HOLDS(lig_value_kind(NULL) == LIG_KIND_NONE && lig_loan_data(NULL) == NULL);
    lig_instance_free(NULL);
    lig_message_free(NULL);
    lig_names_free(NULL);
    lig_loan_free(NULL, NULL);
    lig_value_free(NULL);
}
