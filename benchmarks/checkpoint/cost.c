// An instance that asks whether to save, again and again, and is never told to: cost CALLS. It prints the time
// of a call, ns.
#include "fine.h"
#include "timing.h"

int main(int count, char **arguments) {
    const long calls = count == 2 ? atol(arguments[1]) : 0;
    const lig_instance_options options = {.size = sizeof options, .flags = LIG_USES_CHECKPOINT_API};
    lig_instance *instance;
    bool again, yes;
    fine(lig_instance_create(&options, &instance, &error));
    for (fine(lig_reuse_instance(instance, &again, &error)); again;
         fine(lig_reuse_instance(instance, &again, &error))) {
        fine(lig_resuming(instance, &yes, &error));
        fine(lig_should_init(instance, &yes, &error));
        const uint64_t begun = nanoseconds();
        for (long i = 0; i < calls; ++i) {
            fine(lig_should_save_snapshot(instance, (double)i, &yes, &error));
            if (yes) exit(2);
        }
        printf("%.3f\n", (double)(nanoseconds() - begun) / (double)calls);
        fine(lig_should_save_final_snapshot(instance, &yes, &error));
    }
    lig_instance_free(instance);
    return 0;
}
