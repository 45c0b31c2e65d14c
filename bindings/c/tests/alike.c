// A macro model that sends arrays, each of which differs from the one before in one property, and checks the
// arrays that the echo sends back. An array like the one before takes a faster way, so each difference must be
// noticed.
#include "check.h"

enum { LENGTH = 256 };

static lig_instance *instance;
static uint64_t elements[LENGTH];

// Returns the number of bytes from one element to the next along an axis.
static int64_t step(const lig_array *array, uint32_t axis) {
    if (array->strides) return array->strides[axis];
    int64_t bytes = (int64_t)lig_dtype_size(array->dtype);
    const int first = array->order == LIG_COLUMN_MAJOR;
    for (uint32_t i = 0; i < array->ndim; ++i)
        if (first ? i < axis : i > axis) bytes *= (int64_t)array->shape[i];
    return bytes;
}

// Returns an element of an array with at most two dimensions.
static const char *at(const char *data, const int64_t *steps, uint64_t row, uint64_t column) {
    return data + (int64_t)row * steps[0] + (int64_t)column * steps[1];
}

static void goes_there_and_back(const lig_array *array) {
    FINE(lig_send_array(instance, "out", NULL, array, &error));
    lig_message *message;
    lig_array_view view;
    lig_string unit;
    FINE(lig_receive(instance, "in", NULL, &message, &error));
    FINE(lig_message_array(message, &view, &error));
    HOLDS(view.dtype == array->dtype && view.ndim == array->ndim);
    for (uint32_t axis = 0; axis < view.ndim; ++axis) {
        lig_string name;
        HOLDS(view.shape[axis] == array->shape[axis]);
        FINE(lig_value_array_name(lig_message_value(message), axis, &name, &error));
        HOLDS(!array->names ? name.size == 0 : name.size == 1 && name.data[0] == array->names[axis][0]);
    }
    FINE(lig_value_array_unit(lig_message_value(message), &unit, &error));
    HOLDS(unit.size == (array->unit ? strlen(array->unit) : 0));
    const uint64_t rows = array->ndim > 0 ? array->shape[0] : 1,
                   columns = array->ndim > 1 ? array->shape[1] : 1;
    int64_t sent[2] = {0, 0}, came[2] = {0, 0};
    for (uint32_t axis = 0; axis < view.ndim; ++axis)
        sent[axis] = step(array, axis), came[axis] = view.strides[axis];
    for (uint64_t i = 0; i < rows; ++i)
        for (uint64_t j = 0; j < columns; ++j)
            HOLDS(
                !memcmp(at(array->data, sent, i, j), at(view.data, came, i, j), lig_dtype_size(array->dtype)));
    lig_message_free(message);
}

int main(void) {
    static const int64_t transposed[] = {8, 64};
    static const char *const names[] = {"x", "y"};
    const lig_array usual = {.dtype = LIG_UINT64, .ndim = 2, .shape = {8, 32}, .data = elements};
    lig_array others[9], wrong[5];
    for (int i = 0; i < 9; ++i) others[i] = usual;
    for (int i = 0; i < 5; ++i) wrong[i] = usual;
    others[0].dtype = LIG_FLOAT64;
    others[1].shape[0] = 32, others[1].shape[1] = 8;
    others[2].ndim = 1, others[2].shape[0] = LENGTH;
    others[3].order = LIG_COLUMN_MAJOR;
    others[4].strides = transposed;
    others[5].names = (const char *const *)names;
    others[6].unit = "m";
    others[7].shape[1] = 16;
    others[8].shape[1] = 0;
    wrong[0].dtype = 99;
    wrong[1].order = 7;
    wrong[2].ndim = LIG_MAX_DIMS + 1;
    wrong[3].reserved = 1;
    wrong[4].data = NULL;
    static const char *const why[] = {"element type 99", "order 7", "dimensions", "reserved", "NULL"};
    FINE(lig_instance_create(NULL, &instance, &error));
    bool again;
    FINE(lig_reuse_instance(instance, &again, &error));
    for (uint64_t round = 0; round < 3; ++round) {
        for (int i = 0; i < 9; ++i) {
            for (uint64_t k = 0; k < LENGTH; ++k) elements[k] = 1000000 * round + 1000 * (uint64_t)i + k;
            for (int times = 0; times < 3; ++times) goes_there_and_back(&usual);
            goes_there_and_back(&others[i]);
        }
        for (int i = 0; i < 5; ++i) {
            goes_there_and_back(&usual);
            ENDS_WITH(lig_send_array(instance, "out", NULL, &wrong[i], &error), LIG_ERR_USAGE, why[i]);
        }
    }
    FINE(lig_reuse_instance(instance, &again, &error));
    HOLDS(!again);
    lig_instance_free(instance);
    return 0;
}
