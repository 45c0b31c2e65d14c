// The checks of the C test programs: macros that end the program with a line of text if a condition does not
// hold.
#ifndef CHECK_H
#define CHECK_H

#include <ligament.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static lig_error error;

// The condition holds.
#define HOLDS(condition)                                                         \
    do {                                                                         \
        if (!(condition)) {                                                      \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
            exit(1);                                                             \
        }                                                                        \
    } while (0)

// The call ends with this status. If the status is an error, the text has these words.
#define ENDS_WITH(call, wanted, words)                                                                    \
    do {                                                                                                  \
        error.message[0] = 0;                                                                             \
        const lig_status given = (call);                                                                  \
        if (given != (wanted) || !strstr(error.message, words)) {                                         \
            fprintf(stderr, "%s:%d: %s gave %d: \"%s\", not %s with \"%s\"\n", __FILE__, __LINE__, #call, \
                    (int)given, error.message, #wanted, words);                                           \
            exit(1);                                                                                      \
        }                                                                                                 \
    } while (0)

// The call succeeds.
#define FINE(call) ENDS_WITH(call, LIG_OK, "")

#endif
