// Errors, and the keys that Fortran's variables hold. Part of ligament_descriptors.c.

// ---- errors

// The error of the last call in this thread that failed.
static _Thread_local lig_error fault;
// The instance whose run learns of an error that ends the program: the one that was made or is running.
static lig_instance *_Atomic living;
static _Thread_local lig_instance *mine;

static lig_status fail(lig_status status, const char *format, ...) {
    va_list values;
    va_start(values, format);
    vsnprintf(fault.message, sizeof fault.message, format, values);
    va_end(values);
    return status;
}

static void origin_name(const lf_ref *ref, char name[ORIGIN_SIZE + 1]) {
    size_t length = ORIGIN_SIZE;
    while (length > 0 && ref->port[length - 1] == ' ') --length;
    memcpy(name, ref->port, length);
    name[length] = 0;
}

// Puts the origin of a message before the text of an error about a part of it, unless the text has it already.
static lig_status named(lig_status status, const lig_message *message) {
    char text[sizeof fault.message], words[400];
    lig_string origin;
    if (status != LIG_ERR_UNEXPECTED || message == NULL) return status;
    lig_message_origin(message, &origin);
    if (origin.size == 0 || origin.size >= sizeof words) return status;
    memcpy(words, origin.data, origin.size);
    words[origin.size] = 0;
    if (strstr(fault.message, words) != NULL) return status;
    memcpy(text, fault.message, sizeof text);
    return fail(status, "in the message on %s: %.600s", words, text);
}

size_t lf_fault(const char **text) {
    *text = fault.message;
    return strlen(fault.message);
}

void lf_set_fault(const char *text, size_t length) {
    fail(LIG_ERR_USAGE, "%.*s", length < 1000 ? (int)length : 1000, text);
}

// Reports to the run, and on the standard error stream, why the program stops.
void lf_last_words(int32_t status) {
    fprintf(stderr, "%s\n", fault.message);
    fflush(stderr);
    if (mine != NULL && mine == atomic_load(&living) && status != LIG_ERR_RUN_ENDS &&
        status != LIG_ERR_REGISTRATION) {
        lig_error_shutdown(mine, fault.message, NULL);
    }
}

// Notes which instance this thread runs now; NULL for none.
static void enter(lig_instance *instance) {
    mine = instance;
    atomic_store(&living, instance);
}

// Fills in the error that the library passed to a function of a submodel.
void lf_write_error(lig_error *error, const char *text, size_t length) {
    if (error == NULL) return;
    if (length >= sizeof error->message) length = sizeof error->message - 1;
    memcpy(error->message, text, length);
    error->message[length] = 0;
}

// ---- keys: what Fortran's variables hold

// Copies of a variable share one object, and Fortran does not report when the last copy is gone. So a variable
// holds the key of an entry here. When the object is freed, the entry's key changes, so a copy with the old key
// is recognised.
typedef struct {
    void *_Atomic thing;
    _Atomic uint32_t life;
    _Atomic int32_t edition;
    uint32_t next;
} Entry;

enum { CHUNK = 1024, CHUNKS = 1 << 14, NONE = UINT32_MAX };
static Entry *_Atomic chunks[CHUNKS];
static atomic_flag busy = ATOMIC_FLAG_INIT;
static uint32_t first_free = NONE, made_entries;  // under `busy`
static _Thread_local uint32_t spare = NONE;       // an entry that this thread has freed

static Entry *entry_at(uint32_t number) {
    Entry *chunk =
        number / CHUNK < CHUNKS ? atomic_load_explicit(&chunks[number / CHUNK], memory_order_acquire) : NULL;
    return chunk != NULL ? &chunk[number % CHUNK] : NULL;
}

// Returns the entry of a key; NULL if its object is gone.
static Entry *entry_of(int64_t key) {
    if (key == 0) return NULL;
    Entry *entry = entry_at((uint32_t)key);
    if (entry == NULL || atomic_load_explicit(&entry->life, memory_order_relaxed) != (uint32_t)(key >> 32))
        return NULL;
    return entry;
}

static void *thing_of(int64_t key) {
    Entry *entry = entry_of(key);
    return entry != NULL ? atomic_load_explicit(&entry->thing, memory_order_relaxed) : NULL;
}

// Returns the message that a value is part of, if it came in one.
static const lig_message *message_of(const lf_ref *ref) {
    return ref->port[0] != ' ' && ref->port[0] != 0 ? thing_of(ref->key) : NULL;
}

static lig_status from(lig_status status, const lf_ref *ref) {
    return named(status, message_of(ref));
}

static uint32_t new_entry(void) {
    while (atomic_flag_test_and_set_explicit(&busy, memory_order_acquire)) continue;
    uint32_t number = first_free;
    if (number != NONE) {
        first_free = entry_at(number)->next;
    } else if (made_entries < (uint32_t)CHUNK * CHUNKS) {
        number = made_entries;
        if (number % CHUNK == 0) {
            Entry *chunk = calloc(CHUNK, sizeof *chunk);
            if (chunk == NULL) number = NONE;
            for (int i = 0; chunk != NULL && i < CHUNK; ++i) chunk[i].life = 1;
            if (chunk != NULL) atomic_store_explicit(&chunks[number / CHUNK], chunk, memory_order_release);
        }
        if (number != NONE) ++made_entries;
    }
    atomic_flag_clear_explicit(&busy, memory_order_release);
    return number;
}

// Makes a key for an object; 0 if there is no memory.
static int64_t keep(void *thing) {
    uint32_t number = spare;
    if (number != NONE) {
        spare = NONE;
    } else {
        number = new_entry();
    }
    if (number == NONE) return 0;
    Entry *entry = entry_at(number);
    atomic_store_explicit(&entry->thing, thing, memory_order_relaxed);
    atomic_store_explicit(&entry->edition, 0, memory_order_relaxed);
    return (int64_t)((uint64_t)atomic_load_explicit(&entry->life, memory_order_relaxed) << 32 | number);
}

// Ends the life of a key and returns its object; NULL if the object was gone already.
static void *let_go(int64_t key) {
    Entry *entry = entry_of(key);
    if (entry == NULL) return NULL;
    void *thing = atomic_exchange(&entry->thing, NULL);
    const uint32_t life = (uint32_t)(key >> 32) + 1;
    atomic_store_explicit(&entry->life, life & INT32_MAX ? life & INT32_MAX : 1, memory_order_relaxed);
    if (spare == NONE) {
        spare = (uint32_t)key;
        return thing;
    }
    while (atomic_flag_test_and_set_explicit(&busy, memory_order_acquire)) continue;
    entry->next = first_free;
    first_free = (uint32_t)key;
    atomic_flag_clear_explicit(&busy, memory_order_release);
    return thing;
}

static lig_status instance_of(int64_t key, lig_instance **instance) {
    *instance = thing_of(key);
    if (*instance != NULL) return LIG_OK;
    return fail(LIG_ERR_USAGE, "there is no instance here: it was freed, or never made");
}

#define INSTANCE(key)                                                             \
    lig_instance *instance;                                                       \
    do {                                                                          \
        const lig_status joined = instance_of(key, &instance);                    \
        if (joined != LIG_OK) return joined;                                      \
    } while (0)

static bool is_here(const lf_ref *ref) {
    Entry *entry = entry_of(ref->key);
    return entry != NULL && ref->value != NULL &&
           (ref->edition < 0 || ref->edition == atomic_load(&entry->edition));
}

static lig_status there(const lf_ref *ref) {
    if (is_here(ref)) return LIG_OK;
    char name[ORIGIN_SIZE + 1];
    origin_name(ref, name);
    if (*name)
        return fail(LIG_ERR_USAGE,
                    "the message that was received on port \"%s\" is not there any more: it was freed", name);
    return fail(LIG_ERR_USAGE,
                "there is no value here: it was freed, put into another value, changed since, or never made");
}

#define RETURN_IF_ABSENT                                                          \
    do {                                                                          \
        const lig_status present = there(ref);                                    \
        if (present != LIG_OK) return present;                                    \
    } while (0)

// Gives Fortran a value that was built.
static lig_status give(lig_status status, lig_value *value, lf_ref *made) {
    memset(made, 0, sizeof *made);
    memset(made->port, ' ', ORIGIN_SIZE);
    made->edition = -1;
    made->slot = NO_SLOT;
    if (status != LIG_OK) return status;
    made->value = value;
    made->key = keep(value);
    if (made->key != 0) return LIG_OK;
    lig_value_free(value);
    return fail(LIG_ERR_OUT_OF_MEMORY, "there is no memory for a value");
}

// Gives Fortran a part of a value. It lives as long as the whole value.
static void lend(const lf_ref *whole, const lig_value *part, lf_ref *made) {
    *made = *whole;
    made->value = part;
    if (part == NULL) made->key = 0;
    if (whole->edition >= 0) return;
    Entry *entry = entry_of(whole->key);
    if (entry != NULL) made->edition = atomic_load(&entry->edition);
}

// Notes which instance this thread runs now, if the library lends it to a function of a light component.
void lf_enter(int64_t key) {
    enter(thing_of(key));
}

int64_t lf_keep_instance(lig_instance *instance) {
    return keep(instance);
}

void lf_let_go(int64_t key) {
    let_go(key);
}
