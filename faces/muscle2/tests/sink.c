/* A sink in C: answers each message, and takes one of each type. */
#include <inttypes.h>
#include <muscle2/cmuscle.h>
#include <stdbool.h>
#include <stdio.h>

int main(int argc, char **argv) {
    MUSCLE_Init(&argc, &argv);
    printf("%s %s %d\n", MUSCLE_Kernel_Name(), MUSCLE_Get_Property("dt"), MUSCLE_Has_Property("nothing"));
    while (!MUSCLE_Will_Stop()) {
        double level[4];
        size_t count = 4;
        MUSCLE_Receive("level", level, &count, MUSCLE_DOUBLE);
        level[0] *= 2;
        MUSCLE_Send("answer", level, count, MUSCLE_DOUBLE);
    }
    size_t count = 0;
    float *floats = MUSCLE_Receive("floats", NULL, &count, MUSCLE_FLOAT);
    printf("%zu %g %g\n", count, floats[0], floats[1]);
    MUSCLE_Free(floats, MUSCLE_FLOAT);
    int32_t *ints = MUSCLE_Receive("ints", NULL, &count, MUSCLE_INT32);
    printf("%zu %" PRId32 "\n", count, ints[2]);
    MUSCLE_Free(ints, MUSCLE_INT32);
    int64_t *longs = MUSCLE_Receive("longs", NULL, &count, MUSCLE_INT64);
    printf("%zu %" PRId64 " %" PRId64 "\n", count, longs[0], longs[1]);
    MUSCLE_Free(longs, MUSCLE_INT64);
    bool *truths = MUSCLE_Receive("truths", NULL, &count, MUSCLE_BOOLEAN);
    printf("%zu %d %d\n", count, truths[0], truths[1]);
    MUSCLE_Free(truths, MUSCLE_BOOLEAN);
    char *text = MUSCLE_Receive("text", NULL, &count, MUSCLE_STRING);
    printf("%zu %s\n", count, text);
    MUSCLE_Free(text, MUSCLE_STRING);
    unsigned char *raw = MUSCLE_Receive("raw", NULL, &count, MUSCLE_RAW);
    printf("%zu %d %d %d\n", count, raw[0], raw[1], raw[2]);
    MUSCLE_Free(raw, MUSCLE_RAW);
    MUSCLE_Finalize();
    return 0;
}
