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

// Maximum number of dimensions of an array.
#define LIG_MAX_DIMS 8

// First number of the version of the C ABI. A program that was built for another number cannot use this
// library.
#define LIG_ABI_MAJOR 0

// Second number of the version of the C ABI. It grows when something is added.
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
    // Overlays of settings that come with messages are not applied, and the code reads them
    // (`lig_message_settings`). This is for components that serve several others with different settings.
    LIG_DONT_APPLY_OVERLAY = 1,
    // The code saves its state by `lig_save_snapshot`, and calls the functions that belong to it in each pass
    // (`lig_resuming`).
    LIG_USES_CHECKPOINT_API = 2,
    // The code keeps nothing from one pass of the reuse loop to the next, so that checkpoints between two
    // passes need no state of it.
    LIG_KEEPS_NO_STATE_FOR_NEXT_USE = 4,
    // The code keeps something from one pass to the next, but can do without it when a run resumes.
    LIG_STATE_NOT_REQUIRED_FOR_NEXT_USE = 8,
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

// The importance of a line in the run's log.
LIG_ENUM(lig_log_level) {
    LIG_LOG_DEBUG = 0,
    LIG_LOG_INFO = 1,
    LIG_LOG_WARNING = 2,
    LIG_LOG_ERROR = 3,
    LIG_LOG_CRITICAL = 4,
};

// The moment of the execution loop in which a port is used.
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

// The index that runs fastest in memory. Element (i, j) is the same for sender and receiver in either order,
// and extents are given in the order of the indices. The order says only how the elements lie in memory.
LIG_ENUM(lig_order) {
    // The last index runs fastest, as in C. The default.
    LIG_ROW_MAJOR = 0,
    // The first index runs fastest, as in Fortran.
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

// The result of a call. The numbers never change.
LIG_ENUM(lig_status) {
    // The call succeeded.
    LIG_OK = 0,
    // There is no run to join, or the run refused this instance.
    LIG_ERR_REGISTRATION = 1,
    // The code used the library in a way that cannot work: an unknown port, a slot that is not there, NULL for
    // a pointer that must not be NULL, a call at the wrong moment.
    LIG_ERR_USAGE = 2,
    // A message is not what the caller asked for: another kind of value, type or shape.
    LIG_ERR_UNEXPECTED = 3,
    // The conduit has ended: no more messages will arrive on this port.
    LIG_ERR_CLOSED = 4,
    // A setting is not set.
    LIG_ERR_SETTING_UNSET = 5,
    // No message arrived within the time allowed.
    LIG_ERR_TIMED_OUT = 6,
    // The interrupt check ended the wait.
    LIG_ERR_INTERRUPTED = 7,
    // The run has too little memory to store the message.
    LIG_ERR_OUT_OF_MEMORY = 8,
    // The run is ending; the text gives the reason.
    LIG_ERR_RUN_ENDS = 9,
    // The operating system failed, or another process sent wrong data.
    LIG_ERR_SYSTEM = 10,
    // The library itself has a fault. The instance should not be used any more.
    LIG_ERR_PANIC = 11,
    // A setting is of another type than the requested one.
    LIG_ERR_SETTING_TYPE = 12,
};

// The part of a grid that an instance or rank has: one block. The model says under `grids:` how many points
// the grid has, and into how many blocks it is divided. It is used by one thread at a time, with the instance.
typedef struct lig_domain lig_domain;

// An instance of a component in a running model. Any thread may use it, one at a time. A call during another
// call does nothing and returns `LIG_ERR_USAGE`, with a text that names both calls. This holds for calls of
// other threads, of signal handlers, and of functions that the first call itself calls (an interrupt check,
// `is_done`). Only `lig_instance_name`, `lig_run_name`, `lig_instance_index`, `lig_instance_rank` and
// `lig_instance_ranks` can be called at any time.
typedef struct lig_instance lig_instance;

// Memory for an array: fill it, then send it with `lig_send_loan`. The receiver reads more than 64 KiB in
// place. Several threads may write to it at once, each to its own elements; they must have finished before the
// loan is sent or freed.
typedef struct lig_loan lig_loan;

// A received message. Its arrays are read-only views of the memory into which their sender put them. Several
// threads may read a message, and any thread may free it.
typedef struct lig_message lig_message;

// A list of names. Free it with `lig_names_free`.
typedef struct lig_names lig_names;

// One end of a path between two programs, without a model. Several threads may use it at once. After
// `lig_path_close`, calls are refused, and `lig_path_free` does nothing. Each end has a thread of its own,
// which moves bytes.
typedef struct lig_path lig_path;

// A value of a message, or one that was built. A `const lig_value *` is borrowed, and lives as long as the
// message or value that contains it. A `lig_value *` from a `lig_value_new_…` function belongs to the caller.
// Several threads may read a value at once; while a thread changes, sends or frees a value, no other may use
// it.
typedef struct lig_value lig_value;

// An error, in words for people: what, where, and what to do. The struct belongs to the caller, who may pass
// NULL in its place. It is written only if a call does not return `LIG_OK`.
typedef struct {
    // UTF-8, with a NUL at its end; longer texts are cut.
    char message[1024];
} lig_error;

// A port of a code.
typedef struct {
    // The moment of the execution loop in which it is used.
    lig_operator op;
    // Its name; "name[]" for a vector port.
    const char *name;
} lig_port;

// Options of a new instance. NULL in place of the struct: the ports are those of the model.
typedef struct {
    // `sizeof(lig_instance_options)`
    size_t size;
    // The ports of this code; NULL to take them from the model (`lig_list_ports` lists them).
    const lig_port *ports;
    // Number of ports.
    size_t port_count;
    // Flags of unusual behaviour: members of `lig_instance_flag`, combined with `|`; 0 for none.
    uint64_t flags;
    // The language of the code, for the run's records, such as "fortran"; NULL for C. It is read during the
    // call.
    const char *language;
    // Number of processes that are one instance together, as MPI starts them; 0 if not given. One of them
    // joins the run for all. While the instance computes, `ranks` times `threads` cores count as busy, and
    // instances that wait for it do not spin on these cores. If neither number is given, those under
    // `resources:` in the model count.
    uint32_t ranks;
    // Number of threads of each process; 0 if not given.
    uint32_t threads;
} lig_instance_options;

// A row of a setting that is a list of lists of numbers.
typedef struct {
    // The numbers.
    const double *values;
    // Number of values.
    size_t count;
} lig_float_row;

// The times of a message.
typedef struct {
    // The model time that the data belongs to, s.
    double timestamp;
    // The model time of the sender's next message, s. Only if `has_next_timestamp`.
    double next_timestamp;
    // True if the sender has given the time of its next message.
    bool has_next_timestamp;
    // Always zero.
    uint8_t reserved[7];
} lig_times;

// Options of a send. NULL in place of the struct: the message has time 0 and no next message, the port is not
// a vector port, and the settings in force at this instance hold.
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
    // it; it is read during the call. NULL for the overlay in force at this instance. This is for components
    // that serve several others with different settings (see `LIG_DONT_APPLY_OVERLAY`).
    const lig_value *settings;
} lig_send_options;

// An array of the caller, to be sent or to be received into. Set all members to zero that you do not use:
// `lig_array a = {.dtype = LIG_FLOAT64, .ndim = 2, .shape = {rows, columns}, .data = elements};`
typedef struct {
    // The type of the elements.
    lig_dtype dtype;
    // The number of dimensions: 0 (one element) to 8.
    uint32_t ndim;
    // The index that runs fastest. With `strides`: the order in which the elements are sent.
    lig_order order;
    // Must be zero; any other value is `LIG_ERR_USAGE`.
    uint32_t reserved;
    // The extent of each dimension, in the order of the indices (Fortran's `shape(array)`); only the first
    // `ndim` count.
    uint64_t shape[LIG_MAX_DIMS];
    // Bytes from one element to the next along each dimension, possibly negative; NULL if the elements lie
    // next to each other in `order`.
    const int64_t *strides;
    // Element 0. May be NULL if there are no elements. A send does not write to it.
    void *data;
    // A name for each dimension, or NULL.
    const char *const *names;
    // The unit of the elements, or NULL.
    const char *unit;
} lig_array;

// Options of a receive. NULL in place of the struct: the call waits until a message arrives, and the port is
// not a vector port.
typedef struct {
    // `sizeof(lig_receive_options)`
    size_t size;
    // Longest time to wait, s. Only if `has_timeout`.
    double timeout;
    // True if the call waits no longer than `timeout`.
    bool has_timeout;
    // True if the port is a vector port.
    bool has_slot;
    // The slot of a vector port. Only if `has_slot`.
    uint32_t slot;
} lig_receive_options;

// A port, and a slot if it is a vector port.
typedef struct {
    // The port's name.
    const char *port;
    // True if the port is a vector port.
    bool has_slot;
    // The slot of a vector port. Only if `has_slot`.
    uint32_t slot;
} lig_port_slot;

// A received array, in the memory into which its sender put it. It is read-only, and valid as long as the
// message or value that contains it.
typedef struct {
    // The type of the elements.
    lig_dtype dtype;
    // The number of dimensions: 0 (one element) to 8.
    uint32_t ndim;
    // The index that runs fastest.
    lig_order order;
    // True if the elements lie next to each other in `order`.
    bool contiguous;
    // Zero.
    uint8_t reserved[3];
    // The number of elements.
    uint64_t length;
    // The extent of each dimension, in the order of the indices; only the first `ndim` count.
    uint64_t shape[LIG_MAX_DIMS];
    // Bytes from one element to the next along each dimension; always set. `lig_dtype_size` gives the size of
    // one element.
    int64_t strides[LIG_MAX_DIMS];
    // Element 0, aligned for its type; must not be read if `length` is 0.
    const void *data;
} lig_array_view;

// Text in the library's memory: UTF-8, without a NUL at its end. Print it with `%.*s`.
typedef struct {
    // The first byte; NULL if there is no text.
    const char *data;
    // Length in bytes.
    size_t size;
} lig_string;

// The expected properties of an array. A member that is zero allows any value. NULL in place of the struct
// allows any array:
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

// A submodel, given by its functions. Only those behind `user` may be NULL, and each gets `user`. A function
// returns `LIG_OK`, or another status after it has written the reason to `error`. It may use the instance
// until it returns, by one thread at a time; `is_done` and `model_time` may not. A function must not free the
// instance, and no exception may leave it.
typedef struct {
    // `sizeof(lig_submodel)`
    size_t size;
    // F_INIT: sets the state, from messages where there are any.
    lig_status (*initialise)(lig_instance *instance, void *user, lig_error *error);
    // Returns true if this pass is over; called before each step.
    bool (*is_done)(void *user);
    // O_I: sends the state.
    lig_status (*observe)(lig_instance *instance, void *user, lig_error *error);
    // S: advances the state by one step.
    lig_status (*solve)(lig_instance *instance, void *user, lig_error *error);
    // O_F: sends the final state.
    lig_status (*observe_final)(lig_instance *instance, void *user, lig_error *error);
    // Data of the caller.
    void *user;
    // Saves the state by one call of `lig_save_snapshot`. Called after a step or after `observe_final`, if the
    // instance has the flag `LIG_USES_CHECKPOINT_API` and a checkpoint is due. NULL, with `restore`, for a
    // submodel whose state is not saved.
    lig_status (*save)(lig_instance *instance, void *user, lig_error *error);
    // Sets the state from the message that `lig_load_snapshot` gives. If the state was saved between two
    // passes, `initialise` follows; otherwise the pass goes on.
    lig_status (*restore)(lig_instance *instance, void *user, lig_error *error);
    // Writes the model time that the state has reached, s, to `time`. Asked after each step, because it
    // decides when the state is saved. May be NULL if the submodel makes no steps.
    lig_status (*model_time)(void *user, double *time, lig_error *error);
} lig_submodel;

// The common part of all instances of a light program.
typedef struct {
    // `sizeof(lig_light)`
    size_t size;
    // The functions. The member `user` of this struct is not used: `make` gives each instance its own.
    const lig_submodel *submodel;
    // Makes the data that the functions of one instance get as `user`, and writes it to `user`; NULL if they
    // need none. `context` is the member below. The instance already has its name and its settings. Returns
    // `LIG_OK`, or another status after it has written the reason to `error`.
    lig_status (*make)(lig_instance *instance, void *context, void **user, lig_error *error);
    // Frees the data that `make` has made, when the instance is over; may be NULL.
    void (*release)(void *user);
    // Data of the caller, for `make`.
    void *context;
    // The ports and the language of every instance; NULL to take the ports from the model.
    const lig_instance_options *options;
} lig_light;

// Options of a path; zero stands for the usual value of each. Both ends must agree on `unencrypted`.
typedef struct {
    // `sizeof(lig_path_options)`
    size_t size;
    // Number of bytes that may be under way: sent, and not yet received at the other end. One message may
    // always be. 0: 64 MiB.
    uint64_t window;
    // Longest message that is accepted, in bytes. 0: 1 TiB.
    uint64_t longest;
    // Time after which a path without a connection is lost, s. 0: 60.
    double patience;
    // Files of relays, the nearest first. Both ends give the same relay as the last one. NULL if `relay_count`
    // is 0.
    const char *const *relays;
    size_t relay_count;
    // Number of connections, 1 to 256; the end that opens the path decides. 0: as many as the link needs.
    uint32_t streams;
    // True if messages are not encrypted, on a network that you trust. Both ends still prove that they have
    // the key.
    bool unencrypted;
    // True if messages are never compressed. Otherwise large messages are compressed where they then arrive
    // sooner.
    bool uncompressed;
    // Must be zero.
    uint8_t reserved[2];
    // Maximum rate at which this end sends over a long distance, in bytes per second, to leave room for other
    // traffic. 0: no maximum.
    uint64_t pace;
} lig_path_options;

// The traffic of a path.
typedef struct {
    // Number of messages and bytes that were sent and received since the path was made.
    uint64_t sent;
    uint64_t sent_bytes;
    uint64_t received;
    uint64_t received_bytes;
    // Number of bytes that were sent and not yet received at the other end.
    uint64_t under_way;
    // Number of times that all connections were lost.
    uint64_t cuts;
    // True if there is a connection now.
    bool connected;
} lig_path_statistics;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// The version of the loaded library, such as "0.1.0". The text is never freed.
const char *lig_version(void);

// The version of the C ABI of the loaded library; `LIG_ABI_MAJOR` and `LIG_ABI_MINOR` are the version of this
// header. A caller that loads the library by itself checks first: `major` must be equal, and `minor` at least
// as large.
//
// `major` and `minor` are NULL or writable.
void lig_abi_version(int32_t *major, int32_t *minor);

// The name of a status, such as "LIG_ERR_CLOSED", or "unknown". The text is never freed.
const char *lig_status_name(lig_status status);

// The name of a kind of value, as in Python where there is one: "none", "bool", "int", "uint", "float",
// "complex", "string", "bytes", "list", "map", "array", "settings"; or "unknown". The text is never freed.
const char *lig_kind_name(lig_kind kind);

// The name of an element type, as in NumPy: "bool", "int8", … "complex128"; or "unknown". The text is never
// freed.
const char *lig_dtype_name(lig_dtype dtype);

// The size of one element of a type in bytes; 0 if there is no such type.
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

// Frees the instance, and first ends it cleanly unless it has ended. To report an error of the code, call
// `lig_error_shutdown` before. NULL is allowed. Received messages stay valid until they are freed themselves;
// loans do not. During another call, and in a function of a submodel, this function frees nothing and says so
// on stderr.
//
// `instance` is NULL or was made by `lig_instance_create` and not freed; no operator of a formal submodel
// calls this.
void lig_instance_free(lig_instance *instance);

// True if the code is to go through its execution loop once more. If F_INIT ports are connected, the call
// waits for a message on each of them, and gives false if their conduits have ended. Otherwise it gives true
// once. After false, the instance is over: all its conduits are ended and it has signed off.
//
// `LIG_ERR_UNEXPECTED` if the messages come with different overlays of settings; otherwise as `lig_receive`.
lig_status lig_reuse_instance(lig_instance *instance, bool *again, lig_error *error);

// Ends all conduits on which this instance sends, and signs off. `lig_reuse_instance` does this before it
// gives false, and so does `lig_instance_free`. Call it to end earlier, or to see if the end went well. A
// second call does nothing.
//
// `instance` is valid; `error` may be NULL.
lig_status lig_finish(lig_instance *instance, lig_error *error);

// Ends the whole run because of an error in this code. `why` is shown to the user. Afterwards the instance can
// only be freed. A program also ends the run if it exits with a status other than 0, or before
// `lig_reuse_instance` gives false; the reason is then the last output of the program.
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

// The instance's index within its component, in the instance's memory: one number for each dimension of the
// multiplicity. Returns how many numbers there are: 0 for a component without multiplicity.
//
// `instance` is NULL or valid; `index` is NULL or writable.
size_t lig_instance_index(const lig_instance *instance, const size_t **index);

// The number of this rank within its instance, from 0 on, if the model says that each rank speaks for itself
// (`ranks:` under `ligament:`); otherwise 0.
//
// `instance` is NULL or valid.
uint32_t lig_instance_rank(const lig_instance *instance);

// The number of ranks of the instance that speak for themselves; 1 if the model does not give `ranks:`.
//
// `instance` is NULL or valid.
uint32_t lig_instance_ranks(const lig_instance *instance);

// Writes a line to the run's log, if the model lets lines of this level through.
//
// `instance` and `text` are valid; `error` may be NULL.
lig_status lig_log(lig_instance *instance, lig_log_level level, const char *text, lig_error *error);

// Sets a function that can interrupt a wait. While a call waits, it calls `check` at least once a second in
// its own thread. If `check` returns true, the waiting call returns `LIG_ERR_INTERRUPTED`. NULL removes the
// function. Calls that `check` makes with this instance are refused, and no exception may leave it.
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

// One of the names, with a NUL at its end. It lives as long as the list; NULL if the index is beyond the last
// name.
//
// `names` is NULL or valid.
const char *lig_names_at(const lig_names *names, size_t index);

// Frees a list of names. NULL is allowed.
//
// `names` is NULL, or came from this library and was not freed.
void lig_names_free(lig_names *names);

// The names of the ports with this operator, in the model's order and without "[]". Ports that are not
// connected are included. If the code declares no ports, they are those of the model. `muscle_settings_in`, on
// which the library itself receives, is not included. Free the list with `lig_names_free`.
lig_status lig_list_ports(lig_instance *instance,
                          lig_operator op,
                          lig_names **names,
                          lig_error *error);

// True if a conduit is connected to a port.
lig_status lig_is_connected(lig_instance *instance, const char *port, bool *connected, lig_error *error);

// True if a port has slots.
lig_status lig_is_vector_port(lig_instance *instance, const char *port, bool *vector, lig_error *error);

// True if `lig_set_port_length` can set the port's number of slots. This holds for vector ports that are
// connected to vector ports, and not to the instances of a component.
lig_status lig_is_resizable(lig_instance *instance, const char *port, bool *resizable, lig_error *error);

// Sets the number of slots of a resizable port, which is 0 at first. Each message tells it to the receivers.
//
// `LIG_ERR_USAGE` for a port without slots, or if the model has set another number of slots.
lig_status lig_set_port_length(lig_instance *instance, const char *port, size_t length, lig_error *error);

// The number of slots of a vector port. For a resizable port that receives, this is the number that came with
// the last received message.
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

// Applies changes of settings. Call it once in each step, before the step's work, with the step's model time
// in s. `changed` is true if settings have changed: read the settings that the step needs again. All instances
// that a change concerns make it in their first step at or after the same model time. The call waits while
// instances agree on such a change, and while the run is halted. If there is nothing to do, it takes some
// nanoseconds.
//
// `LIG_ERR_USAGE` if the time is not a finite number; `LIG_ERR_RUN_ENDS`, `LIG_ERR_INTERRUPTED`.
lig_status lig_steer(lig_instance *instance,
                     double time,
                     bool *changed,
                     lig_error *error);

// Declares that a setting of this code can be steered, as a model does under "ligament: steerable:". If the
// model declares the same setting, the model's declaration counts. `minimum` and `maximum` are the permitted
// range; an infinite one means no limit. `unit` is for people, and may be NULL. `restart` is true if the code
// reads the setting once in each pass of the reuse loop, and not in each step.
//
// `LIG_ERR_USAGE` if the name or the range is not valid.
//
// `instance` and `setting` are valid; `unit` and `error` may be NULL.
lig_status lig_declare_steerable(lig_instance *instance,
                                 const char *setting,
                                 double minimum,
                                 double maximum,
                                 const char *unit,
                                 bool restart,
                                 lig_error *error);

// True in the first pass after the run was resumed, if the code has saved its state: the code then calls
// `lig_load_snapshot`. It is the first call in each pass of a code with the flag `LIG_USES_CHECKPOINT_API`.
// The order of the calls in a pass is: `lig_resuming`, `lig_should_init`, in each step
// `lig_should_save_snapshot`, and at the end `lig_should_save_final_snapshot`.
//
// `LIG_ERR_USAGE` if this is not the next call of the pass; the text says which call is.
lig_status lig_resuming(lig_instance *instance, bool *resuming, lig_error *error);

// The message that was saved: its times and the state. Call it if `lig_resuming` has said true. Free the
// message with `lig_message_free`.
//
// `LIG_ERR_USAGE` if `lig_resuming` has not said true.
lig_status lig_load_snapshot(lig_instance *instance, lig_message **message, lig_error *error);

// True if the code must receive its `F_INIT` messages and set its state. False if the state was saved within a
// pass, which now goes on. Call it after `lig_resuming`, or after `lig_load_snapshot`.
//
// `LIG_ERR_USAGE` if this is not the next call of the pass.
lig_status lig_should_init(lig_instance *instance,
                           bool *should_init,
                           lig_error *error);

// True if the code must save its state now, by `lig_save_snapshot`. Call it once in each step, after the
// messages of the step, with the model time in s. If no checkpoint is asked for, it takes some nanoseconds.
//
// `LIG_ERR_USAGE` if the time is not a finite number, or if another call must come first; `LIG_ERR_RUN_ENDS`.
lig_status lig_should_save_snapshot(lig_instance *instance, double time, bool *should_save, lig_error *error);

// Saves the code's state: a message with its times and any value; NULL saves a message without a value. The
// value is read during the call, and arrays that it borrows (`lig_value_new_array_borrowed`) are not copied.
// `times` may be NULL: then the message has time 0 and no next time. A full disk costs this checkpoint; the
// run goes on, and its log says so.
//
// `LIG_ERR_USAGE` if `lig_should_save_snapshot` has not said true.
//
// All pointers are valid; `times`, `state` and `error` may be NULL.
lig_status lig_save_snapshot(lig_instance *instance,
                             const lig_times *times,
                             const lig_value *state,
                             lig_error *error);

// True if the code must save its state at the end of a pass, by `lig_save_final_snapshot`. It is the last call
// of each pass, after all messages of the pass. It waits for the `F_INIT` messages of the next pass, whose
// time decides.
//
// As `lig_reuse_instance`; `LIG_ERR_USAGE` if another call must come first.
lig_status lig_should_save_final_snapshot(lig_instance *instance,
                                          bool *should_save,
                                          lig_error *error);

// Saves the code's state at the end of a pass; otherwise as `lig_save_snapshot`.
//
// `LIG_ERR_USAGE` if `lig_should_save_final_snapshot` has not said true.
//
// As `lig_save_snapshot`.
lig_status lig_save_final_snapshot(lig_instance *instance,
                                   const lig_times *times,
                                   const lig_value *state,
                                   lig_error *error);

// A directory in which the code, with all of its ranks, may keep files of its own beside the message of a
// checkpoint. Between `lig_should_save_snapshot` (or the final one) and the save it is the directory of the
// checkpoint that is being made, and exists. Between `lig_resuming` and `lig_should_init` it is the directory
// of the checkpoint from which the run resumes, which is missing if the code has made no files. The files are
// kept and removed with their checkpoint. The text ends with a NUL, and stays valid until the next call of
// this function, or until the instance is freed.
//
// `LIG_ERR_USAGE` between other calls; `LIG_ERR_SYSTEM` if the directory cannot be made.
lig_status lig_snapshot_directory(lig_instance *instance, const char **directory, lig_error *error);

// Sends a value; NULL sends a message without a value. Returns as soon as the value is stored: the caller may
// then change its memory. Blocks only while the conduit's budget is spent. Does nothing if the port is not
// connected.
//
// `LIG_ERR_USAGE` if there is no such port, or if it does not send; `LIG_ERR_OUT_OF_MEMORY`;
// `LIG_ERR_RUN_ENDS`; `LIG_ERR_INTERRUPTED`.
//
// `instance` and `port` are valid; `options`, `value` and `error` may be NULL.
lig_status lig_send(lig_instance *instance,
                    const char *port,
                    const lig_send_options *options,
                    const lig_value *value,
                    lig_error *error);

// Sends a truth value; otherwise as `lig_send`.
lig_status lig_send_bool(lig_instance *instance,
                         const char *port,
                         const lig_send_options *options,
                         bool value,
                         lig_error *error);

// Sends an integer; otherwise as `lig_send`.
lig_status lig_send_int(lig_instance *instance,
                        const char *port,
                        const lig_send_options *options,
                        int64_t value,
                        lig_error *error);

// Sends a number; otherwise as `lig_send`.
lig_status lig_send_float(lig_instance *instance,
                          const char *port,
                          const lig_send_options *options,
                          double value,
                          lig_error *error);

// Sends text that ends with a NUL; otherwise as `lig_send`.
//
// All pointers are valid; `options` and `error` may be NULL.
lig_status lig_send_string(lig_instance *instance,
                           const char *port,
                           const lig_send_options *options,
                           const char *text,
                           lig_error *error);

// Sends bytes; otherwise as `lig_send`.
//
// All pointers are valid; `data` has `size` bytes, and may be NULL if that is 0. `options` and `error` may be
// NULL.
lig_status lig_send_bytes(lig_instance *instance,
                          const char *port,
                          const lig_send_options *options,
                          const void *data,
                          size_t size,
                          lig_error *error);

// Sends an array in the caller's memory, with one copy; otherwise as `lig_send`.
//
// All pointers are valid, and `array` describes readable memory; `options` and `error` may be NULL.
lig_status lig_send_array(lig_instance *instance,
                          const char *port,
                          const lig_send_options *options,
                          const lig_array *array,
                          lig_error *error);

// Lends memory for an array in row-major order. The code fills it, and it is sent without a copy (up to 64 KiB
// with one, which is faster). `data` is set to the first byte, which is 64-byte aligned. New memory holds
// arbitrary bytes.
//
// `LIG_ERR_OUT_OF_MEMORY`; `LIG_ERR_USAGE` if the shape is not possible.
//
// All pointers are valid, `shape` for `ndim` extents; `data` and `error` may be NULL.
lig_status lig_loan_create(lig_instance *instance,
                           lig_dtype dtype,
                           uint32_t ndim,
                           const uint64_t *shape,
                           lig_loan **loan,
                           void **data,
                           lig_error *error);

// Does the same as `lig_loan_create`, for an array with the type, shape, order, names and unit of the
// description. The description's data is not read, and its strides must be NULL.
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

// Sends the array of a loan, without a copy if it has more than 64 KiB; otherwise as `lig_send`. The loan is
// gone afterwards, also after an error, and its memory must not be used any more. (Exception: a call that is
// refused because another one is in progress leaves the loan.)
//
// All pointers are valid; `options` and `error` may be NULL. `loan` was made with this instance and neither
// sent nor freed.
lig_status lig_send_loan(lig_instance *instance,
                         const char *port,
                         const lig_send_options *options,
                         lig_loan *loan,
                         lig_error *error);

// Takes a loan back without sending it. NULL is allowed. During another call of the instance this function
// does nothing, and says so on stderr.
//
// `loan` is NULL, or was made with this instance and neither sent nor freed.
void lig_loan_free(lig_instance *instance, lig_loan *loan);

// Waits for the next message on a port. Free it with `lig_message_free`.
//
// `LIG_ERR_USAGE` if there is no such port, or if it does not receive or is not connected; `LIG_ERR_CLOSED` if
// the conduit has ended; `LIG_ERR_TIMED_OUT`; `LIG_ERR_UNEXPECTED` if the message has another overlay of
// settings than the one in force; `LIG_ERR_RUN_ENDS`; `LIG_ERR_INTERRUPTED`.
//
// All pointers are valid; `options` and `error` may be NULL.
lig_status lig_receive(lig_instance *instance,
                       const char *port,
                       const lig_receive_options *options,
                       lig_message **message,
                       lig_error *error);

// Does the same as `lig_receive`, but sets `message` to NULL if nothing is connected to the port. This is for
// inputs for which the code has a value of its own.
//
// All pointers are valid; `options` and `error` may be NULL.
lig_status lig_receive_if_connected(lig_instance *instance,
                                    const char *port,
                                    const lig_receive_options *options,
                                    lig_message **message,
                                    lig_error *error);

// Does the same as `lig_receive`, and keeps the message's overlay of settings for `lig_message_settings`. The
// overlay is not compared with the one in force. This is for codes that serve several others with different
// settings. The overlay of an `F_INIT` message is already in force for the pass, unless the instance was made
// with `LIG_DONT_APPLY_OVERLAY`.
//
// All pointers are valid; `options` and `error` may be NULL.
lig_status lig_receive_with_settings(lig_instance *instance,
                                     const char *port,
                                     const lig_receive_options *options,
                                     lig_message **message,
                                     lig_error *error);

// Receives an array into the caller's memory. `into` gives the type and the shape that must come, and the
// place for the elements; its strides must be NULL. An array that comes in the other order is rearranged to
// the order of `into`, so element (i, j) stays element (i, j). `times` may be NULL.
//
// Otherwise as `lig_receive`. `LIG_ERR_UNEXPECTED` if type or shape differ: the message is consumed
// nevertheless, and nothing is written.
//
// All pointers are valid, and `into` describes writable memory; `options`, `times` and `error` may be NULL.
lig_status lig_receive_into(lig_instance *instance,
                            const char *port,
                            const lig_receive_options *options,
                            const lig_array *into,
                            lig_times *times,
                            lig_error *error);

// True if a receive on this port would return at once, with a message or because the conduit has ended. Of
// `options` only the slot is used.
//
// All pointers are valid; `options` and `error` may be NULL.
lig_status lig_poll(lig_instance *instance,
                    const char *port,
                    const lig_receive_options *options,
                    bool *ready,
                    lig_error *error);

// Waits until a message has arrived on this port, or the conduit has ended. True if there is a message. On an
// F_INIT port in the reuse loop, true if the message of this pass has not been received yet. Of `options` only
// slot and timeout are used.
//
// All pointers are valid; `options` and `error` may be NULL.
lig_status lig_has_next(lig_instance *instance,
                        const char *port,
                        const lig_receive_options *options,
                        bool *more,
                        lig_error *error);

// Waits until a message has arrived on one of several ports, and sets `which` to the port's index in `ports`.
// A conduit that has ended is ignored while another one may still have a message. Of `options` only the
// timeout is used.
//
// `LIG_ERR_CLOSED` if all of them have ended; otherwise as `lig_receive`.
//
// All pointers are valid, `ports` for `count` entries; `options` and `error` may be NULL.
lig_status lig_wait_any(lig_instance *instance,
                        const lig_port_slot *ports,
                        size_t count,
                        const lig_receive_options *options,
                        size_t *which,
                        lig_error *error);

// Receives the first message that arrives on one of several ports, and sets `which` to the port's index in
// `ports`. A conduit that has ended is ignored while another one may still have a message. Of `options` only
// the timeout is used.
//
// `LIG_ERR_CLOSED` if all of them have ended; otherwise as `lig_receive`.
//
// All pointers are valid, `ports` for `count` entries; `options` and `error` may be NULL.
lig_status lig_receive_any(lig_instance *instance,
                           const lig_port_slot *ports,
                           size_t count,
                           const lig_receive_options *options,
                           size_t *which,
                           lig_message **message,
                           lig_error *error);

// Frees a message, and returns the memory of its arrays. NULL is allowed.
//
// `message` is NULL, or was received and not freed.
void lig_message_free(lig_message *message);

// The times of a message.
lig_status lig_message_times(const lig_message *message, lig_times *times, lig_error *error);

// The value of a message, which lives as long as the message; NULL for NULL.
//
// `message` is NULL or valid.
const lig_value *lig_message_value(const lig_message *message);

// The array of a message, in place. It lives as long as the message.
//
// `LIG_ERR_UNEXPECTED` if the message holds something else. `lig_expect_array` also checks the properties of
// the array.
lig_status lig_message_array(const lig_message *message, lig_array_view *view, lig_error *error);

// The overlay of settings that came with a message, as a map, which lives as long as the message. The result
// is NULL unless the instance was made with `LIG_DONT_APPLY_OVERLAY`, or `lig_receive_with_settings` received
// the message.
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

// A non-negative integer; `LIG_ERR_UNEXPECTED` if the value is something else.
lig_status lig_value_uint(const lig_value *value, uint64_t *result, lig_error *error);

// A number; integers are accepted. `LIG_ERR_UNEXPECTED` if the value is something else.
lig_status lig_value_float(const lig_value *value, double *result, lig_error *error);

// A complex number; `LIG_ERR_UNEXPECTED` if the value is something else.
lig_status lig_value_complex(const lig_value *value, double *real, double *imaginary, lig_error *error);

// Text, in the value's memory; `LIG_ERR_UNEXPECTED` if the value is something else.
lig_status lig_value_string(const lig_value *value, lig_string *text, lig_error *error);

// Bytes, in the value's memory; `LIG_ERR_UNEXPECTED` if the value is something else.
lig_status lig_value_bytes(const lig_value *value, const void **data, size_t *size, lig_error *error);

// The number of items of a list, map or settings; `LIG_ERR_UNEXPECTED` if the value is something else.
lig_status lig_value_count(const lig_value *value, size_t *count, lig_error *error);

// An item of a list, or the value of an entry of a map. It lives as long as `value`.
//
// `LIG_ERR_USAGE` if the index is beyond the last item; `LIG_ERR_UNEXPECTED` if the value is no list and no
// map.
lig_status lig_value_at(const lig_value *value, size_t index, const lig_value **item, lig_error *error);

// The key of an entry of a map or of settings, in the value's memory.
//
// `LIG_ERR_USAGE` if the index is beyond the last entry; `LIG_ERR_UNEXPECTED` if the value is neither.
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

// An array in place, if it has the expected properties: the value of `message`, or `value`, which is a part of
// that message. `message` is NULL for a value that is part of no message. The array lives as long as the
// message or value.
//
// `LIG_ERR_UNEXPECTED` if it is another array, or none. The text names the port and slot of the message, its
// sender, the received value and the expected array.
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

// Frees a value that was built, with everything in it. NULL is allowed.
//
// `value` is NULL, or came from a function that gives values to the caller, and was neither freed nor put into
// another value.
void lig_value_free(lig_value *value);

// Makes a copy of a value, built or received, for the caller. Arrays and bytes are not copied: both values
// share the memory, which stays until both are freed.
lig_status lig_value_copy(const lig_value *value, lig_value **copy, lig_error *error);

// A new value without contents.
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

// A new text: a copy of `size` bytes of UTF-8. The result is NULL if the bytes are not UTF-8, if there is no
// memory for them, or if `text` is NULL and `size` is not 0. A NULL that is put into a list or map, or is
// sent, is an error there.
//
// `text` has `size` bytes.
lig_value *lig_value_new_string(const char *text, size_t size);

// New bytes: a copy. The result is NULL if there is no memory for them, or if `data` is NULL and `size` is not
// 0.
//
// `data` has `size` bytes.
lig_value *lig_value_new_bytes(const void *data,
                               size_t size);

// A new array: a copy of an array of the caller.
//
// `array` is valid and describes readable memory; `value` is valid; `error` may be NULL.
lig_status lig_value_new_array(const lig_array *array, lig_value **value, lig_error *error);

// A new array over the caller's own memory, without a copy. The memory must stay unchanged until the value,
// and everything that contains it, is freed. Sending the value copies the memory. The elements must lie next
// to each other: strides are `LIG_ERR_USAGE`.
//
// All pointers are valid, and the memory stays unchanged as described above; `error` may be NULL.
lig_status lig_value_new_array_borrowed(const lig_array *array, lig_value **value, lig_error *error);

// A new empty list.
lig_value *lig_value_new_list(void);

// A new empty map.
lig_value *lig_value_new_map(void);

// Adds an item at the end of a list. The item then belongs to the list; if there is an error, it is freed. A
// value lies inside at most 64 lists and maps, here and in messages; more are `LIG_ERR_USAGE`.
//
// `list` and `item` were built, not freed, and not put into other values; `error` may be NULL.
lig_status lig_value_append(lig_value *list, lig_value *item, lig_error *error);

// Sets the item under a key of a map, in place of an earlier one. The item then belongs to the map; if there
// is an error, it is freed. Otherwise as `lig_value_append`.
//
// `map` and `item` were built, not freed, and not put into other values; `key` is valid; `error` may be NULL.
lig_status lig_value_set(lig_value *map, const char *key, lig_value *item, lig_error *error);

// New settings from a map of truth values, integers, numbers, texts, lists of integers, lists of numbers, and
// lists of lists of numbers; any other value in the map is `LIG_ERR_USAGE`. They can be sent to a
// `muscle_settings_in` port.
lig_status lig_value_new_settings(const lig_value *map, lig_value **settings, lig_error *error);

// Runs a formal submodel: `initialise`, then `observe` and `solve` until `is_done`, then `observe_final`. This
// is repeated as long as there are messages to start from. If the instance has the flag
// `LIG_USES_CHECKPOINT_API`, the state is saved and restored, too, by the functions that are given for that.
// If a function fails, the whole run ends with its text, and its status is returned.
//
// `instance` and `submodel` are valid; `error` may be NULL.
lig_status lig_run_submodel(lig_instance *instance,
                            const lig_submodel *submodel,
                            lig_error *error);

// Runs all instances of this program, and returns when all of them are over. If the model does not say that
// the program is light, the process is one instance, which is run alone. A function is called when each
// connected port of its operator, and each slot, has a message or the end of its conduit: F_INIT before
// `initialise`, and S before `solve`. So a function can receive once from each port. If a function fails, the
// whole run ends with its text, and its status is returned.
//
// A function may use its instance only until it returns. Other calls are refused as long as the instance
// lives, which is until its `release`.
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

// Says in which direction the values of a field travel: -1, 0 or 1 for each axis of the grid, as in a lattice
// Boltzmann code. An exchange then fills only the ghosts from which a value comes into the block in this
// direction, and leaves those at other sides between blocks as they are. All blocks give the same directions.
//
// `LIG_ERR_USAGE` if there is no such field, or if an exchange has begun.
//
// `direction` has a number for each axis; `error` may be NULL.
lig_status lig_domain_set_direction(lig_domain *domain,
                                    uint32_t field,
                                    const int32_t *direction,
                                    lig_error *error);

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
lig_status lig_domain_publish(lig_domain *domain,
                              uint32_t field,
                              lig_error *error);

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

// Runs a simulation that is put together from modules (`ligament_module.h`), as an instance of a run, until it
// is over. `modules` has the paths of shared objects, and NULL at its end; a relative path begins at the
// folder of the program. `argc` and `argv` are those of `main`: with `--plan` the call prints the order of the
// functions and the reason of each exchange, and takes part in no run; `--json` does the same in JSON. With
// `--poison`, a function is found out that reads or writes what it does not declare.
//
// `LIG_ERR_USAGE` if the modules do not go together, or one of them fails; otherwise as the functions of an
// instance and of a domain. The run has the reason already.
lig_status lig_grid_run(int argc,
                        const char *const *argv,
                        const char *const *modules,
                        lig_error *error);

// Makes a new key for paths, in a new file that only its owner can read. The other end needs a copy of it.
lig_status lig_path_key_make(const char *file, lig_error *error);

// Listens at "HOST:PORT" for the end that opens the path, or at ":PORT" for all interfaces. Port 0 takes any
// free port. Returns at once; messages that are sent before there is a connection wait. `options` may be NULL.
lig_status lig_path_listen(const char *key_file,
                           const char *at,
                           const lig_path_options *options,
                           lig_path **path,
                           lig_error *error);

// Opens a path to an end that listens, or will listen, at "HOST:PORT"; NULL if it is reached over relays only.
// Returns at once; messages that are sent before there is a connection wait. `options` may be NULL.
lig_status lig_path_open(const char *key_file,
                         const char *to,
                         const lig_path_options *options,
                         lig_path **path,
                         lig_error *error);

// Begins a path whose two ends make the same call, with the "HOST:PORT" of one of them. That end listens,
// unless another program there already does so. Returns at once; messages that are sent before there is a
// connection wait. `options` may be NULL.
lig_status lig_path_meet(const char *key_file,
                         const char *at,
                         const lig_path_options *options,
                         lig_path **path,
                         lig_error *error);

// The port at which a path listens; 0 at the end that opened it.
lig_status lig_path_port(const lig_path *path, uint16_t *port, lig_error *error);

// Waits until there is a connection; not needed before a send or receive. Timeouts of all calls of paths are
// in seconds; a negative one means no limit. `LIG_ERR_TIMED_OUT` if there was no connection in this time.
lig_status lig_path_wait_connected(const lig_path *path, double timeout, lig_error *error);

// Sends a message of `length` bytes. Returns when `data` may be used again, which is before the message has
// arrived. Waits while more bytes than the window are under way. After `LIG_ERR_TIMED_OUT` nothing was sent.
//
// All pointers are valid; `data` may be NULL if `length` is 0, and `error` may be NULL.
lig_status lig_path_send(const lig_path *path,
                         const void *data,
                         size_t length,
                         double timeout,
                         lig_error *error);

// Begins to send a message without a copy. `data` must stay unchanged until one of these: `lig_path_wait` has
// ended the request, or has failed because the path is lost or closed; or this end is closed or freed.
// `lig_path_test` tells if the message has arrived.
//
// All pointers are valid; `data` may be NULL if `length` is 0, and `error` may be NULL.
lig_status lig_path_isend(const lig_path *path,
                          const void *data,
                          size_t length,
                          uint64_t *request,
                          lig_error *error);

// Begins to receive the next message for which there is no request yet; `lig_path_wait` returns the message.
lig_status lig_path_ireceive(const lig_path *path, uint64_t *request, lig_error *error);

// True if a request is done: the sent message has arrived at the other end, or a message has arrived here.
lig_status lig_path_test(const lig_path *path, uint64_t request, bool *done, lig_error *error);

// Waits until a request is done, and ends it. A received message is written to `data`, which has room for
// `room` bytes, and its length to `length`; a request that sends needs neither. `LIG_ERR_UNEXPECTED` if there
// is not enough room: `length` is then the needed room, and the request stays. The request also stays after
// `LIG_ERR_TIMED_OUT`.
//
// All pointers are valid; `data` may be NULL if `room` is 0, and `length` and `error` may be NULL.
lig_status lig_path_wait(const lig_path *path,
                         uint64_t request,
                         void *data,
                         size_t room,
                         size_t *length,
                         double timeout,
                         lig_error *error);

// Withdraws a request for a message. The next request gets the message that has come for it. A request that
// sends cannot be withdrawn.
lig_status lig_path_cancel(const lig_path *path, uint64_t request, lig_error *error);

// Waits for the next message, and gives its length in bytes.
lig_status lig_path_probe(const lig_path *path, size_t *length, double timeout, lig_error *error);

// Receives the next message into `data`, which has room for `room` bytes, and writes its length to `length`.
// `LIG_ERR_UNEXPECTED` if there is not enough room: `length` is then the needed room, and the message stays.
// `LIG_ERR_CLOSED` if the other end has closed the path and no message is left.
//
// All pointers are valid; `data` may be NULL if `room` is 0, and `length` and `error` may be NULL.
lig_status lig_path_receive(const lig_path *path,
                            void *data,
                            size_t room,
                            size_t *length,
                            double timeout,
                            lig_error *error);

// Sends a message and receives one at the same time, as `lig_path_send` and `lig_path_receive` do. After
// `LIG_ERR_TIMED_OUT` and `LIG_ERR_UNEXPECTED` the message was sent: call `lig_path_receive` then, and do not
// send again.
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

// Waits until the other end also calls this function.
lig_status lig_path_barrier(const lig_path *path, double timeout, lig_error *error);

// Changes the maximum rate at which this end sends over a long distance, in bytes per second; 0: no maximum.
lig_status lig_path_set_pace(const lig_path *path, uint64_t pace, lig_error *error);

// The traffic.
lig_status lig_path_get_statistics(const lig_path *path, lig_path_statistics *statistics, lig_error *error);

// Waits until everything that was sent has arrived, tells the other end that no more messages come, and frees
// the path. The path is freed whatever the result is. Later calls are refused, except for `lig_path_close` and
// `lig_path_free`, which then do nothing. NULL does nothing.
//
// `error` is valid or NULL.
lig_status lig_path_close(lig_path *path,
                          double timeout,
                          lig_error *error);

// Frees a path at once. Messages under way are lost. NULL, and a path that is closed or freed, do nothing.
void lig_path_free(lig_path *path);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* LIGAMENT_H */

#undef LIG_ENUM
