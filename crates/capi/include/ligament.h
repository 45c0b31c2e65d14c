// Ligament's C interface: couples this code to others in one model. Made from crates/capi by cbindgen; do not
// edit.
//
// Every function that can fail returns a lig_status and writes what went wrong, for people, into the lig_error
// that it is given (or not, if that is NULL). Structs of options begin with their size; NULL instead of them
// means what their description says. Unless a description says otherwise, pointers must not be NULL (which is
// an error, not a crash), and texts are UTF-8 and end with a NUL. What a call is given is read during the call
// and not kept, unless its description says otherwise. The guide is docs/reference/c-api.md.
//
// For other languages: enumerations are int32_t, a bool is one byte (as an argument: 0 is false, anything else
// true), no struct is passed or returned by value, nothing is variadic, inline or a macro but for constants.
// Indices, slots and counts begin at 0. The library starts no threads, but for one with each path (lig_path),
// and installs no signal handlers. docs/reference/c-abi.md has the size and the offsets of every struct, and
// says what may change.

#ifndef LIGAMENT_H
#define LIGAMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The version of this header; lig_version() gives that of the library.
#define LIG_VERSION_MAJOR 0
#define LIG_VERSION_MINOR 1
#define LIG_VERSION_PATCH 0

// Enumerations are int32_t at the border, in C and in C++.
#ifdef __cplusplus
#define LIG_ENUM(name) enum name : int32_t
#else
#define LIG_ENUM(name) typedef int32_t name; enum name
#endif

// The most dimensions an array may have.
#define LIG_MAX_DIMS 8

// The first number of the C ABI's version: programs that were built for another one cannot use this library.
#define LIG_ABI_MAJOR 0

// The second number of the C ABI's version: it grows with what is added.
#define LIG_ABI_MINOR 4

// The type of an array's elements.
LIG_ENUM(lig_dtype) {
    // One byte: 0 is false, anything else true.
    LIG_BOOL = 1,
    LIG_INT8 = 2,
    LIG_INT16 = 3,
    LIG_INT32 = 4,
    LIG_INT64 = 5,
    LIG_UINT8 = 6,
    LIG_UINT16 = 7,
    LIG_UINT32 = 8,
    LIG_UINT64 = 9,
    LIG_FLOAT32 = 10,
    LIG_FLOAT64 = 11,
    // Two float32: real and imaginary part.
    LIG_COMPLEX64 = 12,
    // Two float64: real and imaginary part.
    LIG_COMPLEX128 = 13,
};

// Unusual behaviour of an instance: bits for `flags` in `lig_instance_options`.
LIG_ENUM(lig_instance_flag) {
    // Overlays of settings that come with messages are handed over (`lig_message_settings`) instead of being
    // applied: for components that serve others with different settings.
    LIG_DONT_APPLY_OVERLAY = 1,
};

// The kind of a value.
LIG_ENUM(lig_kind) {
    LIG_KIND_NONE = 0,
    LIG_KIND_BOOL = 1,
    // An integer that fits int64.
    LIG_KIND_INT = 2,
    // An integer above INT64_MAX.
    LIG_KIND_UINT = 3,
    LIG_KIND_FLOAT = 4,
    LIG_KIND_COMPLEX = 5,
    LIG_KIND_STRING = 6,
    LIG_KIND_BYTES = 7,
    LIG_KIND_LIST = 8,
    LIG_KIND_MAP = 9,
    LIG_KIND_ARRAY = 10,
    // Settings; read them with `lig_value_settings`.
    LIG_KIND_SETTINGS = 11,
};

// How important a line in the run's log is.
LIG_ENUM(lig_log_level) {
    LIG_LOG_DEBUG = 0,
    LIG_LOG_INFO = 1,
    LIG_LOG_WARNING = 2,
    LIG_LOG_ERROR = 3,
    LIG_LOG_CRITICAL = 4,
};

// When in the execution loop a port is used.
LIG_ENUM(lig_operator) {
    // Receives before the first step.
    LIG_F_INIT = 1,
    // Sends during the steps.
    LIG_O_I = 2,
    // Receives during the steps.
    LIG_S = 3,
    // Sends after the last step.
    LIG_O_F = 4,
};

// Which index runs fastest in memory. Element (i, j) is the same for sender and receiver in either order, and
// extents are given in the order of the indices: the order says only how the elements lie.
LIG_ENUM(lig_order) {
    // The last one, as in C. The default.
    LIG_ROW_MAJOR = 0,
    // The first one, as in Fortran.
    LIG_COLUMN_MAJOR = 1,
};

// The type of a setting.
LIG_ENUM(lig_setting_type) {
    LIG_SETTING_BOOL = 1,
    LIG_SETTING_INT = 2,
    LIG_SETTING_FLOAT = 3,
    LIG_SETTING_STRING = 4,
    // A list of integers.
    LIG_SETTING_INT_LIST = 5,
    // A list of numbers.
    LIG_SETTING_FLOAT_LIST = 6,
    // A list of lists of numbers.
    LIG_SETTING_FLOAT_GRID = 7,
};

// How a call ended. The numbers never change.
LIG_ENUM(lig_status) {
    // Done.
    LIG_OK = 0,
    // There is no run to take part in, or it refused this instance.
    LIG_ERR_REGISTRATION = 1,
    // The library was used in a way that cannot work: an unknown port, a slot that is not there, NULL where
    // something must be, a call at the wrong moment.
    LIG_ERR_USAGE = 2,
    // A message is not what was asked for: another kind of value, type or shape.
    LIG_ERR_UNEXPECTED = 3,
    // The conduit has ended: nothing more will come on this port.
    LIG_ERR_CLOSED = 4,
    // A setting is not set.
    LIG_ERR_SETTING_UNSET = 5,
    // Nothing came within the time allowed.
    LIG_ERR_TIMED_OUT = 6,
    // The interrupt check said to give up waiting.
    LIG_ERR_INTERRUPTED = 7,
    // The message cannot be stored: the run has no memory left for it.
    LIG_ERR_OUT_OF_MEMORY = 8,
    // The run is ending; the text has the reason.
    LIG_ERR_RUN_ENDS = 9,
    // The system, or data from another process, failed us.
    LIG_ERR_SYSTEM = 10,
    // A fault in the library itself. The instance should not be used any more.
    LIG_ERR_PANIC = 11,
    // A setting is of another type than was asked for.
    LIG_ERR_SETTING_TYPE = 12,
};

// The part of a grid that an instance or rank has: one block. The model says under `grids:` how many points
// the grid has, and into how many blocks it is divided. It is used by one thread at a time, with the instance.
typedef struct lig_domain lig_domain;

// An instance of a component in a running model. Any thread may use it, one at a time: a call that comes while
// another one is in progress does nothing and gives `LIG_ERR_USAGE`, with a text that names both calls. That
// holds for other threads, for signal handlers, and for functions that the call itself calls (an interrupt
// check, `is_done`). Only `lig_instance_name`, `lig_run_name`, `lig_instance_index`, `lig_instance_rank` and
// `lig_instance_ranks` can be called at any time.
typedef struct lig_instance lig_instance;

// Memory for an array: fill it, then send it with `lig_send_loan`. More than 64 KiB are read by the receiver
// in place. Any threads may write to it at once, each to elements of its own; who sends or frees it sees to it
// that they are done.
typedef struct lig_loan lig_loan;

// A message that was received. Arrays in it are read-only views of where their sender put them. It may be read
// by several threads, and be freed by any.
typedef struct lig_message lig_message;

// A list of names. Free it with `lig_names_free`.
typedef struct lig_names lig_names;

// One end of a path between two programs, without a model. Several threads may use it at once. After
// `lig_path_close`, calls are refused, and `lig_path_free` does nothing. Each end has a thread of its own,
// which moves bytes.
typedef struct lig_path lig_path;

// A value: of a message, or built for one. A `const lig_value *` is borrowed and lives as long as what it is
// part of; a `lig_value *` that a `lig_value_new_…` function gave belongs to the caller. Any threads may read
// a value at once; while one changes, sends or frees what it has built, no other uses it.
typedef struct lig_value lig_value;

// An error, in words for people: what, where, and what to do. It belongs to the caller, and every function
// that takes one takes NULL as well. It is written only when a call does not return `LIG_OK`.
typedef struct {
    // UTF-8, ended by a NUL; longer texts are cut.
    char message[1024];
} lig_error;

// A port that a code has.
typedef struct {
    // When it is used.
    lig_operator op;
    // Its name; "name[]" for a vector port.
    const char *name;
} lig_port;

// Options with which an instance is made. NULL instead of it means: ports as the model has them.
typedef struct {
    // `sizeof(lig_instance_options)`
    size_t size;
    // The ports that this code has; NULL to take them from the model (`lig_list_ports` says which they are).
    const lig_port *ports;
    // Their number.
    size_t port_count;
    // Flags of unusual behaviour: members of `lig_instance_flag`, or-ed; 0 for nothing.
    uint64_t flags;
    // The language of the code, for the run's records, such as "fortran"; NULL for C. It is read during the
    // call.
    const char *language;
    // The number of processes that the instance is, as MPI starts them; 0 if that is not said. One of them
    // joins the run, for all. While it computes, so many times `threads` cores count as busy, and who waits
    // for it does not spin on these; unless one of both is said, those of the model's `resources:`.
    uint32_t ranks;
    // The number of threads that each of its processes has; 0 if that is not said.
    uint32_t threads;
} lig_instance_options;

// A row of a setting that is a list of lists of numbers.
typedef struct {
    // The numbers.
    const double *values;
    // Their number.
    size_t count;
} lig_float_row;

// How to send. NULL instead of it means: at time 0, without a next message, on a port that is not a vector
// port, under the settings in force at this instance.
typedef struct {
    // `sizeof(lig_send_options)`
    size_t size;
    // The model time that the data belongs to, s.
    double timestamp;
    // The model time of the next message on this port, s. Only if `has_next_timestamp`.
    double next_timestamp;
    // True if there will be a next message.
    bool has_next_timestamp;
    // True if the port is a vector port.
    bool has_slot;
    // The slot of a vector port. Only if `has_slot`.
    uint32_t slot;
    // The overlay of settings that the message belongs to: settings, or a map as `lig_message_settings` gives
    // it; it is read during the call. NULL for the one in force at this instance. For components that serve
    // others under different settings (see `LIG_DONT_APPLY_OVERLAY`).
    const lig_value *settings;
} lig_send_options;

// An array of the caller's, to be sent or received into. Set what is not mentioned to zero:
// `lig_array a = {.dtype = LIG_FLOAT64, .ndim = 2, .shape = {rows, columns}, .data = elements};`
typedef struct {
    // The type of the elements.
    lig_dtype dtype;
    // The number of dimensions: 0 (one element) to 8.
    uint32_t ndim;
    // Which index runs fastest. With `strides`: the order in which the elements travel.
    lig_order order;
    // Zero; anything else is `LIG_ERR_USAGE`.
    uint32_t reserved;
    // The extent of each dimension, in the order of the indices (Fortran's `shape(array)`); only the first
    // `ndim` count.
    uint64_t shape[LIG_MAX_DIMS];
    // Bytes from one element to the next along each dimension, possibly negative; NULL if the elements lie
    // next to each other in `order`.
    const int64_t *strides;
    // Element 0. May be NULL if there are no elements. Not written to when it is sent.
    void *data;
    // A name for each dimension, or NULL.
    const char *const *names;
    // The unit of the elements, or NULL.
    const char *unit;
} lig_array;

// How to receive. NULL instead of it means: wait for as long as it takes, on a port that is not a vector port.
typedef struct {
    // `sizeof(lig_receive_options)`
    size_t size;
    // How long to wait, s. Only if `has_timeout`.
    double timeout;
    // True to wait no longer than `timeout`.
    bool has_timeout;
    // True if the port is a vector port.
    bool has_slot;
    // The slot of a vector port. Only if `has_slot`.
    uint32_t slot;
} lig_receive_options;

// The times of a message.
typedef struct {
    // The model time that the data belongs to, s.
    double timestamp;
    // The model time of the sender's next message, s. Only if `has_next_timestamp`.
    double next_timestamp;
    // True if the sender said when its next message will be.
    bool has_next_timestamp;
    // Zero.
    uint8_t reserved[7];
} lig_times;

// A port, and a slot if it is a vector port.
typedef struct {
    // The port's name.
    const char *port;
    // True if the port is a vector port.
    bool has_slot;
    // The slot of a vector port. Only if `has_slot`.
    uint32_t slot;
} lig_port_slot;

// A received array, where its sender put it. Read-only, and valid for as long as the message (or value) that
// it is part of.
typedef struct {
    // The type of the elements.
    lig_dtype dtype;
    // The number of dimensions: 0 (one element) to 8.
    uint32_t ndim;
    // Which index runs fastest.
    lig_order order;
    // True if the elements lie next to each other in `order`.
    bool contiguous;
    // Zero.
    uint8_t reserved[3];
    // The number of elements.
    uint64_t length;
    // The extent of each dimension, in the order of the indices; only the first `ndim` count.
    uint64_t shape[LIG_MAX_DIMS];
    // Bytes from one element to the next along each dimension; always set. The bytes of one element:
    // `lig_dtype_size`.
    int64_t strides[LIG_MAX_DIMS];
    // Element 0, aligned for its type; not to be looked at if `length` is 0.
    const void *data;
} lig_array_view;

// Text in the library's memory: UTF-8, not ended by a NUL. Print it with `%.*s`.
typedef struct {
    // The first byte; NULL if there is no text.
    const char *data;
    // Bytes.
    size_t size;
} lig_string;

// The expected properties of an array. What is zero is open, and so is all of it where NULL stands instead:
// `lig_expected e = {.size = sizeof e, .dtype = LIG_FLOAT64, .has_ndim = true, .ndim = 2};`
typedef struct {
    // `sizeof(lig_expected)`
    size_t size;
    // The type of the elements; 0 for any.
    lig_dtype dtype;
    // The number of dimensions: 0 (one element) to 8. Only if `has_ndim` or `has_shape`.
    uint32_t ndim;
    // True if the number of dimensions is expected.
    bool has_ndim;
    // True if the shape is expected, and with it the number of dimensions.
    bool has_shape;
    // The extent of each dimension; below 0 for any. Only if `has_shape`.
    int64_t shape[LIG_MAX_DIMS];
} lig_expected;

// A submodel as functions, which get `user` back. None may be NULL. They return `LIG_OK`, or what went wrong,
// and then write into `error`. The instance can be used in them (but for `is_done`, which only looks), by one
// thread at a time and until they return. It must not be freed in them, and no exception may leave them.
typedef struct {
    // `sizeof(lig_submodel)`
    size_t size;
    // F_INIT: sets the state, from messages where there are any.
    lig_status (*initialise)(lig_instance *instance, void *user, lig_error *error);
    // True if this pass is over; asked before each step.
    bool (*is_done)(void *user);
    // O_I: shows the state to others.
    lig_status (*observe)(lig_instance *instance, void *user, lig_error *error);
    // S: advances the state by one step.
    lig_status (*solve)(lig_instance *instance, void *user, lig_error *error);
    // O_F: shows the final state.
    lig_status (*observe_final)(lig_instance *instance, void *user, lig_error *error);
    // The caller's own.
    void *user;
} lig_submodel;

// The common part of all instances of a light program.
typedef struct {
    // `sizeof(lig_light)`
    size_t size;
    // The functions. Its `user` is not looked at: each instance has its own, which `make` gives.
    const lig_submodel *submodel;
    // Makes what the functions of one instance get as `user`, and writes it to `user`; NULL where they need
    // none. `context` is that below. The instance knows its name and its settings already. Returns `LIG_OK`,
    // or what went wrong; then it writes into `error`.
    lig_status (*make)(lig_instance *instance, void *context, void **user, lig_error *error);
    // Frees what `make` made, when the instance is over; may be NULL.
    void (*release)(void *user);
    // The caller's own, for `make`.
    void *context;
    // The ports that every instance has, and the language; NULL to take the ports from the model.
    const lig_instance_options *options;
} lig_light;

// How a path is to be; all zero is what is usual. Both ends must agree on `unencrypted`.
typedef struct {
    // `sizeof(lig_path_options)`
    size_t size;
    // The number of bytes that may be sent and not yet be received there; one message always may. 0: 64 MiB.
    uint64_t window;
    // The longest message that is accepted, bytes. 0: 1 TiB.
    uint64_t longest;
    // For how long the path may be without a connection before it is lost, s. 0: 60.
    double patience;
    // Files of relays, the nearest first; both ends name the same one last. NULL if `relay_count` is 0.
    const char *const *relays;
    size_t relay_count;
    // Connections, 1 to 256: the opening end says how many. 0: as many as the link needs.
    uint32_t streams;
    // Do not encrypt messages, on a network that you trust. Both ends prove that they hold the key all the
    // same.
    bool unencrypted;
    // Never compress messages; else large ones are where that makes them arrive sooner.
    bool uncompressed;
    // Zero.
    uint8_t reserved[2];
    // Bytes in a second that this end sends over a long way, at most, to leave room for others. 0: as fast as
    // it goes.
    uint64_t pace;
} lig_path_options;

// The traffic of a path.
typedef struct {
    // Messages and their bytes, sent and received, ever.
    uint64_t sent;
    uint64_t sent_bytes;
    uint64_t received;
    uint64_t received_bytes;
    // Bytes sent that were not received there yet.
    uint64_t under_way;
    // How often all connections were lost.
    uint64_t cuts;
    // True if there is a connection now.
    bool connected;
} lig_path_statistics;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// The version of the library that is loaded, such as "0.1.0". It lives for ever.
const char *lig_version(void);

// The version of the C ABI that the library has; `LIG_ABI_MAJOR` and `LIG_ABI_MINOR` are those of this header.
// A caller that loads the library by itself asks first: `major` must be what it was written for, and `minor`
// not less.
//
// `major` and `minor` are NULL or writable.
void lig_abi_version(int32_t *major,
                     int32_t *minor);

// The name of a status, such as "LIG_ERR_CLOSED", or "unknown". It lives for ever.
const char *lig_status_name(lig_status status);

// The name of a kind of value, as in Python where there is one: "none", "bool", "int", "uint", "float",
// "complex", "string", "bytes", "list", "map", "array", "settings"; or "unknown". It lives for ever.
const char *lig_kind_name(lig_kind kind);

// The name of an element type, as in NumPy: "bool", "int8", … "complex128"; or "unknown". It lives for ever.
const char *lig_dtype_name(lig_dtype dtype);

// The bytes that one element of a type takes; 0 if there is no such type.
size_t lig_dtype_size(lig_dtype dtype);

// The time of the instance's clock, in the unit of the model's times: seconds, if the model does not give
// another. The clock is at 0 when a pass of the reuse loop begins.
//
// `LIG_ERR_USAGE` if the model gives the instance no tick.
lig_status lig_time(lig_instance *instance, double *time, lig_error *error);

// Advances the clock by one tick: sends the events that are due, waits for those that are to be delivered by
// then, and applies changes of settings, as `lig_steer` does. `*changed` is true if settings have changed;
// `changed` may be NULL.
//
// `LIG_ERR_USAGE` if the model gives the instance no tick, or if delivered events were not read;
// `LIG_ERR_RUN_ENDS`, `LIG_ERR_INTERRUPTED`.
//
// All pointers are valid; `changed` and `error` may be NULL.
lig_status lig_tick(lig_instance *instance, bool *changed, lig_error *error);

// Sends an event on a port that has `events:` in the model. Its time lies between the time of the clock and
// the next tick. Its id is at least 0, and below the number that the model gives.
//
// `LIG_ERR_USAGE` if the port carries no events, or if the time or the id is not possible.
lig_status lig_insert_event(lig_instance *instance,
                            const char *port,
                            double time,
                            int32_t id,
                            lig_error *error);

// Sends `count` events. If one of them cannot be sent, none is. Otherwise as `lig_insert_event`.
//
// All pointers are valid; `times` and `ids` have `count` numbers; `error` may be NULL.
lig_status lig_insert_events(lig_instance *instance,
                             const char *port,
                             size_t count,
                             const double *times,
                             const int32_t *ids,
                             lig_error *error);

// The next of the batches of events that have been delivered on a port up to now: `*count` times and ids,
// in no order. `*count` is 0 if all have been read. The arrays lie where their sender put them, and are
// valid until the next tick. The code reads all batches before it ticks again.
//
// `LIG_ERR_USAGE` if the port carries no events; otherwise as `lig_receive`.
lig_status lig_events(lig_instance *instance,
                      const char *port,
                      size_t *count,
                      const double **times,
                      const int32_t **ids,
                      lig_error *error);

// Says that this rank has a block of the array of a port: the block begins at the indices `start` and has
// the shape `shape`, each of `ndim` numbers. Indices count from 0. A part without elements has a length of
// 0. The map holds for all messages of the port until the next map.
//
// `LIG_ERR_USAGE` if the model gives the port no array, or if the block is not within the array.
lig_status lig_map_block(lig_instance *instance,
                         const char *port,
                         size_t ndim,
                         const uint64_t *start,
                         const uint64_t *shape,
                         lig_error *error);

// Says that this rank has the elements with the numbers `begin` to `end` (not included) of the array of a
// port. The elements are numbered from 0, so that the last index of the array runs fastest. Its messages
// have one dimension.
//
// `LIG_ERR_USAGE` if the model gives the port no array, or if the range is not within the array.
lig_status lig_map_range(lig_instance *instance,
                         const char *port,
                         uint64_t begin,
                         uint64_t end,
                         lig_error *error);

// Says that this rank has the elements of the array of a port with the given numbers, in this order. The
// elements are numbered from 0, so that the last index of the array runs fastest. Its messages have one
// dimension.
//
// `LIG_ERR_USAGE` if the model gives the port no array, or if a number is not within the array or occurs
// twice.
lig_status lig_map_list(lig_instance *instance,
                        const char *port,
                        const int64_t *list,
                        size_t count,
                        lig_error *error);

// The shape of the whole array of which a port carries a part: `ndim` lengths. `ndim` is 0 if nothing is
// connected to the port.
//
// `LIG_ERR_USAGE` if the model gives the port no array.
//
// `shape` has room for `LIG_MAX_DIMS` numbers. All pointers are valid; `error` may be NULL.
lig_status lig_array_shape(lig_instance *instance,
                           const char *port,
                           uint64_t *shape,
                           size_t *ndim,
                           lig_error *error);

// Joins the run that started this program (`ligament run MODEL`). A program does this once. Free the instance
// with `lig_instance_free`.
//
// `LIG_ERR_REGISTRATION` if there is no run or the ports do not fit the model; the text says what to do.
//
// `options` and `error` are NULL or valid; `instance` is valid.
lig_status lig_instance_create(const lig_instance_options *options,
                               lig_instance **instance,
                               lig_error *error);

// Ends the instance cleanly, unless that was done, and frees it; after an error of the code's own call
// `lig_error_shutdown` before. NULL is allowed. Messages that were received stay valid until they are freed
// themselves; loans do not. While another call is in progress, or in a function of a submodel, it frees
// nothing, and says so on stderr.
//
// `instance` is NULL or was made by `lig_instance_create` and not freed; no operator of a formal submodel
// calls this.
void lig_instance_free(lig_instance *instance);

// Returns true to go through the execution loop (again). Where F_INIT ports are connected, waits for a message
// on each of them and says true, or false if they have ended; otherwise says true once. When it says false the
// instance is over: all its conduits are ended and it is signed off.
//
// `LIG_ERR_UNEXPECTED` when the messages come with different overlays of settings; else as `lig_receive`.
lig_status lig_reuse_instance(lig_instance *instance,
                              bool *again,
                              lig_error *error);

// Ends all conduits that this instance sends on, and signs off. `lig_reuse_instance` does so when it says
// false, and so does `lig_instance_free`; call this to end sooner, or to see whether it went well. A second
// call does nothing.
//
// `instance` is valid; `error` may be NULL.
lig_status lig_finish(lig_instance *instance, lig_error *error);

// Ends the whole run because of an error in this code; `why` is shown to the user. The instance can do nothing
// afterwards but be freed. A program that ends with an exit status other than 0, or before
// `lig_reuse_instance` says false, ends the run as well, with what it printed last.
//
// `instance` and `why` are valid; `error` may be NULL.
lig_status lig_error_shutdown(lig_instance *instance,
                              const char *why,
                              lig_error *error);

// The instance's name, such as "micro[3]". It lives as long as the instance; NULL for NULL.
//
// `instance` is NULL or valid.
const char *lig_instance_name(const lig_instance *instance);

// The name of the run. It lives as long as the instance; NULL for NULL.
//
// `instance` is NULL or valid.
const char *lig_run_name(const lig_instance *instance);

// The instance's index among those of its component: one number for each dimension of the multiplicity, in the
// instance's memory. Returns how many there are: 0 for a component without multiplicity.
//
// `instance` is NULL or valid; `index` is NULL or writable.
size_t lig_instance_index(const lig_instance *instance,
                          const size_t **index);

// Which of its instance's ranks this is, from 0 on, where the model says that each of them speaks for itself
// (`ranks:` under `ligament:`); else 0.
//
// `instance` is NULL or valid.
uint32_t lig_instance_rank(const lig_instance *instance);

// The number of ranks of its instance that speak for themselves: 1 where the model has no word of them.
//
// `instance` is NULL or valid.
uint32_t lig_instance_ranks(const lig_instance *instance);

// Writes a line to the run's log, if the model lets lines of this level through.
//
// `instance` and `text` are valid; `error` may be NULL.
lig_status lig_log(lig_instance *instance, lig_log_level level, const char *text, lig_error *error);

// While the library waits, which it does in the thread that called it, `check` is asked at least once a second
// whether to give up; when it says true, the waiting call returns `LIG_ERR_INTERRUPTED`. NULL takes the check
// away. Calls that it makes with this instance are refused, and no exception may leave it.
//
// `instance` is valid; `check` can be called with `user` until the instance is freed; `error` may be NULL.
lig_status lig_set_interrupt_check(lig_instance *instance,
                                   bool (*check)(void *user),
                                   void *user,
                                   lig_error *error);

// The number of names; 0 for NULL.
//
// `names` is NULL or valid.
size_t lig_names_count(const lig_names *names);

// One of the names, ended by a NUL. It lives as long as the list; NULL if there is none of this number.
//
// `names` is NULL or valid.
const char *lig_names_at(const lig_names *names, size_t index);

// Frees a list of names. NULL is allowed.
//
// `names` is NULL, or came from this library and was not freed.
void lig_names_free(lig_names *names);

// The names of the ports with this operator, in the model's order, without "[]" and whether or not they are
// connected: those that were declared, or, where none were, those that the model gives. `muscle_settings_in`,
// which the library itself receives on, is not among them. Free the list with `lig_names_free`.
lig_status lig_list_ports(lig_instance *instance, lig_operator op, lig_names **names, lig_error *error);

// Returns true if something is connected to a port.
lig_status lig_is_connected(lig_instance *instance, const char *port, bool *connected, lig_error *error);

// Returns true if a port has slots.
lig_status lig_is_vector_port(lig_instance *instance, const char *port, bool *vector, lig_error *error);

// Returns true if `lig_set_port_length` can set the number of the port's slots: of vector ports that are
// joined to vector ports, not to the instances of a component.
lig_status lig_is_resizable(lig_instance *instance, const char *port, bool *resizable, lig_error *error);

// Sets the number of slots of a resizable port, which is 0 at first. Its receivers learn it with each message.
//
// `LIG_ERR_USAGE` for a port without slots, or whose number of slots is another and the model's.
lig_status lig_set_port_length(lig_instance *instance,
                               const char *port,
                               size_t length,
                               lig_error *error);

// The number of slots that a vector port has; for a resizable port that receives, as many as came with the
// message that was received last.
//
// `LIG_ERR_USAGE` for a port that is not a vector port.
lig_status lig_get_port_length(lig_instance *instance, const char *port, size_t *length, lig_error *error);

// The type of a setting. `LIG_ERR_SETTING_UNSET` if it is not set for this instance.
lig_status lig_get_setting_type(lig_instance *instance,
                                const char *setting,
                                lig_setting_type *setting_type,
                                lig_error *error);

// The names of the settings that this instance can ask for. Free the list with `lig_names_free`.
lig_status lig_list_settings(lig_instance *instance, lig_names **names, lig_error *error);

// A setting that is true or false. `LIG_ERR_SETTING_UNSET`; `LIG_ERR_SETTING_TYPE`.
lig_status lig_get_setting_bool(lig_instance *instance, const char *setting, bool *value, lig_error *error);

// A setting that is an integer. `LIG_ERR_SETTING_UNSET`; `LIG_ERR_SETTING_TYPE`.
lig_status lig_get_setting_int(lig_instance *instance, const char *setting, int64_t *value, lig_error *error);

// A setting that is a number, also an integer. `LIG_ERR_SETTING_UNSET`; `LIG_ERR_SETTING_TYPE`.
lig_status lig_get_setting_float(lig_instance *instance,
                                 const char *setting,
                                 double *value,
                                 lig_error *error);

// A setting that is text, ended by a NUL. It stays valid until this setting is asked for again or the instance
// is freed. `LIG_ERR_SETTING_UNSET`; `LIG_ERR_SETTING_TYPE`.
lig_status lig_get_setting_string(lig_instance *instance,
                                  const char *setting,
                                  const char **value,
                                  lig_error *error);

// A setting that is a list of integers. It stays valid until this setting is asked for again or the instance
// is freed. `LIG_ERR_SETTING_UNSET`; `LIG_ERR_SETTING_TYPE`.
lig_status lig_get_setting_int_list(lig_instance *instance,
                                    const char *setting,
                                    const int64_t **values,
                                    size_t *count,
                                    lig_error *error);

// A setting that is a list of numbers, also of integers. It stays valid until this setting is asked for again
// or the instance is freed. `LIG_ERR_SETTING_UNSET`; `LIG_ERR_SETTING_TYPE`.
lig_status lig_get_setting_float_list(lig_instance *instance,
                                      const char *setting,
                                      const double **values,
                                      size_t *count,
                                      lig_error *error);

// A setting that is a list of lists of numbers: its rows, which may be of different lengths. It stays valid
// until this setting is asked for again or the instance is freed. `LIG_ERR_SETTING_UNSET`;
// `LIG_ERR_SETTING_TYPE`.
lig_status lig_get_setting_float_grid(lig_instance *instance,
                                      const char *setting,
                                      const lig_float_row **rows,
                                      size_t *count,
                                      lig_error *error);

// To be called once in each step, with the model time of what is done in it, s, before that is done. Says
// whether settings have changed; those that the step needs are then to be asked for again. All whom a change
// concerns make it in their first step at or after the same model time. Waits while such a change is being
// agreed on, and where the run is to stand still. With nothing to do it takes some nanoseconds.
//
// `LIG_ERR_USAGE` for a time that is no number; `LIG_ERR_RUN_ENDS`, `LIG_ERR_INTERRUPTED`.
lig_status lig_steer(lig_instance *instance, double time, bool *changed, lig_error *error);

// Declares that a setting of this code can be steered, as a model does under "ligament: steerable:". If the
// model declares it too, that counts. It may be `minimum` to `maximum`; infinite ones stand for none. `unit`
// is for people, and may be NULL. `restart`: it is read once a pass of the reuse loop, and not in each step.
//
// `LIG_ERR_USAGE` if that is no name, or the range is none.
//
// `instance` and `setting` are valid; `unit` and `error` may be NULL.
lig_status lig_declare_steerable(lig_instance *instance,
                                 const char *setting,
                                 double minimum,
                                 double maximum,
                                 const char *unit,
                                 bool restart,
                                 lig_error *error);

// Sends a value; NULL sends none. Returns as soon as it is stored: what happens to the caller's memory
// afterwards is never seen. Blocks only while the conduit's budget is spent. Does nothing if the port is not
// connected.
//
// `LIG_ERR_USAGE` for a port that is not there or does not send; `LIG_ERR_OUT_OF_MEMORY`; `LIG_ERR_RUN_ENDS`;
// `LIG_ERR_INTERRUPTED`.
//
// `instance` and `port` are valid; `options`, `value` and `error` may be NULL.
lig_status lig_send(lig_instance *instance,
                    const char *port,
                    const lig_send_options *options,
                    const lig_value *value,
                    lig_error *error);

// Sends a truth value; else as `lig_send`.
//
// As `lig_send`.
lig_status lig_send_bool(lig_instance *instance,
                         const char *port,
                         const lig_send_options *options,
                         bool value,
                         lig_error *error);

// Sends an integer; else as `lig_send`.
//
// As `lig_send`.
lig_status lig_send_int(lig_instance *instance,
                        const char *port,
                        const lig_send_options *options,
                        int64_t value,
                        lig_error *error);

// Sends a number; else as `lig_send`.
//
// As `lig_send`.
lig_status lig_send_float(lig_instance *instance,
                          const char *port,
                          const lig_send_options *options,
                          double value,
                          lig_error *error);

// Sends text that ends with a NUL; else as `lig_send`.
//
// As `lig_send`; `text` is valid.
lig_status lig_send_string(lig_instance *instance,
                           const char *port,
                           const lig_send_options *options,
                           const char *text,
                           lig_error *error);

// Sends bytes; else as `lig_send`.
//
// As `lig_send`; `data` has `size` bytes, and may be NULL if that is 0.
lig_status lig_send_bytes(lig_instance *instance,
                          const char *port,
                          const lig_send_options *options,
                          const void *data,
                          size_t size,
                          lig_error *error);

// Sends an array over the caller's memory, with one copy; else as `lig_send`.
//
// As `lig_send`; `array` is valid and describes readable memory.
lig_status lig_send_array(lig_instance *instance,
                          const char *port,
                          const lig_send_options *options,
                          const lig_array *array,
                          lig_error *error);

// Asks for memory for an array in row-major order, to be filled in place and sent without a copy (up to 64 KiB
// with one, which is faster). `data` is set to its first byte, 64-byte aligned; it holds whatever was there
// before.
//
// `LIG_ERR_OUT_OF_MEMORY`; `LIG_ERR_USAGE` for a shape that cannot be.
//
// All pointers are valid, `shape` for `ndim` extents; `data` and `error` may be NULL.
lig_status lig_loan_create(lig_instance *instance,
                           lig_dtype dtype,
                           uint32_t ndim,
                           const uint64_t *shape,
                           lig_loan **loan,
                           void **data,
                           lig_error *error);

// As `lig_loan_create`, for an array like the one described: its type, shape, order, names and unit. The
// description's data is not looked at and its strides must be NULL.
//
// All pointers are valid; `data` and `error` may be NULL.
lig_status lig_loan_create_like(lig_instance *instance,
                                const lig_array *array,
                                lig_loan **loan,
                                void **data,
                                lig_error *error);

// The first byte of a loan, 64-byte aligned; NULL for NULL.
//
// `loan` is NULL or valid.
void *lig_loan_data(lig_loan *loan);

// Sends what a loan holds, without a copy if it has more than 64 KiB; else as `lig_send`. The loan is gone
// afterwards, also after an error (but for that of a call which comes while another is in progress), and its
// memory must not be touched any more.
//
// As `lig_send`; `loan` was made with this instance and neither sent nor freed.
lig_status lig_send_loan(lig_instance *instance,
                         const char *port,
                         const lig_send_options *options,
                         lig_loan *loan,
                         lig_error *error);

// Gives a loan back unsent. NULL is allowed. While another call of the instance is in progress it does
// nothing, and says so on stderr.
//
// `loan` is NULL, or was made with this instance and neither sent nor freed.
void lig_loan_free(lig_instance *instance, lig_loan *loan);

// Waits for the next message on a port. Free it with `lig_message_free`.
//
// `LIG_ERR_USAGE` for a port that is not there, does not receive, or is not connected; `LIG_ERR_CLOSED` if the
// conduit has ended; `LIG_ERR_TIMED_OUT`; `LIG_ERR_UNEXPECTED` if it comes with another overlay of settings;
// `LIG_ERR_RUN_ENDS`; `LIG_ERR_INTERRUPTED`.
//
// All pointers are valid; `options` and `error` may be NULL.
lig_status lig_receive(lig_instance *instance,
                       const char *port,
                       const lig_receive_options *options,
                       lig_message **message,
                       lig_error *error);

// As `lig_receive`; where nothing is connected to the port that is no error, and `message` is set to NULL: for
// inputs for which the code has a value of its own.
//
// All pointers are valid; `options` and `error` may be NULL.
lig_status lig_receive_if_connected(lig_instance *instance,
                                    const char *port,
                                    const lig_receive_options *options,
                                    lig_message **message,
                                    lig_error *error);

// As `lig_receive`, with the overlay of settings that came with the message, for `lig_message_settings`. The
// overlay is not compared with that in force here: for codes that serve others under different settings. That
// of an `F_INIT` message is in force for the pass already, unless the instance was made with
// `LIG_DONT_APPLY_OVERLAY`.
//
// All pointers are valid; `options` and `error` may be NULL.
lig_status lig_receive_with_settings(lig_instance *instance,
                                     const char *port,
                                     const lig_receive_options *options,
                                     lig_message **message,
                                     lig_error *error);

// Receives an array into the caller's memory. `into` says which type and shape must come and where it goes;
// its strides must be NULL. An array that comes in the other order is rearranged to that of `into`, so that
// element (i, j) stays element (i, j). `times` may be NULL.
//
// As `lig_receive`; `LIG_ERR_UNEXPECTED` if type or shape differ: the message is consumed all the same, and
// nothing is written.
//
// All pointers are valid, and `into` describes writable memory; `options`, `times` and `error` may be NULL.
lig_status lig_receive_into(lig_instance *instance,
                            const char *port,
                            const lig_receive_options *options,
                            const lig_array *into,
                            lig_times *times,
                            lig_error *error);

// Returns true if a receive on this port would return at once, also because the conduit has ended. Of
// `options` only the slot matters.
//
// All pointers are valid; `options` and `error` may be NULL.
lig_status lig_poll(lig_instance *instance,
                    const char *port,
                    const lig_receive_options *options,
                    bool *ready,
                    lig_error *error);

// Returns true if another message will come on this port: waits until one is there, or the conduit has ended.
// On an F_INIT port in the reuse loop: whether the message of this pass is still to be received. Of `options`
// only slot and timeout matter.
//
// All pointers are valid; `options` and `error` may be NULL.
lig_status lig_has_next(lig_instance *instance,
                        const char *port,
                        const lig_receive_options *options,
                        bool *more,
                        lig_error *error);

// Waits until a message is there on one of several ports; `which` is set to its place among `ports`. A conduit
// that ends is passed over for as long as another one may bring something. Of `options` only the timeout
// matters.
//
// `LIG_ERR_CLOSED` if all of them have ended; else as `lig_receive`.
//
// All pointers are valid, `ports` for `count` entries; `options` and `error` may be NULL.
lig_status lig_wait_any(lig_instance *instance,
                        const lig_port_slot *ports,
                        size_t count,
                        const lig_receive_options *options,
                        size_t *which,
                        lig_error *error);

// Receives from whichever of several ports is first; `which` is set to its place among `ports`. A conduit that
// ends is passed over for as long as another one may bring something. Of `options` only the timeout matters.
//
// `LIG_ERR_CLOSED` if all of them have ended; else as `lig_receive`.
//
// All pointers are valid, `ports` for `count` entries; `options` and `error` may be NULL.
lig_status lig_receive_any(lig_instance *instance,
                           const lig_port_slot *ports,
                           size_t count,
                           const lig_receive_options *options,
                           size_t *which,
                           lig_message **message,
                           lig_error *error);

// Frees a message, and gives back the memory that its arrays are in. NULL is allowed.
//
// `message` is NULL, or was received and not freed.
void lig_message_free(lig_message *message);

// The times of a message.
lig_status lig_message_times(const lig_message *message, lig_times *times, lig_error *error);

// The value of a message, which lives as long as the message; NULL for NULL.
//
// `message` is NULL or valid.
const lig_value *lig_message_value(const lig_message *message);

// A message's array, in place. It lives as long as the message.
//
// `LIG_ERR_UNEXPECTED` if the message holds something else. `lig_expect_array` can ask for more.
lig_status lig_message_array(const lig_message *message, lig_array_view *view, lig_error *error);

// The overlay of settings that came with a message, as a map, which lives as long as the message. NULL unless
// the instance was made with `LIG_DONT_APPLY_OVERLAY`.
//
// `message` is NULL or valid.
const lig_value *lig_message_settings(const lig_message *message);

// The kind of a value; `LIG_KIND_NONE` for NULL.
//
// `value` is NULL or valid.
lig_kind lig_value_kind(const lig_value *value);

// A truth value; `LIG_ERR_UNEXPECTED` if the value is something else.
lig_status lig_value_bool(const lig_value *value, bool *result, lig_error *error);

// An integer; `LIG_ERR_UNEXPECTED` if the value is something else, or above INT64_MAX.
lig_status lig_value_int(const lig_value *value, int64_t *result, lig_error *error);

// An integer of 0 or more; `LIG_ERR_UNEXPECTED` if the value is something else.
lig_status lig_value_uint(const lig_value *value, uint64_t *result, lig_error *error);

// A number, also an integer; `LIG_ERR_UNEXPECTED` if the value is something else.
lig_status lig_value_float(const lig_value *value, double *result, lig_error *error);

// A complex number; `LIG_ERR_UNEXPECTED` if the value is something else.
lig_status lig_value_complex(const lig_value *value, double *real, double *imaginary, lig_error *error);

// Text, in the value's memory; `LIG_ERR_UNEXPECTED` if the value is something else.
lig_status lig_value_string(const lig_value *value, lig_string *text, lig_error *error);

// Bytes, in the value's memory; `LIG_ERR_UNEXPECTED` if the value is something else.
lig_status lig_value_bytes(const lig_value *value, const void **data, size_t *size, lig_error *error);

// The number of items that a list has, or a map, or settings; `LIG_ERR_UNEXPECTED` if the value is something
// else.
lig_status lig_value_count(const lig_value *value, size_t *count, lig_error *error);

// An item of a list, or the value of an entry of a map, which lives as long as `value`.
//
// `LIG_ERR_USAGE` if there is none of this number; `LIG_ERR_UNEXPECTED` if the value is no list and no map.
lig_status lig_value_at(const lig_value *value, size_t index, const lig_value **item, lig_error *error);

// The key of an entry of a map or of settings, in the value's memory.
//
// `LIG_ERR_USAGE` if there is none of this number; `LIG_ERR_UNEXPECTED` if the value is no map.
lig_status lig_value_key(const lig_value *value, size_t index, lig_string *key, lig_error *error);

// The value under a key of a map, which lives as long as `value`; NULL if there is no such key.
//
// `LIG_ERR_UNEXPECTED` if the value is no map.
lig_status lig_value_find(const lig_value *value, const char *key, const lig_value **item, lig_error *error);

// An array, in place. It lives as long as `value`. `LIG_ERR_UNEXPECTED` if the value is something else.
lig_status lig_value_array(const lig_value *value, lig_array_view *view, lig_error *error);

// The name of an array's dimension, in the value's memory; its `data` is NULL if the dimension has none.
lig_status lig_value_array_name(const lig_value *value,
                                uint32_t dimension,
                                lig_string *text,
                                lig_error *error);

// The unit of an array's elements, in the value's memory; its `data` is NULL if they have none.
lig_status lig_value_array_unit(const lig_value *value, lig_string *text, lig_error *error);

// Settings as a map of truth values, integers, numbers, texts and lists of them. The map belongs to the
// caller: free it with `lig_value_free`. `LIG_ERR_UNEXPECTED` if the value is something else.
lig_status lig_value_settings(const lig_value *value, lig_value **map, lig_error *error);

// An array, in place, if it is what is expected: the value of `message`, or `value`, which is a part of that
// message. For a value that is part of no message `message` is NULL. The array lives as long as the message or
// value.
//
// `LIG_ERR_UNEXPECTED` if it is another array, or none; the text names the port and slot on which the message
// came, the instance that sent it, what came and what was expected.
//
// All pointers are valid; `message` or `value` (not both), `expected` and `error` may be NULL.
lig_status lig_expect_array(const lig_message *message,
                            const lig_value *value,
                            const lig_expected *expected,
                            lig_array_view *view,
                            lig_error *error);

// The origin of a message, in words for errors: `port "in[2]" from micro[2].out`. It lives as long as the
// message; no text for NULL.
//
// `message` is NULL or valid; `origin` is writable, or NULL, which is let be.
void lig_message_origin(const lig_message *message, lig_string *origin);

// Frees a value that was built, with all that is in it. NULL is allowed.
//
// `value` is NULL, or came from a function that gives values to the caller, and was neither freed nor put into
// another value.
void lig_value_free(lig_value *value);

// A copy of a value, also of a received one, for the caller. Arrays and bytes are not copied: both share the
// memory, which stays for as long as either.
lig_status lig_value_copy(const lig_value *value, lig_value **copy, lig_error *error);

// A new value: nothing.
lig_value *lig_value_new_none(void);

// A new truth value.
lig_value *lig_value_new_bool(bool value);

// A new integer.
lig_value *lig_value_new_int(int64_t value);

// A new integer that may be above INT64_MAX.
lig_value *lig_value_new_uint(uint64_t value);

// A new number.
lig_value *lig_value_new_float(double value);

// A new complex number.
lig_value *lig_value_new_complex(double real, double imaginary);

// A new text: a copy of `size` bytes of UTF-8. NULL if it is not UTF-8, if there is no memory for it, or if
// `text` is NULL and `size` is not 0; a NULL put into a list or map, or sent, is an error there.
//
// `text` has `size` bytes.
lig_value *lig_value_new_string(const char *text, size_t size);

// New bytes: a copy. NULL if there is no memory for it, or if `data` is NULL and `size` is not 0.
//
// `data` has `size` bytes.
lig_value *lig_value_new_bytes(const void *data, size_t size);

// A new array: a copy of the caller's.
//
// `array` is valid and describes readable memory; `value` is valid; `error` may be NULL.
lig_status lig_value_new_array(const lig_array *array, lig_value **value, lig_error *error);

// A new array over the caller's own memory, without a copy. The memory must stay, and stay unchanged, until
// the value (and everything that it was put into) is freed; sending it copies it. Only for elements that lie
// next to each other: `LIG_ERR_USAGE` with strides.
//
// As `lig_value_new_array`, and the memory stays as said.
lig_status lig_value_new_array_borrowed(const lig_array *array, lig_value **value, lig_error *error);

// A new empty list.
lig_value *lig_value_new_list(void);

// A new empty map.
lig_value *lig_value_new_map(void);

// Puts an item at the end of a list. The item belongs to the list from now on, and is freed if there is an
// error. No value lies inside more than 64 lists and maps, here and in messages: `LIG_ERR_USAGE`.
//
// `list` and `item` were built, not freed, and not put into other values; `error` may be NULL.
lig_status lig_value_append(lig_value *list, lig_value *item, lig_error *error);

// Puts an item into a map, in place of what was under that key. The item belongs to the map from now on, and
// is freed if there is an error; else as `lig_value_append`.
//
// `map` and `item` were built, not freed, and not put into other values; `key` is valid; `error` may be NULL.
lig_status lig_value_set(lig_value *map, const char *key, lig_value *item, lig_error *error);

// New settings from a map of truth values, integers, numbers, texts, lists of integers, lists of numbers, and
// lists of lists of numbers; `LIG_ERR_USAGE` if there is anything else in it. To be sent to a
// `muscle_settings_in` port.
lig_status lig_value_new_settings(const lig_value *map, lig_value **settings, lig_error *error);

// Runs a formal submodel: `initialise`, then `observe` and `solve` until `is_done`, then `observe_final`;
// again for as long as there are start messages. If a function fails, the whole run ends with its text, and
// its status is returned.
//
// `instance` and `submodel` are valid; `error` may be NULL.
lig_status lig_run_submodel(lig_instance *instance, const lig_submodel *submodel, lig_error *error);

// Runs all instances of this program, which the model calls light, and returns when all of them are over;
// without that, the one instance that this process is. A function is called when there is a message, or the
// end of the conduit, on each connected port of its operator and each slot (F_INIT before `initialise`, S
// before `solve`), so that each port can be received from once in a function. If a function fails, the whole
// run ends with its text, and its status is returned.
//
// The instance that a function gets may be used in that function only. Calls at other times are refused while
// it lives, which is until its `release`.
//
// `light` and what it names are valid until this returns; `error` may be NULL.
lig_status lig_run_light(const lig_light *light, lig_error *error);

// Makes the domain of an instance. It must be freed before the instance.
//
// `LIG_ERR_USAGE` if the model gives the component no grid.
lig_status lig_domain_create(lig_instance *instance, lig_domain **domain, lig_error *error);

// Frees a domain. The arrays of its fields are the caller's and stay. NULL is allowed.
//
// The handle is not used afterwards.
void lig_domain_free(lig_domain *domain);

// The number of axes of the grid: 1 to 3; 0 if `domain` is NULL.
//
// All pointers are valid.
size_t lig_domain_ndim(const lig_domain *domain);

// The number of points of the whole grid along each axis. It lives as long as the domain, as do the numbers of
// the three functions below.
//
// All pointers are valid.
const uint64_t *lig_domain_shape(const lig_domain *domain);

// The first of this block's points along each axis, counted from 0.
//
// All pointers are valid.
const uint64_t *lig_domain_begin_point(const lig_domain *domain);

// The point after this block's last one along each axis.
//
// All pointers are valid.
const uint64_t *lig_domain_end_point(const lig_domain *domain);

// The number of blocks along each axis.
//
// All pointers are valid.
const uint64_t *lig_domain_blocks(const lig_domain *domain);

// The number of this block, from 0; the last axis runs fastest.
//
// All pointers are valid.
uint32_t lig_domain_block(const lig_domain *domain);

// Adds a field, which has `ghosts` points beyond the block at each side. `array` describes the caller's array:
// its shape is that of the block with `2 * ghosts` more along each axis, its elements lie next to each other
// in its order, and its unit is the field's. The array stays where it is until the domain is freed, or until
// `lig_domain_set_data`, and shares no memory with another field. The number of the field goes to `*field`.
//
// `LIG_ERR_USAGE` if the name is taken, the array does not fit, or a block is narrower than the ghosts.
lig_status lig_domain_add_field(lig_domain *domain,
                                const char *field_name,
                                size_t ghosts,
                                const lig_array *array,
                                uint32_t *field,
                                lig_error *error);

// Gives a field another array, of the same type, shape and order: for codes that have two arrays for a field,
// and exchange one while they write the other.
//
// `LIG_ERR_USAGE` if there is no such field.
lig_status lig_domain_set_data(lig_domain *domain, uint32_t field, void *data, lig_error *error);

// Fills the ghosts of `count` fields with the points of the neighbouring blocks, at corners too. All blocks
// make the same calls. Beyond a periodic or mirrored edge of the grid, ghosts are filled too; beyond other
// edges they stay as they are. `time` is the model time of the fields.
//
// `LIG_ERR_UNEXPECTED` if a neighbour exchanges other fields, or is at another time; otherwise as `lig_send`
// and `lig_receive`.
lig_status lig_domain_exchange(lig_domain *domain,
                               double time,
                               const uint32_t *fields,
                               size_t count,
                               lig_error *error);

// Begins an exchange: sends what the neighbours need, and waits for nobody as long as the budgets of the
// conduits last. The code can compute what needs no ghosts before `lig_domain_end`. Otherwise as
// `lig_domain_exchange`.
lig_status lig_domain_begin(lig_domain *domain,
                            double time,
                            const uint32_t *fields,
                            size_t count,
                            lig_error *error);

// Ends an exchange that `lig_domain_begin` has begun, with the same fields: fills their ghosts.
//
// `LIG_ERR_USAGE` if no exchange has begun, or one with other fields; otherwise as `lig_domain_exchange`.
lig_status lig_domain_end(lig_domain *domain, const uint32_t *fields, size_t count, lig_error *error);

// Shows a field to the taps of the port with the field's name (`ligament tap`, the page), at the time of the
// last exchange of the field. Nothing is joined to this port, and while nobody looks nothing is copied or
// computed. A block calls this after an exchange, before the points of the field change, so that the ghosts
// fit them.
//
// `LIG_ERR_USAGE` if the field was in no exchange yet, if an exchange has begun and not ended, or if a port of
// the component has the field's name.
lig_status lig_domain_publish(lig_domain *domain, uint32_t field, lig_error *error);

// The sum of all numbers that all blocks give, each `count` of its own. It is the exact sum, rounded once, so
// it does not depend on the blocks.
//
// `LIG_ERR_UNEXPECTED` if another block does something else; otherwise as `lig_send` and `lig_receive`.
lig_status lig_domain_sum(lig_domain *domain,
                          const double *values,
                          size_t count,
                          double *sum,
                          lig_error *error);

// The smallest of all numbers that all blocks give; infinity if they give none, and NaN if one of them is NaN.
// Otherwise as `lig_domain_sum`.
lig_status lig_domain_min(lig_domain *domain,
                          const double *values,
                          size_t count,
                          double *min,
                          lig_error *error);

// The largest of all numbers that all blocks give; minus infinity if they give none, and NaN if one of them is
// NaN. Otherwise as `lig_domain_sum`.
lig_status lig_domain_max(lig_domain *domain,
                          const double *values,
                          size_t count,
                          double *max,
                          lig_error *error);

// Makes a new key for paths, in a new file that only its owner can read. The other end needs a copy.
lig_status lig_path_key_make(const char *file, lig_error *error);

// Listens for the end that opens the path, at "HOST:PORT", or ":PORT" for all interfaces; port 0 is any that
// is free. Returns at once; what is sent meanwhile waits. `options` may be NULL.
lig_status lig_path_listen(const char *key_file,
                           const char *at,
                           const lig_path_options *options,
                           lig_path **path,
                           lig_error *error);

// Opens a path to an end that listens, or will, at "HOST:PORT"; NULL if it is reached over relays only.
// Returns at once; what is sent meanwhile waits. `options` may be NULL.
lig_status lig_path_open(const char *key_file,
                         const char *to,
                         const lig_path_options *options,
                         lig_path **path,
                         lig_error *error);

// Begins a path whose two ends make the same call, with the "HOST:PORT" of one of them: that one listens,
// unless another program there does so already. Returns at once; what is sent meanwhile waits. `options` may
// be NULL.
lig_status lig_path_meet(const char *key_file,
                         const char *at,
                         const lig_path_options *options,
                         lig_path **path,
                         lig_error *error);

// The port at which a path listens; 0 at the end that opened it.
lig_status lig_path_port(const lig_path *path, uint16_t *port, lig_error *error);

// Waits until there is a connection; not needed before sending or receiving. Of this and all timeouts of
// paths: seconds; less than 0 is as long as it takes. `LIG_ERR_TIMED_OUT` if that was not enough.
lig_status lig_path_wait_connected(const lig_path *path, double timeout, lig_error *error);

// Sends a message of `length` bytes. Returns when `data` may be used again, before it has arrived; waits while
// more than the window is under way. After `LIG_ERR_TIMED_OUT` nothing was sent.
//
// All pointers are valid; `data` may be NULL if `length` is 0, and `error` may be NULL.
lig_status lig_path_send(const lig_path *path,
                         const void *data,
                         size_t length,
                         double timeout,
                         lig_error *error);

// Begins to send a message, without a copy: `data` must stay as it is until `lig_path_wait` has ended the
// request, or has said that the path is lost or closed, or this end is closed or freed. `lig_path_test` says
// whether it has arrived.
//
// All pointers are valid; `data` may be NULL if `length` is 0, and `error` may be NULL.
lig_status lig_path_isend(const lig_path *path,
                          const void *data,
                          size_t length,
                          uint64_t *request,
                          lig_error *error);

// Begins to receive the next message that nobody has asked for yet; `lig_path_wait` brings it.
lig_status lig_path_ireceive(const lig_path *path, uint64_t *request, lig_error *error);

// Returns true if a request is done: what it sends has arrived there, or what it receives has come here.
lig_status lig_path_test(const lig_path *path, uint64_t request, bool *done, lig_error *error);

// Waits until a request is done, and ends it. What came goes to `data`, which has room for `room` bytes, and
// its length to `length`; a request that sends needs neither. `LIG_ERR_UNEXPECTED` if there is not enough
// room: `length` then says how much is needed, and the request stays. So it does after `LIG_ERR_TIMED_OUT`.
//
// All pointers are valid; `data` may be NULL if `room` is 0, and `length` and `error` may be NULL.
lig_status lig_path_wait(const lig_path *path,
                         uint64_t request,
                         void *data,
                         size_t room,
                         size_t *length,
                         double timeout,
                         lig_error *error);

// Gives up a request for a message; the next one gets what has come for it. What is being sent cannot be given
// up.
lig_status lig_path_cancel(const lig_path *path,
                           uint64_t request,
                           lig_error *error);

// Waits for the next message; its length, bytes.
lig_status lig_path_probe(const lig_path *path, size_t *length, double timeout, lig_error *error);

// Receives the next message into `data`, which has room for `room` bytes; its length goes to `length`.
// `LIG_ERR_UNEXPECTED` if there is not enough room: `length` then says how much is needed, and the message
// stays. `LIG_ERR_CLOSED` if the other end has closed, and nothing more will come.
//
// All pointers are valid; `data` may be NULL if `room` is 0, and `length` and `error` may be NULL.
lig_status lig_path_receive(const lig_path *path,
                            void *data,
                            size_t room,
                            size_t *length,
                            double timeout,
                            lig_error *error);

// Sends a message and receives one, both at once; as `lig_path_send` and `lig_path_receive`. After
// `LIG_ERR_TIMED_OUT` and `LIG_ERR_UNEXPECTED` it was sent: receive by `lig_path_receive`, and do not send it
// again.
//
// All pointers are valid; `data` and `place` may be NULL where there are 0 bytes, and `received` and `error`
// may be NULL.
lig_status lig_path_send_receive(const lig_path *path,
                                 const void *data,
                                 size_t length,
                                 void *into,
                                 size_t room,
                                 size_t *received,
                                 double timeout,
                                 lig_error *error);

// Waits until the other end calls it as well.
lig_status lig_path_barrier(const lig_path *path, double timeout, lig_error *error);

// Changes how many bytes in a second this end sends over a long way, at most; 0: as fast as it goes.
lig_status lig_path_set_pace(const lig_path *path, uint64_t pace, lig_error *error);

// The traffic.
lig_status lig_path_get_statistics(const lig_path *path, lig_path_statistics *statistics, lig_error *error);

// Waits until everything that was sent has arrived, tells the other end that nothing more comes, and frees the
// path. It is freed whatever is returned: every later call is refused, but for `lig_path_close` and
// `lig_path_free`, which do nothing then. NULL is let pass.
//
// `error` is valid or NULL.
lig_status lig_path_close(lig_path *path,
                          double timeout,
                          lig_error *error);

// Frees a path at once; what is under way is lost. NULL, and a path that is closed or freed, are let pass.
void lig_path_free(lig_path *path);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* LIGAMENT_H */

#undef LIG_ENUM
