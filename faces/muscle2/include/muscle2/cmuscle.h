/* MUSCLE 2's calls in C. A call that fails prints the reason and ends the run with status 3, as there. */
#ifndef LIGAMENT_MUSCLE2_C_H
#define LIGAMENT_MUSCLE2_C_H

#include <stddef.h>

#include "muscle_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Joins the run. */
muscle_error_t MUSCLE_Init(int *argc, char ***argv);
/* Ends all conduits on which this instance sends, and leaves the run. */
void MUSCLE_Finalize(void);

/* The name of the instance. It stays valid until MUSCLE_Finalize. */
const char *MUSCLE_Kernel_Name(void);
/* A setting as a text, which stays valid until MUSCLE_Finalize. A setting that is not there is an error. */
const char *MUSCLE_Get_Property(const char *name);
/* 1 if the setting is there, else 0. */
int MUSCLE_Has_Property(const char *name);
/* 1 if the model time has reached the end of the instance, else 0. */
int MUSCLE_Will_Stop(void);

/* Sends `size` elements. MUSCLE_COMPLEX is for C++ only. */
muscle_error_t MUSCLE_Send(const char *exit_name, void *array, size_t size, muscle_datatype_t type);
/* Receives into `array`, which has room for `*size` elements, or into memory of its own if `array` is NULL.
   `*size` becomes the number of elements. Returns the memory with the elements. */
void *MUSCLE_Receive(const char *entrance_name, void *array, size_t *size, muscle_datatype_t type);
/* Frees what MUSCLE_Receive has allocated. */
void MUSCLE_Free(void *array, muscle_datatype_t type);

#ifdef __cplusplus
}
#endif

#endif
