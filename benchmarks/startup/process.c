// One process of a chain: receives one empty message from the one before it, sends one to the one after it. With
// -DALONE the same without the library: what a process costs by itself.
//
// If STARTUP_HOLD names a folder with a FIFO "go", it adds a byte to the file "arrived" beside that when its exchange
// is done, and stays until somebody opens the FIFO for writing; so all can be looked at while all are there.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void stay(void) {
    const char *folder = getenv("STARTUP_HOLD");
    char path[4096];
    if (!folder) return;
    snprintf(path, sizeof path, "%s/arrived", folder);
    int arrived = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (arrived < 0 || write(arrived, ".", 1) != 1) exit(1);
    close(arrived);
    snprintf(path, sizeof path, "%s/go", folder);
    int go = open(path, O_RDONLY | O_CLOEXEC);  // waits for the writer
    if (go < 0) exit(1);
    close(go);
}

#ifdef ALONE
int main(void) {
    stay();
    return 0;
}
#else
#include <ligament.h>

static lig_error error;

static void checked(lig_status status) {
    if (status == LIG_OK) return;
    fprintf(stderr, "%s\n", error.message);
    exit(1);
}

static bool has_port(lig_instance *instance, const char *port) {
    bool connected = false;
    checked(lig_is_connected(instance, port, &connected, &error));
    return connected;
}

int main(void) {
    lig_instance *instance;
    lig_message *message;
    bool again;
    checked(lig_instance_create(NULL, &instance, &error));
    checked(lig_reuse_instance(instance, &again, &error));
    if (has_port(instance, "in")) {
        checked(lig_receive(instance, "in", NULL, &message, &error));
        lig_message_free(message);
    }
    if (has_port(instance, "out")) checked(lig_send(instance, "out", NULL, NULL, &error));
    stay();
    checked(lig_reuse_instance(instance, &again, &error));
    lig_instance_free(instance);
    return 0;
}
#endif
