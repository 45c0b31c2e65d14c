// Sends one empty message on "out" when it is released (hold.h).
#include "hold.h"
#include <ligament.h>

int main(void) {
    lig_error error;
    lig_instance *instance;
    bool again;
    lig_status status = lig_instance_create(NULL, &instance, &error);
    if (status == LIG_OK) status = lig_reuse_instance(instance, &again, &error);
    if (status == LIG_OK) {
        stay();
        status = lig_send(instance, "out", NULL, NULL, &error);
    }
    if (status == LIG_OK) status = lig_reuse_instance(instance, &again, &error);
    if (status != LIG_OK) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    lig_instance_free(instance);
    return 0;
}
