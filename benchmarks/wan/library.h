// Common parts of both programs with the library: the last error, and calls that end the program if they fail.
#ifndef WAN_LIBRARY_H
#define WAN_LIBRARY_H
#include <ligament.h>

#include "wan.h"

static lig_error error;

#define TRY(call)                                                                   \
    do {                                                                            \
        if ((call) != LIG_OK) fail("%s: %s", #call, error.message);                 \
    } while (0)
#endif
