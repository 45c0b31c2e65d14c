// The C side of Ligament's Fortran binding for MPI programs: the data that all ranks share (ligament_mpi.h).
// The user's mpicc compiles it. Functions begin with lfm_, and ligament_mpi.f90 declares them.
#include <ISO_Fortran_binding.h>
#include <ligament_mpi.h>

// Collective. Makes the shared data of a communicator's ranks; of MPI_COMM_WORLD if no communicator is given.
// NULL if there is no memory.
void *lfm_create(const MPI_Fint *comm) {
    lig_mpi_instance *ranks = NULL;
    lig_mpi_ranks_create(comm ? MPI_Comm_f2c(*comm) : MPI_COMM_WORLD, &ranks, NULL);
    return ranks;
}

int lfm_rank(const lig_mpi_instance *ranks) { return ranks->rank; }

MPI_Fint lfm_comm(const lig_mpi_instance *ranks) { return MPI_Comm_c2f(ranks->comm); }

// Enters a collective call. `array` is an array that all ranks get; NULL if there is none.
void lfm_enter(lig_mpi_instance *ranks, int32_t call, const char *port, size_t length,
               const CFI_cdesc_t *array) {
    char text[LIG_MPI_PORT] = {0};
    uint64_t bytes = array ? array->elem_len : 0;
    memcpy(text, port, length < sizeof text ? length : sizeof text - 1);
    for (int i = 0; array && i < array->rank; i++) bytes *= (uint64_t)array->dim[i].extent;
    lig_mpi_enter(ranks, call, text, bytes);
}

// Collective. Sends the result of rank 0's call to all ranks. `text` has room for `length` characters, and is
// padded with blanks.
int32_t lfm_share(lig_mpi_instance *ranks, int32_t status, int32_t *again, lig_times *times, char *text,
                  size_t length) {
    lig_mpi_outcome outcome;
    lig_error error;
    memset(&outcome, 0, sizeof outcome);
    memset(&error, 0, sizeof error);
    outcome.status = status;
    outcome.again = *again;
    outcome.times = *times;
    if (length >= sizeof error.message) length = sizeof error.message - 1;
    memcpy(error.message, text, length);
    lig_mpi_share(ranks, &outcome, &error);
    *again = outcome.again;
    *times = outcome.times;
    memcpy(text, error.message, length);
    return outcome.status;
}

// Returns the address of an element. Elements are counted as they lie in memory, the first index fastest.
static char *element(const CFI_cdesc_t *array, size_t number) {
    char *at = array->base_addr;
    for (int i = 0; i < array->rank; i++) {
        const size_t extent = (size_t)array->dim[i].extent;
        at += (CFI_index_t)(number % extent) * array->dim[i].sm;
        number /= extent;
    }
    return at;
}

// Collective. Sends rank 0's elements to all ranks. Returns false on all of them if one has no memory for the
// copy of an array that is not contiguous.
bool lfm_give(const lig_mpi_instance *ranks, CFI_cdesc_t *array) {
    size_t count = 1;
    for (int i = 0; i < array->rank; i++) count *= (size_t)array->dim[i].extent;
    const size_t size = array->elem_len;
    int lacking = 0, anywhere = 0;
    char *packed = array->base_addr;
    if (array->rank > 0 && !CFI_is_contiguous(array)) packed = malloc(count * size + 1);
    lacking = packed == NULL && count > 0;
    MPI_Allreduce(&lacking, &anywhere, 1, MPI_INT, MPI_MAX, ranks->comm);
    if (!anywhere) {
        const bool is_copy = packed != array->base_addr;
        for (size_t i = 0; is_copy && ranks->rank == 0 && i < count; i++)
            memcpy(packed + i * size, element(array, i), size);
        lig_array bytes = {.dtype = LIG_UINT8, .ndim = 1, .shape = {count * size}, .data = packed};
        lig_mpi_give_to_all(ranks, &bytes);
        for (size_t i = 0; is_copy && ranks->rank != 0 && i < count; i++)
            memcpy(element(array, i), packed + i * size, size);
    }
    if (packed != array->base_addr) free(packed);
    return !anywhere;
}

// Collective. Gives all ranks rank 0's directory, a text of `length` bytes.
int32_t lfm_directory(lig_mpi_instance *ranks, const char *own, size_t length, lig_string *given) {
    lig_error error;
    const char *directory = NULL;
    char *text = NULL;
    int lacking = 0;
    if (ranks->rank == 0) text = calloc(length + 1, 1);
    lacking = ranks->rank == 0 && text == NULL;
    MPI_Bcast(&lacking, 1, MPI_INT, 0, ranks->comm);
    if (lacking) return LIG_ERR_OUT_OF_MEMORY;
    if (text) memcpy(text, own, length);
    const lig_status status = lig_mpi_give_directory(ranks, text, &directory, &error);
    free(text);
    given->data = directory;
    given->size = status == LIG_OK ? strlen(directory) : 0;
    return status;
}

void lfm_free(lig_mpi_instance *ranks) { lig_mpi_release(ranks); }
