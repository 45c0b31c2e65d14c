// A sender or a receiver of arrays: stream out|in BYTES COUNT. The receiver prints the time, ns, from its first
// message to its last one.
#include "fine.h"
#include "timing.h"
#include <string.h>

int main(int count, char **arguments) {
    if (count != 4) return 2;
    const int sends = strcmp(arguments[1], "out") == 0;
    const uint64_t words = strtoull(arguments[2], NULL, 10) / 8;
    const int messages = atoi(arguments[3]);
    const lig_port ports[] = {{sends ? LIG_O_I : LIG_S, arguments[1]}};
    const lig_instance_options options = {.size = sizeof options, .ports = ports, .port_count = 1};
    uint64_t *data = malloc(8 * words), begun = 0;
    lig_instance *instance;
    bool again;
    if (data == NULL) return 2;
    for (uint64_t i = 0; i < words; ++i) data[i] = random_word(i);
    const lig_array field = {.dtype = LIG_UINT64, .ndim = 1, .shape = {words}, .data = data};
    fine(lig_instance_create(&options, &instance, &error));
    for (fine(lig_reuse_instance(instance, &again, &error)); again;
         fine(lig_reuse_instance(instance, &again, &error)))
        for (int i = 0; i < messages; ++i) {
            const lig_send_options times = {.size = sizeof times, .timestamp = i};
            lig_message *message;
            if (sends) {
                fine(lig_send_array(instance, "out", &times, &field, &error));
                continue;
            }
            fine(lig_receive(instance, "in", NULL, &message, &error));
            lig_message_free(message);
            if (i == 0) begun = nanoseconds();
        }
    if (!sends) printf("%llu\n", (unsigned long long)(nanoseconds() - begun));
    lig_instance_free(instance);
    return 0;
}
