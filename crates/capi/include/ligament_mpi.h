// ligament_mpi.h: one instance for all ranks of an MPI program. In C and C++, with any MPI of version 3 or newer.
//
// Rank 0 speaks for the instance. What concerns all ranks has a collective form here: to make the instance, to ask
// whether to go on, to receive, and to end. All ranks of the communicator call it together, and all get the same status
// and the same text. Everything else is rank 0's, with the functions of ligament.h:
//
//     lig_mpi_instance *all;
//     if (lig_mpi_instance_create(&options, MPI_COMM_WORLD, &all, &error) != LIG_OK) { … }
//     lig_instance *own = lig_mpi_root(all);                            // NULL on all ranks but 0
//     bool again;
//     while (lig_mpi_reuse_instance(all, &again, &error) == LIG_OK && again) {
//         lig_mpi_receive_into(all, "start", NULL, &field, &times, &error);        // the elements, on all ranks
//         …
//         if (own) lig_send_array(own, "end", &send, &result, &error);
//     }
//     lig_mpi_instance_free(all);
//
// While rank 0 waits for a message the others sleep. Every 10 ms they let MPI go on, so that what is still under way
// between them arrives. What is under way to or from rank 0 should be finished before a collective call.
//
// This file is all there is: the library itself knows no MPI, so that one libligament serves every MPI.

#ifndef LIGAMENT_MPI_H
#define LIGAMENT_MPI_H

#include "ligament.h"

#include <linux/futex.h>
#include <mpi.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#else
// Compilers that keep to the letter of the standard (-std=c11) do not show this one.
extern long syscall(long number, ...);
#endif

// What all ranks share: a communicator of their own, and for those on rank 0's node a word on which they sleep.
typedef struct lig_mpi_instance {
    MPI_Comm comm;
    int rank;
    lig_instance *instance;
    MPI_Comm node;
    MPI_Win window;
    uint32_t *word;
} lig_mpi_instance;

// What rank 0 tells the others of a call.
typedef struct {
    int32_t status;
    int32_t again;
    lig_times times;
} lig_mpi_outcome;

// How long a rank looks for the outcome before it sleeps: as long as a few wake-ups take. In seconds.
#define LIG_MPI_LOOKS_S 2e-4
// How long it sleeps before it lets MPI go on: on rank 0's node, where it is woken, and elsewhere. In nanoseconds.
#define LIG_MPI_SLEEP_NS 10000000
#define LIG_MPI_SLEEP_AFAR_NS 1000000

// Sleeps until rank 0 wakes this rank, or until it is time to let MPI go on.
static inline void lig_mpi_sleep(const lig_mpi_instance *all, uint32_t seen) {
    // A word that nobody wakes, on another node.
    static uint32_t none;
    const struct timespec time = {0, all->word ? LIG_MPI_SLEEP_NS : LIG_MPI_SLEEP_AFAR_NS};
    syscall(SYS_futex, all->word ? all->word : &none, FUTEX_WAIT, seen, &time, NULL, 0);
}

static inline void lig_mpi_wake(const lig_mpi_instance *all) {
    if (all->word) {
        __atomic_add_fetch(all->word, 1, __ATOMIC_SEQ_CST);
        syscall(SYS_futex, all->word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
    }
}

// Waits for a request, without a core of its own.
static inline void lig_mpi_await(const lig_mpi_instance *all, MPI_Request *request) {
    const double until = MPI_Wtime() + LIG_MPI_LOOKS_S;
    for (;;) {
        uint32_t seen = all->word ? __atomic_load_n(all->word, __ATOMIC_SEQ_CST) : 0;
        int done = 0;
        MPI_Test(request, &done, MPI_STATUS_IGNORE);
        if (done) return;
        if (MPI_Wtime() < until)
            sched_yield();
        else
            lig_mpi_sleep(all, seen);
    }
}

// Tells all ranks what came of a call of rank 0's: status, text, and the rest of the outcome.
static inline lig_status lig_mpi_share(const lig_mpi_instance *all, lig_mpi_outcome *outcome, lig_error *error) {
    lig_error text;
    MPI_Request request;
    MPI_Ibcast(outcome, (int)sizeof *outcome, MPI_BYTE, 0, all->comm, &request);
    if (all->rank == 0) {
        lig_mpi_wake(all);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        lig_mpi_await(all, &request);
    }
    if (outcome->status != LIG_OK) {
        memset(&text, 0, sizeof text);
        if (all->rank == 0 && error) text = *error;
        MPI_Bcast(text.message, (int)sizeof text.message, MPI_CHAR, 0, all->comm);
        if (error) *error = text;
    }
    return (lig_status)outcome->status;
}

// Frees what the ranks share.
static inline void lig_mpi_release(lig_mpi_instance *all) {
    if (!all) return;
    if (all->window != MPI_WIN_NULL) MPI_Win_free(&all->window);
    if (all->node != MPI_COMM_NULL) MPI_Comm_free(&all->node);
    MPI_Comm_free(&all->comm);
    free(all);
}

// Collective. What the ranks of `comm` share, without an instance.
static inline lig_status lig_mpi_ranks_create(MPI_Comm comm, lig_mpi_instance **ranks, lig_error *error) {
    lig_mpi_instance *all = (lig_mpi_instance *)calloc(1, sizeof *all);
    int lacking = all == NULL, anywhere = 0, first = -1, rank = 0;
    *ranks = NULL;
    MPI_Allreduce(&lacking, &anywhere, 1, MPI_INT, MPI_MAX, comm);
    if (anywhere) {
        free(all);
        if (error) strcpy(error->message, "a rank has no memory for an instance");
        return LIG_ERR_OUT_OF_MEMORY;
    }
    MPI_Comm_dup(comm, &all->comm);
    MPI_Comm_rank(all->comm, &all->rank);
    MPI_Comm_split_type(all->comm, MPI_COMM_TYPE_SHARED, all->rank, MPI_INFO_NULL, &all->node);
    first = all->rank;
    MPI_Bcast(&first, 1, MPI_INT, 0, all->node);
    MPI_Comm_rank(all->node, &rank);
    {
        void *memory = NULL;
        MPI_Aint size = 0;
        int unit = 0;
        MPI_Win_allocate_shared(rank == 0 ? 64 : 0, 1, MPI_INFO_NULL, all->node, &memory, &all->window);
        MPI_Win_shared_query(all->window, 0, &size, &unit, &memory);
        if (first == 0) all->word = (uint32_t *)memory;
        if (all->rank == 0) __atomic_store_n(all->word, 0, __ATOMIC_SEQ_CST);
        MPI_Barrier(all->node);
    }
    *ranks = all;
    return LIG_OK;
}

// Collective. Joins the run as `lig_instance_create` does. All ranks of `comm` take part, for which a communicator of
// the instance's own is made. Free it with `lig_mpi_instance_free`.
//
// As `lig_instance_create`; `LIG_ERR_OUT_OF_MEMORY`. `options` counts on rank 0 only.
static inline lig_status lig_mpi_instance_create(const lig_instance_options *options, MPI_Comm comm,
                                                 lig_mpi_instance **instance, lig_error *error) {
    lig_mpi_instance *all;
    lig_mpi_outcome outcome;
    lig_error own;
    *instance = NULL;
    if (lig_mpi_ranks_create(comm, &all, error) != LIG_OK) return LIG_ERR_OUT_OF_MEMORY;
    memset(&outcome, 0, sizeof outcome);
    memset(&own, 0, sizeof own);
    if (all->rank == 0) outcome.status = lig_instance_create(options, &all->instance, &own);
    if (lig_mpi_share(all, &outcome, &own) != LIG_OK) {
        if (error) *error = own;
        lig_mpi_release(all);
        return (lig_status)outcome.status;
    }
    *instance = all;
    return LIG_OK;
}

// Rank 0's instance, for all that is not collective; NULL on the other ranks.
static inline lig_instance *lig_mpi_root(const lig_mpi_instance *all) { return all->instance; }

// Collective. As `lig_reuse_instance`.
static inline lig_status lig_mpi_reuse_instance(lig_mpi_instance *all, bool *again, lig_error *error) {
    lig_mpi_outcome outcome;
    bool more = false;
    lig_status status;
    memset(&outcome, 0, sizeof outcome);
    if (all->rank == 0) {
        outcome.status = lig_reuse_instance(all->instance, &more, error);
        outcome.again = more;
    }
    status = lig_mpi_share(all, &outcome, error);
    *again = outcome.again != 0;
    return status;
}

// Collective. As `lig_receive`: rank 0 gets the message, and frees it; the others get NULL, and its times. `times` may
// be NULL. What stands in the message is not told to them; `lig_mpi_receive_into` does that.
static inline lig_status lig_mpi_receive(lig_mpi_instance *all, const char *port, const lig_receive_options *options,
                                         lig_message **message, lig_times *times, lig_error *error) {
    lig_mpi_outcome outcome;
    lig_status status;
    memset(&outcome, 0, sizeof outcome);
    *message = NULL;
    if (all->rank == 0) {
        outcome.status = lig_receive(all->instance, port, options, message, error);
        if (outcome.status == LIG_OK) lig_message_times(*message, &outcome.times, NULL);
    }
    status = lig_mpi_share(all, &outcome, error);
    if (times && status == LIG_OK) *times = outcome.times;
    return status;
}

// Collective. Gives rank 0's elements to all ranks.
static inline void lig_mpi_give_to_all(const lig_mpi_instance *all, const lig_array *array) {
    uint64_t bytes = lig_dtype_size(array->dtype), done = 0;
    uint32_t i;
    for (i = 0; i < array->ndim; i++) bytes *= array->shape[i];
    while (done < bytes) {
        // MPI counts in int.
        uint64_t piece = bytes - done < (1u << 30) ? bytes - done : (1u << 30);
        MPI_Bcast((char *)array->data + done, (int)piece, MPI_BYTE, 0, all->comm);
        done += piece;
    }
}

// Collective. As `lig_receive_into`, on all ranks: each gives memory of its own, of the same type and shape.
static inline lig_status lig_mpi_receive_into(lig_mpi_instance *all, const char *port,
                                              const lig_receive_options *options, const lig_array *into,
                                              lig_times *times, lig_error *error) {
    lig_mpi_outcome outcome;
    lig_status status;
    memset(&outcome, 0, sizeof outcome);
    if (all->rank == 0) outcome.status = lig_receive_into(all->instance, port, options, into, &outcome.times, error);
    status = lig_mpi_share(all, &outcome, error);
    if (status != LIG_OK) return status;
    if (times) *times = outcome.times;
    lig_mpi_give_to_all(all, into);
    return LIG_OK;
}

// Collective. As `lig_finish`.
static inline lig_status lig_mpi_finish(lig_mpi_instance *all, lig_error *error) {
    lig_mpi_outcome outcome;
    memset(&outcome, 0, sizeof outcome);
    if (all->rank == 0) outcome.status = lig_finish(all->instance, error);
    return lig_mpi_share(all, &outcome, error);
}

// Collective. As `lig_instance_free`. Call it before `MPI_Finalize`. NULL is allowed.
static inline void lig_mpi_instance_free(lig_mpi_instance *all) {
    if (!all) return;
    lig_instance_free(all->instance);
    lig_mpi_release(all);
}

#ifdef __cplusplus
}
#endif

#endif  // LIGAMENT_MPI_H
