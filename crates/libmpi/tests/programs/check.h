/* Checks of the programs: a line on stderr and a status that is not zero. */

#ifndef CHECK_H
#define CHECK_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int wrong;

#define CHECK(condition)                                                            \
    do {                                                                            \
        if (!(condition)) {                                                         \
            fprintf(stderr, "%s:%d: %s is wrong\n", __FILE__, __LINE__, #condition); \
            wrong = 1;                                                              \
        }                                                                           \
    } while (0)

#endif
