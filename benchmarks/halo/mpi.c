// A block with MPI: mpi (types|packed) CUT EDGE FIELDS GHOSTS ROUNDS. "types": one message for each face, whose
// derived type has the face in all fields. "packed": the same, packed and unpacked by hand. Rank 0 prints the
// times of an exchange (measure).
#define _GNU_SOURCE
#include "halo.h"

#include <mpi.h>

static struct region own[2], ghost[2];
static MPI_Datatype own_type[2], ghost_type[2];
static char *packed[2], *come[2];
static size_t face_bytes;

// The type of a face in all fields, with absolute addresses.
static MPI_Datatype type_of(const struct halo *h, const struct region *r) {
    const int n = (int)length(h), whole[AXES] = {n, n, n};
    const size_t points = r->start / sizeof(double);
    const int piece[AXES] = {(int)r->planes, (int)r->rows, (int)(r->row_bytes / sizeof(double))};
    const int at[AXES] = {(int)(points / n / n), (int)(points / n % n), (int)(points % n)};
    MPI_Datatype one, all, each[64];
    MPI_Aint places[64];
    int counts[64];
    MPI_Type_create_subarray(AXES, whole, piece, at, MPI_ORDER_C, MPI_DOUBLE, &one);
    for (size_t f = 0; f < h->fields; ++f) {
        counts[f] = 1;
        each[f] = one;
        MPI_Get_address(h->data[f], &places[f]);
    }
    MPI_Type_create_struct((int)h->fields, counts, places, each, &all);
    MPI_Type_commit(&all);
    MPI_Type_free(&one);
    return all;
}

// A face that leaves at the upper side arrives at the lower side of the other block.
static void with_types(struct halo *h, size_t round) {
    (void)round;
    MPI_Request requests[4];
    for (int side = 0; side < 2; ++side)
        MPI_Irecv(MPI_BOTTOM, 1, ghost_type[side], 1 - h->side, 1 - side, MPI_COMM_WORLD, &requests[side]);
    for (int side = 0; side < 2; ++side)
        MPI_Isend(MPI_BOTTOM, 1, own_type[side], 1 - h->side, side, MPI_COMM_WORLD, &requests[2 + side]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
}

static void by_hand(struct halo *h, size_t round) {
    (void)round;
    MPI_Request leaving[2], coming[2];
    for (int side = 0; side < 2; ++side)
        MPI_Irecv(come[side], (int)(face_bytes * h->fields), MPI_BYTE, 1 - h->side, 1 - side, MPI_COMM_WORLD,
                  &coming[side]);
    for (int side = 0; side < 2; ++side) {
        const size_t rows = own[side].planes * own[side].rows;
        for (size_t f = 0; f < h->fields; ++f)
            pack(&own[side], (char *)h->data[f], 0, rows, packed[side] + f * face_bytes);
        MPI_Isend(packed[side], (int)(face_bytes * h->fields), MPI_BYTE, 1 - h->side, side, MPI_COMM_WORLD,
                  &leaving[side]);
    }
    for (int i = 0; i < 2; ++i) {
        int side;
        MPI_Waitany(2, coming, &side, MPI_STATUS_IGNORE);
        const size_t rows = ghost[side].planes * ghost[side].rows;
        for (size_t f = 0; f < h->fields; ++f)
            unpack(&ghost[side], (char *)h->data[f], 0, rows, come[side] + f * face_bytes);
    }
    MPI_Waitall(2, leaving, MPI_STATUSES_IGNORE);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int ranks;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc != 7 || ranks != 2) MPI_Abort(MPI_COMM_WORLD, 2);
    const bool types = strcmp(argv[1], "types") == 0;
    struct halo h = halo_of(argv + 2);
    if (h.fields > 64) MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Comm_rank(MPI_COMM_WORLD, &h.side);
    pin(h.side);
    make_fields(&h);
    for (int side = 0; side < 2; ++side) {
        own[side] = face(&h, side, true);
        ghost[side] = face(&h, side, false);
        face_bytes = bytes_of(&own[side]);
        own_type[side] = type_of(&h, &own[side]);
        ghost_type[side] = type_of(&h, &ghost[side]);
        packed[side] = malloc(face_bytes * h.fields);
        come[side] = malloc(face_bytes * h.fields);
    }
    measure(&h, types ? with_types : by_hand, stdout);
    for (int side = 0; side < 2; ++side) {
        MPI_Type_free(&own_type[side]);
        MPI_Type_free(&ghost_type[side]);
    }
    MPI_Finalize();
    return 0;
}
