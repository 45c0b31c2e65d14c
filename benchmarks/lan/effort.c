// effort.h as a library, for the side of an exchange that is in Python.
#include "effort.h"

void effort(double *processor_s, uint64_t *switches) {
    struct effort sum = effort_here();
    *processor_s = sum.processor_s, *switches = sum.switches;
}
