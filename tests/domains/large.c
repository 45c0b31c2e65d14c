// Both sides of an exchange of large messages: `macro` sends them, `micro` checks them and answers with a
// number. At one message (LARGE_STEP) one of them writes its process number into a file (LARGE_MARK): before
// the send (`before`), after the send has begun (`midst`), or after the message was received (`end`).
#define _GNU_SOURCE
#include <ligament.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STRIDE = 512 };  // one element in each page

static lig_error error;

static const char *text(const char *name) {
    const char *value = getenv(name);
    return value ? value : "";
}

static void fine(lig_status status) {
    if (status == LIG_OK) return;
    fprintf(stderr, "%s\n", error.message);
    exit(1);
}

static void at(const char *moment, long step) {
    if (strcmp(text("LARGE_MOMENT"), moment) != 0 || step != atol(text("LARGE_STEP"))) return;
    char fresh[4096];
    snprintf(fresh, sizeof fresh, "%s.new", text("LARGE_MARK"));
    FILE *file = fopen(fresh, "w");
    if (!file) return;
    fprintf(file, "%d", (int)getpid());
    fclose(file);
    rename(fresh, text("LARGE_MARK"));
}

static void fill(double *data, uint64_t length, long step) {
    for (uint64_t i = 0; i < length; i += STRIDE) data[i] = (double)step + (double)i;
}

static void look(const double *data, uint64_t length, long step) {
    for (uint64_t i = 0; i < length; i += STRIDE) {
        if (data[i] != (double)step + (double)i) {
            fprintf(stderr, "element %lu of message %ld is wrong\n", (unsigned long)i, step);
            exit(98);
        }
    }
}

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    const bool macro = strcmp(argv[1], "macro") == 0, lends = strcmp(text("LARGE_LENDS"), "yes") == 0;
    const lig_port macros[] = {{LIG_O_I, "out"}, {LIG_S, "in"}},
                   micros[] = {{LIG_F_INIT, "in"}, {LIG_O_F, "out"}};
    const lig_instance_options options = {
        .size = sizeof options, .ports = macro ? macros : micros, .port_count = 2};
    lig_instance *instance;
    fine(lig_instance_create(&options, &instance, &error));
    const uint64_t length = (uint64_t)atol(text("LARGE_SIZE")) / sizeof(double);
    double *data = calloc(length, sizeof *data);
    double answer = 0;
    const lig_array array = {.dtype = LIG_FLOAT64, .ndim = 1, .shape = {length}, .data = data};
    const lig_array number = {.dtype = LIG_FLOAT64, .ndim = 0, .data = &answer};
    const long steps = atol(text("LARGE_STEPS"));
    bool again;
    long step = 0;
    for (fine(lig_reuse_instance(instance, &again, &error)); again;
         fine(lig_reuse_instance(instance, &again, &error))) {
        do {
            const lig_send_options when = {.size = sizeof when, .timestamp = (double)step};
            if (macro) {
                lig_loan *loan = NULL;
                void *place = data;
                if (lends) fine(lig_loan_create(instance, LIG_FLOAT64, 1, &length, &loan, &place, &error));
                fill(place, length, step);
                at("before", step);
                if (lends) fine(lig_send_loan(instance, "out", &when, loan, &error));
                else fine(lig_send_array(instance, "out", &when, &array, &error));
                // The message is being sent from the sender's memory now.
                at("midst", step);
                fine(lig_receive_into(instance, "in", NULL, &number, NULL, &error));
            } else {
                if (step % 2 == 0) {
                    fine(lig_receive_into(instance, "in", NULL, &array, NULL, &error));
                    look(data, length, step);
                } else {
                    lig_message *message;
                    lig_array_view view;
                    fine(lig_receive(instance, "in", NULL, &message, &error));
                    fine(lig_message_array(message, &view, &error));
                    look(view.data, length, step);
                    lig_message_free(message);
                }
                at("end", step);
                fine(lig_send_array(instance, "out", &when, &number, &error));
            }
            step++;
        } while (macro && step < steps);
    }
    lig_instance_free(instance);
    return 0;
}
