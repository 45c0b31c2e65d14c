// Plays a script, the first argument, as an instance: see cast.py for the steps.
#define _GNU_SOURCE
#include <ligament.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static lig_error error;
static lig_instance *instance;

static void check(lig_status status) {
    if (status == LIG_OK) return;
    fprintf(stderr, "%s\n", error.message);
    lig_error why;
    lig_error_shutdown(instance, error.message, &why);
    exit(1);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

static void rest(double seconds) {
    struct timespec t = {(time_t)seconds, (long)((seconds - (time_t)seconds) * 1e9)};
    while (nanosleep(&t, &t) != 0) {
    }
}

// Cuts `port[slot]` into its two parts; the slot is -1 if there is none.
static long slot_of(char *port) {
    char *bracket = strchr(port, '[');
    if (bracket == NULL) return -1;
    *bracket = 0;
    return strtol(bracket + 1, NULL, 10);
}

static void receive(char *port, double seconds) {
    const long slot = slot_of(port);
    const lig_receive_options how = {.size = sizeof how,
                                     .timeout = seconds,
                                     .has_timeout = seconds > 0,
                                     .slot = slot < 0 ? 0 : (uint32_t)slot,
                                     .has_slot = slot >= 0};
    lig_message *message;
    const lig_status status = lig_receive(instance, port, &how, &message, &error);
    if (status == LIG_ERR_TIMED_OUT && seconds > 0) return;
    check(status);
    lig_message_free(message);
}

static void send(char *port, const char *bytes) {
    const long slot = slot_of(port);
    const lig_send_options how = {
        .size = sizeof how, .slot = slot < 0 ? 0 : (uint32_t)slot, .has_slot = slot >= 0};
    const size_t n = bytes == NULL ? 0 : strtoull(bytes, NULL, 10);
    void *data = calloc(n + 1, 1);
    const lig_array array = {.dtype = LIG_UINT8, .ndim = 1, .shape = {n}, .data = data};
    check(lig_send_array(instance, port, &how, &array, &error));
    free(data);
}

static void into(char *port, const char *bytes) {
    const size_t n = strtoull(bytes, NULL, 10);
    void *data = calloc(n + 1, 1);
    const lig_array array = {.dtype = LIG_UINT8, .ndim = 1, .shape = {n}, .data = data};
    check(lig_receive_into(instance, port, NULL, &array, NULL, &error));
    free(data);
}

static void any(char **words, size_t count) {
    lig_port_slot ports[8];
    for (size_t i = 0; i < count; i++) {
        const long slot = slot_of(words[i]);
        ports[i] =
            (lig_port_slot){.port = words[i], .slot = slot < 0 ? 0 : (uint32_t)slot, .has_slot = slot >= 0};
    }
    size_t which;
    check(lig_wait_any(instance, ports, count, NULL, &which, &error));
    const lig_receive_options how = {
        .size = sizeof how, .slot = ports[which].slot, .has_slot = ports[which].has_slot};
    lig_message *message;
    check(lig_receive(instance, ports[which].port, &how, &message, &error));
    lig_message_free(message);
}

static void play(char *step) {
    if (step[strspn(step, " ")] == 'x') {
        char *rest_of_it;
        const long times = strtol(strchr(step, 'x') + 1, &rest_of_it, 10);
        for (long i = 0; i < times; i++) {
            char *copy = strdup(rest_of_it), *left = NULL;
            for (char *one = strtok_r(copy, ",", &left); one != NULL; one = strtok_r(NULL, ",", &left))
                play(one);
            free(copy);
        }
        return;
    }
    char *words[8] = {NULL}, *left = NULL;
    size_t count = 0;
    for (char *word = strtok_r(step, " ", &left); word != NULL && count < 8;
         word = strtok_r(NULL, " ", &left)) {
        words[count++] = word;
    }
    const char *what = words[0];
    if (strcmp(what, "send") == 0) {
        send(words[1], words[2]);
    } else if (strcmp(what, "receive") == 0) {
        receive(words[1], 0);
    } else if (strcmp(what, "into") == 0) {
        into(words[1], words[2]);
    } else if (strcmp(what, "within") == 0) {
        receive(words[1], atof(words[2]));
    } else if (strcmp(what, "any") == 0) {
        any(words + 1, count - 1);
    } else if (strcmp(what, "poll") == 0) {
        bool ready = false;
        for (;;) {
            check(lig_poll(instance, words[1], NULL, &ready, &error));
            if (ready) break;
            rest(0.01);
        }
        receive(words[1], 0);
    } else if (strcmp(what, "sleep") == 0) {
        rest(atof(words[1]));
    } else if (strcmp(what, "compute") == 0) {
        volatile double x = 1;
        for (const double end = now() + atof(words[1]); now() < end;) x = x * 1.000001 + 0.1;
    } else if (strcmp(what, "stop") == 0) {
        raise(SIGSTOP);
    } else {
        fprintf(stderr, "what is \"%s\"?\n", what);
        exit(2);
    }
}

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    char *script = argv[1];
    if (strncmp(script, "late ", 5) == 0) {
        rest(atof(script + 5));
        script = strchr(script, ';') + 1;
    }
    const lig_instance_options options = {.size = sizeof options};
    bool again;
    check(lig_instance_create(&options, &instance, &error));
    for (check(lig_reuse_instance(instance, &again, &error)); again;
         check(lig_reuse_instance(instance, &again, &error))) {
        char *copy = strdup(script), *left = NULL;
        for (char *step = strtok_r(copy, ";", &left); step != NULL; step = strtok_r(NULL, ";", &left))
            play(step);
        free(copy);
    }
    lig_instance_free(instance);
}
