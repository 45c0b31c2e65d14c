// Sends or receives parts of an array of 40 elements: each rank of the sender has consecutive ones, and rank
// r of the receiver wants those whose number is r modulo its number of ranks. Built with an MPI or without.
#ifdef WITH_MPI
#include <mpi.h>
#endif
#include <ligament.h>
#include <stdio.h>
#include <string.h>

enum { LENGTH = 40, STEPS = 4 };

int main(int argc, char **argv) {
    const bool sends = argc > 1 && strcmp(argv[1], "send") == 0;
    const lig_port ports[] = {{sends ? LIG_O_I : LIG_S, "part"}};
    const lig_instance_options options = {.size = sizeof options, .ports = ports, .port_count = 1};
    lig_error error = {""};
    lig_instance *instance;
    bool again;
    double part[LENGTH];
    int64_t list[LENGTH];
    size_t count = 0;
#ifdef WITH_MPI
    MPI_Init(&argc, &argv);
#endif
    if (lig_instance_create(&options, &instance, &error) != LIG_OK) goto failed;
    const size_t rank = lig_instance_rank(instance), ranks = lig_instance_ranks(instance);
    if (lig_reuse_instance(instance, &again, &error) != LIG_OK) goto failed;
    if (sends) {
        const size_t first = LENGTH * rank / ranks, last = LENGTH * (rank + 1) / ranks;
        if (lig_map_range(instance, "part", first, last, &error) != LIG_OK) goto failed;
        for (size_t i = first; i < last; ++i) list[count++] = (int64_t)i;
    } else {
        for (size_t i = rank; i < LENGTH; i += ranks) list[count++] = (int64_t)i;
        if (lig_map_list(instance, "part", list, count, &error) != LIG_OK) goto failed;
    }
    const lig_array array = {.dtype = LIG_FLOAT64, .ndim = 1, .shape = {count}, .data = part};
    for (int step = 0; step < STEPS; ++step) {
        const lig_send_options at = {.size = sizeof at, .timestamp = step};
        for (size_t i = 0; i < count; ++i) part[i] = sends ? (double)list[i] + 100.0 * step : -1;
        if (sends && lig_send_array(instance, "part", &at, &array, &error) != LIG_OK) goto failed;
        if (!sends && lig_receive_into(instance, "part", NULL, &array, NULL, &error) != LIG_OK) goto failed;
        for (size_t i = 0; i < count; ++i) {
            if (part[i] == (double)list[i] + 100.0 * step) continue;
            fprintf(stderr, "rank %zu: element %d is %g\n", rank, (int)list[i], part[i]);
            return 1;
        }
    }
    if (lig_reuse_instance(instance, &again, &error) != LIG_OK) goto failed;
    lig_instance_free(instance);
    printf("rank %zu of %zu had %zu elements\n", rank, ranks, count);
#ifdef WITH_MPI
    MPI_Finalize();
#endif
    return 0;
failed:
    fprintf(stderr, "%s\n", error.message);
    return 1;
}
