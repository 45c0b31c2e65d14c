// The checks that the C test programs share: statements that end the program with a line when they do not hold.
#ifndef CHECK_H
#define CHECK_H

#include <ligament.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static lig_error error;

// A condition holds.
#define HOLDS(condition)                                                         \
    do {                                                                         \
        if (!(condition)) {                                                      \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
            exit(1);                                                             \
        }                                                                        \
    } while (0)

// A call ends with this status; if that is an error, its text has these words.
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

// A call succeeds.
#define FINE(call) ENDS_WITH(call, LIG_OK, "")

#endif
