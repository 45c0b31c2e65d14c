/* Computes for WORK ns in each evaluation. Prints the times at which the first evaluation began and the last
   ended (ns, CLOCK_MONOTONIC). */
#include <ligament.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static long long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static lig_error error;

static void check(lig_status status) {
    if (status == LIG_OK) return;
    fprintf(stderr, "%s\n", error.message);
    exit(1);
}

int main(int count, char **words) {
    long long work = count > 1 ? atoll(words[1]) : 1000000, began = 0, ended = 0;
    const lig_port ports[] = {{LIG_O_F, "answer"}};
    const lig_instance_options options = {.size = sizeof options, .ports = ports, .port_count = 1};
    lig_instance *instance;
    check(lig_instance_create(&options, &instance, &error));
    bool again;
    for (check(lig_reuse_instance(instance, &again, &error)); again;
         check(lig_reuse_instance(instance, &again, &error))) {
        long long begin = now();
        if (!began) began = begin;
        while (now() - begin < work) {
        }
        const lig_send_options at = {.size = sizeof at};
        check(lig_send_float(instance, "answer", &at, 1.0, &error));
        ended = now();
    }
    lig_instance_free(instance);
    printf("%lld %lld\n", began, ended);
    return 0;
}
