// ligament_mpi.h: one instance for all ranks of an MPI program. In C and C++, with any MPI of version 3 or
// newer.
//
// Rank 0 speaks for the instance. What concerns all ranks has a collective form here: to make the instance, to
// ask whether to go on, to receive, to be steered, to save and load checkpoints, and to end. All ranks of the
// communicator call it together,
// and all get the same status and the same text. Everything else is rank 0's, with the functions of ligament.h:
//
//     lig_mpi_instance *all;
//     if (lig_mpi_instance_create(&options, MPI_COMM_WORLD, &all, &error) != LIG_OK) { … }
//     lig_instance *own = lig_mpi_root(all);                            // NULL on all ranks but 0
//     bool again;
//     while (lig_mpi_reuse_instance(all, &again, &error) == LIG_OK && again) {
//         // The elements, on all ranks.
//         lig_mpi_receive_into(all, "start", NULL, &field, &times, &error);
//         …
//         if (own) lig_send_array(own, "end", &send, &result, &error);
//     }
//     lig_mpi_instance_free(all);
//
// While rank 0 waits for a message the others sleep. Now and then, at first every 10 ms, they let MPI go on, so
// that what is still under way between them arrives. What is under way to or from rank 0 should be finished
// before a collective call.
//
// All ranks make the same collective calls in the same order. A rank whose call is another than rank 0's, or
// that calls MPI_Finalize before the instance is done, says so on standard error and calls MPI_Abort.
// `ligament status` names ranks that do not come to a call.
//
// This file is all there is: the library itself knows no MPI, so that one libligament serves every MPI.

#ifndef LIGAMENT_MPI_H
#define LIGAMENT_MPI_H

#include "ligament.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <mpi.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#else
// Compilers that keep to the letter of the standard (-std=c11) do not show this one.
extern long syscall(long number, ...);
#endif

// The collective calls. The numbers are those of Python's ligament.mpi and of the agent, which reads them for
// status.
enum {
    LIG_MPI_CREATE = 1,
    LIG_MPI_REUSE = 2,
    LIG_MPI_RECEIVE = 3,
    LIG_MPI_RECEIVE_INTO = 4,
    LIG_MPI_FINISH = 5,
    LIG_MPI_FREE = 6,
    LIG_MPI_STEER = 9,
    LIG_MPI_RESUMING = 10,
    LIG_MPI_LOAD_SNAPSHOT = 11,
    LIG_MPI_SHOULD_INIT = 12,
    LIG_MPI_SHOULD_SAVE_SNAPSHOT = 13,
    LIG_MPI_SAVE_SNAPSHOT = 14,
    LIG_MPI_SHOULD_SAVE_FINAL_SNAPSHOT = 15,
    LIG_MPI_SAVE_FINAL_SNAPSHOT = 16,
    LIG_MPI_SNAPSHOT_DIRECTORY = 17
};

// The first letters of a port's name, with a zero at the end.
#define LIG_MPI_PORT 40

// Memory of rank 0's, which the ranks beside it look at. Its calls are counted there, and who sleeps until the
// next. After it there is a line for each rank.
typedef struct {
    uint32_t calls;
    uint32_t sleepers;
    uint64_t token[2];
    uint32_t version;
    uint32_t ranks;
    uint32_t unused[8];
} lig_mpi_word;

// A rank's line about itself, for those who look at the run: how many calls it has come to, the last of them
// and whether it is in that, its process, and the time of its last coming or going, in ns since 1970. Only the
// rank itself writes it.
typedef struct {
    uint32_t calls;
    uint32_t call;
    uint32_t process;
    uint32_t is_in;
    uint64_t since;
    char port[LIG_MPI_PORT];
} lig_mpi_line;

// The data that all ranks share: a communicator of their own, rank 0's word, and a communicator of rank 0 and
// those that cannot see its word since they are on other nodes, if there are any. Then the call in which this
// rank is, whether the instance goes on after the last one, by what it hears of MPI_Finalize, and the directory
// that `lig_mpi_snapshot_directory` gave last.
typedef struct lig_mpi_instance {
    MPI_Comm comm;
    int rank;
    lig_instance *instance;
    lig_mpi_word *word;
    uint32_t calls;
    MPI_Comm afar;
    int ranks;
    int32_t call;
    uint64_t bytes;
    char port[LIG_MPI_PORT];
    int goes_on;
    int at_finalize;
    char *directory;
} lig_mpi_instance;

// Rank 0's message to the others about a call, and the call's number. `lig_mpi_share` fills in the latter.
// `again`: whether the instance goes on, or settings have changed.
typedef struct {
    int32_t status;
    int32_t again;
    lig_times times;
    uint64_t bytes;
    int32_t call;
    char port[LIG_MPI_PORT];
} lig_mpi_outcome;

// Rank 0's text where it cannot speak for all.
#define LIG_MPI_EACH_RANK                                                                                     \
    "the model says under \"ranks:\" that each rank of this instance speaks for itself; make an instance of " \
    "the ordinary "                                                                                           \
    "kind on every rank, or take it out of \"ranks:\""

// How long a rank looks for rank 0's call before it sleeps: as long as a few wake-ups take. In seconds.
#define LIG_MPI_LOOKS_S 2e-4
// A rank that waits sleeps for a tenth of the time that it has waited, between these limits, and then lets MPI
// go on. In seconds.
#define LIG_MPI_MIN_SLEEP_S 0.01
#define LIG_MPI_MAX_SLEEP_S 0.1
// And on other nodes, where nobody wakes it. In nanoseconds.
#define LIG_MPI_SLEEP_AFAR_NS 1000000
// The room of rank 0's word and of the ranks' lines is a multiple of this.
#define LIG_MPI_PAGE 4096
#define LIG_MPI_VERSION 1

// This rank's line about itself as it comes to a call, and after it.
static inline void lig_mpi_say(const lig_mpi_instance *all, uint32_t is_in) {
    struct timespec now = {0, 0};
    lig_mpi_line *line;
    if (!all->word) return;
    line = (lig_mpi_line *)(all->word + 1) + all->rank;
    timespec_get(&now, TIME_UTC);
    if (is_in) memcpy(line->port, all->port, sizeof line->port);
    __atomic_store_n(&line->since, 1000000000u * (uint64_t)now.tv_sec + (uint64_t)now.tv_nsec,
                     __ATOMIC_RELAXED);
    __atomic_store_n(&line->is_in, is_in, __ATOMIC_RELAXED);
    __atomic_store_n(&line->call, (uint32_t)all->call, __ATOMIC_RELAXED);
    __atomic_store_n(&line->calls, all->calls, __ATOMIC_RELEASE);
}

// Comes to a collective call, with which each begins. `port` may be NULL where there is none; `bytes` are those
// of an array that all ranks get.
static inline void lig_mpi_enter(lig_mpi_instance *all, int32_t call, const char *port, uint64_t bytes) {
    all->calls++;
    all->call = call;
    all->bytes = bytes;
    memset(all->port, 0, sizeof all->port);
    if (port) strncpy(all->port, port, sizeof all->port - 1);
    lig_mpi_say(all, 1);
}

// A call in words.
static inline const char *lig_mpi_call_name(int32_t call) {
    static const char *const names[] = {"nothing",
                                        "create",
                                        "reuse_instance",
                                        "receive",
                                        "receive_into",
                                        "finish",
                                        "free",
                                        "receive_all",
                                        "get_setting",
                                        "steer",
                                        "resuming",
                                        "load_snapshot",
                                        "should_init",
                                        "should_save_snapshot",
                                        "save_snapshot",
                                        "should_save_final_snapshot",
                                        "save_final_snapshot",
                                        "snapshot_directory"};
    return call > 0 && call < (int32_t)(sizeof names / sizeof *names) ? names[call] : names[0];
}

// Waits until the launcher has taken what this rank has written, at most a second. MPICH's loses what still
// lies in the pipe when a rank calls MPI_Abort.
static inline void lig_mpi_be_heard(int output) {
    static uint32_t nobody;
    const struct timespec time = {0, 1000000};
    struct stat what;
    int looks, unread = 0;
    if (fstat(output, &what) != 0 || !S_ISFIFO(what.st_mode)) return;
    for (looks = 0; looks < 1000 && ioctl(output, FIONREAD, &unread) == 0 && unread > 0; looks++)
        syscall(SYS_futex, &nobody, FUTEX_WAIT, 0, &time, NULL, 0);
}

// Ends the program on all ranks, since the others would wait for this one for ever.
static inline void lig_mpi_give_up(const lig_mpi_instance *all, const char *why) {
    fprintf(stderr, "ligament: rank %d %s\n", all->rank, why);
    fflush(NULL);
    lig_mpi_be_heard(STDOUT_FILENO);
    lig_mpi_be_heard(STDERR_FILENO);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

// Compares this rank's call with rank 0's. Otherwise they would take what is for one call for that of another.
static inline void lig_mpi_compare(const lig_mpi_instance *all, const lig_mpi_outcome *told) {
    char why[512];
    const int named = all->port[0] != 0 && told->port[0] != 0;
    if (told->call == all->call && told->bytes == all->bytes && !(named && strcmp(told->port, all->port) != 0))
        return;
    snprintf(why, sizeof why,
             "calls %s(\"%.39s\") for %llu bytes as the collective call %lu, where rank 0 calls %s(\"%.39s\") "
             "for %llu bytes; "
             "all ranks must make the same calls in the same order, for the same port, and give memory of the "
             "same size",
             lig_mpi_call_name(all->call), all->port, (unsigned long long)all->bytes, (unsigned long)all->calls,
             lig_mpi_call_name(told->call), told->port, (unsigned long long)told->bytes);
    lig_mpi_give_up(all, why);
}

// Waits until rank 0 has made the call that this rank is in. It is seldom behind, so that this is looked at
// first.
static inline void lig_mpi_await_beside(const lig_mpi_instance *all) {
    lig_mpi_word *word = all->word;
    double began = 0;
    for (;;) {
        uint32_t seen = 0;
        int looks, flag;
        for (looks = 0; looks < 64; looks++) {
            seen = __atomic_load_n(&word->calls, __ATOMIC_ACQUIRE);
            if ((int32_t)(seen - all->calls) >= 0) return;
        }
        const double now = MPI_Wtime();
        if (began == 0) began = now;
        if (now - began < LIG_MPI_LOOKS_S) {
            sched_yield();
            continue;
        }
        double sleep = (now - began) / 10;
        if (sleep < LIG_MPI_MIN_SLEEP_S) sleep = LIG_MPI_MIN_SLEEP_S;
        if (sleep > LIG_MPI_MAX_SLEEP_S) sleep = LIG_MPI_MAX_SLEEP_S;
        const struct timespec time = {0, (long)(1e9 * sleep)};
        __atomic_add_fetch(&word->sleepers, 1, __ATOMIC_SEQ_CST);
        syscall(SYS_futex, &word->calls, FUTEX_WAIT, seen, &time, NULL, 0);
        __atomic_sub_fetch(&word->sleepers, 1, __ATOMIC_SEQ_CST);
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, all->comm, &flag, MPI_STATUS_IGNORE);
    }
}

// The same for a rank that cannot see rank 0's word.
static inline void lig_mpi_await_afar(const lig_mpi_instance *all) {
    const double until = MPI_Wtime() + LIG_MPI_LOOKS_S;
    static uint32_t nobody;
    char nothing = 0;
    int done = 0;
    MPI_Request request;
    MPI_Ibcast(&nothing, 1, MPI_CHAR, 0, all->afar, &request);
    for (;;) {
        const struct timespec time = {0, LIG_MPI_SLEEP_AFAR_NS};
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        if (done) return;
        if (MPI_Wtime() < until)
            sched_yield();
        else
            syscall(SYS_futex, &nobody, FUTEX_WAIT, 0, &time, NULL, 0);
    }
}

// Lets the other ranks wait, without a core of their own, until rank 0 is here too.
static inline void lig_mpi_meet(lig_mpi_instance *all) {
    if (all->rank != 0) {
        if (all->word)
            lig_mpi_await_beside(all);
        else
            lig_mpi_await_afar(all);
        return;
    }
    if (all->word) {
        __atomic_store_n(&all->word->calls, all->calls, __ATOMIC_SEQ_CST);
        if (__atomic_load_n(&all->word->sleepers, __ATOMIC_SEQ_CST))
            syscall(SYS_futex, &all->word->calls, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
    }
    if (all->afar != MPI_COMM_NULL) {
        char nothing = 0;
        MPI_Request request;
        MPI_Ibcast(&nothing, 1, MPI_CHAR, 0, all->afar, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

// Tells all ranks what came of a call of rank 0's: status, text, and the rest of the outcome.
static inline lig_status lig_mpi_share(lig_mpi_instance *all, lig_mpi_outcome *outcome, lig_error *error) {
    outcome->call = all->call;
    outcome->bytes = all->bytes;
    memcpy(outcome->port, all->port, sizeof outcome->port);
    lig_mpi_meet(all);
    MPI_Bcast(outcome, (int)sizeof *outcome, MPI_BYTE, 0, all->comm);
    if (all->rank != 0) lig_mpi_compare(all, outcome);
    all->goes_on = outcome->status == LIG_OK && all->call != LIG_MPI_FINISH && all->call != LIG_MPI_FREE &&
                   (all->call != LIG_MPI_REUSE || outcome->again);
    if (outcome->status != LIG_OK) {
        lig_error text;
        memset(&text, 0, sizeof text);
        if (all->rank == 0 && error) text = *error;
        MPI_Bcast(text.message, (int)sizeof text.message, MPI_CHAR, 0, all->comm);
        if (error) *error = text;
    }
    lig_mpi_say(all, 0);
    return (lig_status)outcome->status;
}

// The room of the word and a line for each of so many ranks.
static inline size_t lig_mpi_room(int ranks) {
    const size_t needed = sizeof(lig_mpi_word) + (size_t)ranks * sizeof(lig_mpi_line);
    return (needed + LIG_MPI_PAGE - 1) / LIG_MPI_PAGE * LIG_MPI_PAGE;
}

// Gives back all that is MPI's, while there is MPI.
static inline void lig_mpi_leave(lig_mpi_instance *all) {
    if (all->afar != MPI_COMM_NULL) MPI_Comm_free(&all->afar);
    MPI_Comm_free(&all->comm);
    if (all->word) munmap(all->word, lig_mpi_room(all->ranks));
    all->word = NULL;
}

// MPI calls this on a rank that begins MPI_Finalize, and when the instance is freed before. An instance that is
// not done could not become so any more: the ranks that go on would wait for this one.
static inline int lig_mpi_finalizes(MPI_Comm self, int key, void *value, void *more) {
    lig_mpi_instance *all = (lig_mpi_instance *)value;
    (void)self, (void)key, (void)more;
    all->at_finalize = MPI_KEYVAL_INVALID;
    if (all->goes_on)
        lig_mpi_give_up(all,
                        "calls MPI_Finalize, or ends, before the instance is done; all ranks end it first "
                        "(finish or free)");
    lig_mpi_leave(all);
    return MPI_SUCCESS;
}

// Collective, unless MPI_Finalize was before. Frees what the ranks share.
static inline void lig_mpi_release(lig_mpi_instance *all) {
    lig_mpi_outcome outcome;
    int key;
    if (!all) return;
    key = all->at_finalize;
    if (key != MPI_KEYVAL_INVALID) {
        memset(&outcome, 0, sizeof outcome);
        lig_mpi_enter(all, LIG_MPI_FREE, NULL, 0);
        lig_mpi_share(all, &outcome, NULL);
        // MPI calls lig_mpi_finalizes when the attribute is deleted.
        MPI_Comm_delete_attr(MPI_COMM_SELF, key);
        MPI_Comm_free_keyval(&key);
    }
    free(all->directory);
    free(all);
}

// The address of rank 0's word, and the mark by which others know that it is this one.
typedef struct {
    int64_t process;
    int64_t descriptor;
    uint64_t token[2];
} lig_mpi_place;

// Rank 0's word, in memory without a name, which goes with the last that has it. NULL if the system gives none.
// Its descriptor stays open as long as the process lives, so that those who look at the run find it.
static inline lig_mpi_word *lig_mpi_word_create(lig_mpi_place *place, int ranks) {
    static const char page[LIG_MPI_PAGE] = {0};
    const size_t room = lig_mpi_room(ranks);
    size_t done = 0;
    void *memory = MAP_FAILED;
    lig_mpi_word *word;
    place->process = getpid();
    place->descriptor = syscall(SYS_memfd_create, "ligament-mpi", 1u /* MFD_CLOEXEC */);
    if (place->descriptor < 0) return NULL;
    while (done < room && write((int)place->descriptor, page, sizeof page) == (ssize_t)sizeof page)
        done += sizeof page;
    if (done == room &&
        syscall(SYS_getrandom, place->token, sizeof place->token, 0) == (long)sizeof place->token)
        memory = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_SHARED, (int)place->descriptor, 0);
    if (memory == MAP_FAILED) {
        close((int)place->descriptor);
        place->descriptor = -1;
        return NULL;
    }
    word = (lig_mpi_word *)memory;
    memcpy(word->token, place->token, sizeof place->token);
    word->version = LIG_MPI_VERSION;
    word->ranks = (uint32_t)ranks;
    return word;
}

// Rank 0's word, seen by another rank; NULL on another node.
static inline lig_mpi_word *lig_mpi_word_open(const lig_mpi_place *place, int ranks) {
    const size_t room = lig_mpi_room(ranks);
    char path[64];
    void *memory;
    int file;
    snprintf(path, sizeof path, "/proc/%lld/fd/%lld", (long long)place->process, (long long)place->descriptor);
    file = open(path, O_RDWR);
    if (file < 0) return NULL;
    // It may be another process's file, of any length.
    memory = lseek(file, 0, SEEK_END) == (off_t)room
                 ? mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
                 : MAP_FAILED;
    close(file);
    if (memory == MAP_FAILED) return NULL;
    if (memcmp(((lig_mpi_word *)memory)->token, place->token, sizeof place->token) == 0)
        return (lig_mpi_word *)memory;
    munmap(memory, room);
    return NULL;
}

// Collective. What the ranks of `comm` share, without an instance. Few collective calls: where ranks are more
// than cores, each takes milliseconds.
static inline lig_status lig_mpi_ranks_create(MPI_Comm comm, lig_mpi_instance **ranks, lig_error *error) {
    lig_mpi_instance *all = (lig_mpi_instance *)calloc(1, sizeof *all);
    lig_mpi_place place;
    MPI_Comm own;
    // Flags: this rank has no memory; this rank is on another node.
    int here[2] = {all == NULL, 0}, anywhere[2] = {0, 0}, rank = 0, count = 1;
    *ranks = NULL;
    memset(&place, 0, sizeof place);
    MPI_Comm_dup(comm, &own);
    MPI_Comm_rank(own, &rank);
    MPI_Comm_size(own, &count);
    lig_mpi_word *word = rank == 0 ? lig_mpi_word_create(&place, count) : NULL;
    MPI_Bcast(&place, (int)sizeof place, MPI_BYTE, 0, own);
    if (rank != 0) word = lig_mpi_word_open(&place, count);
    here[1] = word == NULL;
    MPI_Allreduce(here, anywhere, 2, MPI_INT, MPI_MAX, own);
    if (anywhere[0]) {
        if (word) munmap(word, lig_mpi_room(count));
        MPI_Comm_free(&own);
        free(all);
        if (error) strcpy(error->message, "a rank has no memory for an instance");
        return LIG_ERR_OUT_OF_MEMORY;
    }
    all->comm = own;
    all->rank = rank;
    all->word = word;
    all->afar = MPI_COMM_NULL;
    all->ranks = count;
    if (word) ((lig_mpi_line *)(word + 1))[rank].process = (uint32_t)getpid();
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, lig_mpi_finalizes, &all->at_finalize, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, all->at_finalize, all);
    if (anywhere[1]) MPI_Comm_split(own, rank == 0 || !word ? 0 : MPI_UNDEFINED, rank, &all->afar);
    *ranks = all;
    return LIG_OK;
}

// The model says that each rank speaks for itself: then rank 0 cannot speak for all. The run ends.
static inline lig_status lig_mpi_refuse(lig_instance **instance, lig_error *error) {
    strcpy(error->message, LIG_MPI_EACH_RANK);
    lig_error_shutdown(*instance, error->message, NULL);
    lig_instance_free(*instance);
    *instance = NULL;
    return LIG_ERR_USAGE;
}

// Collective. Joins the run as `lig_instance_create` does. All ranks of `comm` take part, for which a
// communicator of the instance's own is made. Free it with `lig_mpi_instance_free`.
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
    lig_mpi_enter(all, LIG_MPI_CREATE, NULL, 0);
    if (all->rank == 0) outcome.status = lig_instance_create(options, &all->instance, &own);
    if (lig_instance_ranks(all->instance) > 1) outcome.status = lig_mpi_refuse(&all->instance, &own);
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
    lig_mpi_enter(all, LIG_MPI_REUSE, NULL, 0);
    if (all->rank == 0) {
        outcome.status = lig_reuse_instance(all->instance, &more, error);
        outcome.again = more;
    }
    status = lig_mpi_share(all, &outcome, error);
    *again = outcome.again != 0;
    return status;
}

// Collective. As `lig_steer`: whether settings have changed, which is the same on all ranks. The time is rank
// 0's; the others' is not looked at. Rank 0 reads the settings again, and tells the others what they need of
// them.
static inline lig_status lig_mpi_steer(lig_mpi_instance *all, double time, bool *changed, lig_error *error) {
    lig_mpi_outcome outcome;
    bool has_changed = false;
    lig_status status;
    memset(&outcome, 0, sizeof outcome);
    lig_mpi_enter(all, LIG_MPI_STEER, NULL, 0);
    if (all->rank == 0) {
        outcome.status = lig_steer(all->instance, time, &has_changed, error);
        outcome.again = has_changed;
    }
    status = lig_mpi_share(all, &outcome, error);
    *changed = outcome.again != 0;
    return status;
}

// Collective. As `lig_receive`: rank 0 gets the message, and frees it; the others get NULL, and its times.
// `times` may be NULL. What stands in the message is not told to them; `lig_mpi_receive_into` does that.
static inline lig_status lig_mpi_receive(lig_mpi_instance *all, const char *port,
                                         const lig_receive_options *options, lig_message **message,
                                         lig_times *times, lig_error *error) {
    lig_mpi_outcome outcome;
    lig_status status;
    memset(&outcome, 0, sizeof outcome);
    *message = NULL;
    lig_mpi_enter(all, LIG_MPI_RECEIVE, port, 0);
    if (all->rank == 0) {
        outcome.status = lig_receive(all->instance, port, options, message, error);
        if (outcome.status == LIG_OK) lig_message_times(*message, &outcome.times, NULL);
    }
    status = lig_mpi_share(all, &outcome, error);
    if (times && status == LIG_OK) *times = outcome.times;
    return status;
}

// The bytes of an array.
static inline uint64_t lig_mpi_bytes(const lig_array *array) {
    uint64_t bytes = lig_dtype_size(array->dtype);
    uint32_t i;
    for (i = 0; i < array->ndim; i++) bytes *= array->shape[i];
    return bytes;
}

// Collective. Gives rank 0's elements to all ranks.
static inline void lig_mpi_give_to_all(const lig_mpi_instance *all, const lig_array *array) {
    uint64_t bytes = lig_mpi_bytes(array), done = 0;
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
    lig_mpi_enter(all, LIG_MPI_RECEIVE_INTO, port, lig_mpi_bytes(into));
    if (all->rank == 0)
        outcome.status = lig_receive_into(all->instance, port, options, into, &outcome.times, error);
    status = lig_mpi_share(all, &outcome, error);
    if (status != LIG_OK) return status;
    if (times) *times = outcome.times;
    lig_mpi_give_to_all(all, into);
    return LIG_OK;
}

// Rank 0's answer to a question, for all ranks.
static inline lig_status lig_mpi_answer(lig_mpi_instance *all, lig_status status, bool yes, bool *answer,
                                        lig_error *error) {
    lig_mpi_outcome outcome;
    memset(&outcome, 0, sizeof outcome);
    outcome.status = status;
    outcome.again = yes;
    status = lig_mpi_share(all, &outcome, error);
    *answer = outcome.again != 0;
    return status;
}

// Collective. As `lig_resuming`: whether the run has been resumed, the same on all ranks.
static inline lig_status lig_mpi_resuming(lig_mpi_instance *all, bool *resuming, lig_error *error) {
    lig_status status = LIG_OK;
    bool yes = false;
    lig_mpi_enter(all, LIG_MPI_RESUMING, NULL, 0);
    if (all->rank == 0) status = lig_resuming(all->instance, &yes, error);
    return lig_mpi_answer(all, status, yes, resuming, error);
}

// Collective. As `lig_load_snapshot`: rank 0 gets the message, and frees it; the others get NULL, and its
// times. `times` may be NULL. Rank 0 gives the others what they need of the state.
static inline lig_status lig_mpi_load_snapshot(lig_mpi_instance *all, lig_message **message, lig_times *times,
                                               lig_error *error) {
    lig_mpi_outcome outcome;
    lig_status status;
    memset(&outcome, 0, sizeof outcome);
    *message = NULL;
    lig_mpi_enter(all, LIG_MPI_LOAD_SNAPSHOT, NULL, 0);
    if (all->rank == 0) {
        outcome.status = lig_load_snapshot(all->instance, message, error);
        if (outcome.status == LIG_OK) lig_message_times(*message, &outcome.times, NULL);
    }
    status = lig_mpi_share(all, &outcome, error);
    if (times && status == LIG_OK) *times = outcome.times;
    return status;
}

// Collective. As `lig_should_init`: the same on all ranks.
static inline lig_status lig_mpi_should_init(lig_mpi_instance *all, bool *should_init, lig_error *error) {
    lig_status status = LIG_OK;
    bool yes = false;
    lig_mpi_enter(all, LIG_MPI_SHOULD_INIT, NULL, 0);
    if (all->rank == 0) status = lig_should_init(all->instance, &yes, error);
    return lig_mpi_answer(all, status, yes, should_init, error);
}

// Collective. As `lig_should_save_snapshot`: the same on all ranks. The time is rank 0's.
static inline lig_status lig_mpi_should_save_snapshot(lig_mpi_instance *all, double time, bool *should_save,
                                                      lig_error *error) {
    lig_status status = LIG_OK;
    bool yes = false;
    lig_mpi_enter(all, LIG_MPI_SHOULD_SAVE_SNAPSHOT, NULL, 0);
    if (all->rank == 0) status = lig_should_save_snapshot(all->instance, time, &yes, error);
    return lig_mpi_answer(all, status, yes, should_save, error);
}

// Collective. As `lig_save_snapshot`: rank 0's times and state are saved; those of the others are not looked
// at. Rank 0 gathers the parts of the others before, or they write files of their own
// (`lig_mpi_snapshot_directory`). After this call, the state is saved for all.
static inline lig_status lig_mpi_save_snapshot(lig_mpi_instance *all, const lig_times *times,
                                               const lig_value *state, lig_error *error) {
    lig_mpi_outcome outcome;
    memset(&outcome, 0, sizeof outcome);
    lig_mpi_enter(all, LIG_MPI_SAVE_SNAPSHOT, NULL, 0);
    if (all->rank == 0) outcome.status = lig_save_snapshot(all->instance, times, state, error);
    return lig_mpi_share(all, &outcome, error);
}

// Collective. As `lig_should_save_final_snapshot`: the same on all ranks.
static inline lig_status lig_mpi_should_save_final_snapshot(lig_mpi_instance *all, bool *should_save,
                                                            lig_error *error) {
    lig_status status = LIG_OK;
    bool yes = false;
    lig_mpi_enter(all, LIG_MPI_SHOULD_SAVE_FINAL_SNAPSHOT, NULL, 0);
    if (all->rank == 0) status = lig_should_save_final_snapshot(all->instance, &yes, error);
    return lig_mpi_answer(all, status, yes, should_save, error);
}

// Collective. As `lig_save_final_snapshot`, with rank 0's times and state.
static inline lig_status lig_mpi_save_final_snapshot(lig_mpi_instance *all, const lig_times *times,
                                                     const lig_value *state, lig_error *error) {
    lig_mpi_outcome outcome;
    memset(&outcome, 0, sizeof outcome);
    lig_mpi_enter(all, LIG_MPI_SAVE_FINAL_SNAPSHOT, NULL, 0);
    if (all->rank == 0) outcome.status = lig_save_final_snapshot(all->instance, times, state, error);
    return lig_mpi_share(all, &outcome, error);
}

// Collective. Gives all ranks the directory that rank 0 has got; `own` is not looked at on the others. The text
// belongs to `all`.
static inline lig_status lig_mpi_give_directory(lig_mpi_instance *all, const char *own, const char **directory,
                                                lig_error *error) {
    uint64_t length = all->rank == 0 ? strlen(own) : 0;
    int lacking = 0, anywhere = 0;
    *directory = NULL;
    MPI_Bcast(&length, (int)sizeof length, MPI_BYTE, 0, all->comm);
    free(all->directory);
    all->directory = (char *)calloc(length + 1, 1);
    lacking = all->directory == NULL;
    MPI_Allreduce(&lacking, &anywhere, 1, MPI_INT, MPI_MAX, all->comm);
    if (anywhere) {
        if (error) strcpy(error->message, "a rank has no memory for the name of a directory");
        return LIG_ERR_OUT_OF_MEMORY;
    }
    if (all->rank == 0) memcpy(all->directory, own, length);
    MPI_Bcast(all->directory, (int)length, MPI_CHAR, 0, all->comm);
    *directory = all->directory;
    return LIG_OK;
}

// Collective. As `lig_snapshot_directory`: the same on all ranks. The text stays valid until the next call of
// this function, or until the instance is freed.
static inline lig_status lig_mpi_snapshot_directory(lig_mpi_instance *all, const char **directory,
                                                    lig_error *error) {
    lig_mpi_outcome outcome;
    lig_status status;
    const char *own = NULL;
    memset(&outcome, 0, sizeof outcome);
    *directory = NULL;
    lig_mpi_enter(all, LIG_MPI_SNAPSHOT_DIRECTORY, NULL, 0);
    if (all->rank == 0) outcome.status = lig_snapshot_directory(all->instance, &own, error);
    status = lig_mpi_share(all, &outcome, error);
    return status == LIG_OK ? lig_mpi_give_directory(all, own, directory, error) : status;
}

// Collective. As `lig_finish`.
static inline lig_status lig_mpi_finish(lig_mpi_instance *all, lig_error *error) {
    lig_mpi_outcome outcome;
    memset(&outcome, 0, sizeof outcome);
    lig_mpi_enter(all, LIG_MPI_FINISH, NULL, 0);
    if (all->rank == 0) outcome.status = lig_finish(all->instance, error);
    return lig_mpi_share(all, &outcome, error);
}

// Collective. As `lig_instance_free`. Call it before `MPI_Finalize`, unless the instance is done. NULL is
// allowed.
static inline void lig_mpi_instance_free(lig_mpi_instance *all) {
    if (!all) return;
    lig_instance_free(all->instance);
    lig_mpi_release(all);
}

#ifdef __cplusplus
}
#endif

#endif  // LIGAMENT_MPI_H
