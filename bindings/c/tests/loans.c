// A macro model that sends loans of all sizes, two at a time and repeatedly, and checks the arrays that the
// echo sends back. Small loans are copied, and large ones are not.
#include "check.h"

static lig_instance *instance;

static double element(size_t loan, size_t i) { return 1e6 * (double)loan + (double)i; }

// Returns a filled loan of `count` doubles.
static lig_loan *filled(size_t length, size_t number, double **start) {
    const uint64_t shape[1] = {length};
    lig_loan *loan;
    void *data;
    FINE(lig_loan_create(instance, LIG_FLOAT64, 1, shape, &loan, &data, &error));
    HOLDS(data == lig_loan_data(loan) && (uintptr_t)data % 64 == 0);
    *start = data;
    for (size_t i = 0; i < length; ++i) (*start)[i] = element(number, i);
    return loan;
}

static lig_message *answer(size_t length, size_t number) {
    lig_message *message;
    lig_array_view view;
    FINE(lig_receive(instance, "in", NULL, &message, &error));
    FINE(lig_message_array(message, &view, &error));
    HOLDS(view.ndim == 1 && view.shape[0] == length && view.dtype == LIG_FLOAT64);
    for (size_t i = 0; i < length; ++i) HOLDS(((const double *)view.data)[i] == element(number, i));
    return message;
}

static void two_at_a_time(size_t length, size_t number) {
    double *first, *second;
    lig_loan *one = filled(length, number, &first), *other = filled(length, number + 1, &second);
    HOLDS(first != second);
    FINE(lig_send_loan(instance, "out", NULL, other, &error));
    lig_message *kept = answer(length, number + 1);
    // The next loan is different from the loan that has not been sent yet.
    double *third;
    lig_loan *unsent = filled(length, number + 2, &third);
    HOLDS(third != first);
    lig_loan_free(instance, unsent);
    FINE(lig_send_loan(instance, "out", NULL, one, &error));
    lig_message_free(answer(length, number));
    lig_array_view view;
    FINE(lig_message_array(kept, &view, &error));
    for (size_t i = 0; i < length; ++i) HOLDS(((const double *)view.data)[i] == element(number + 1, i));
    lig_message_free(kept);
}

static void with_a_unit(uint64_t rows, uint64_t columns) {
    lig_array like = {
        .dtype = LIG_FLOAT32, .ndim = 2, .shape = {rows, columns}, .order = LIG_COLUMN_MAJOR, .unit = "K"};
    lig_loan *loan;
    void *data;
    FINE(lig_loan_create_like(instance, &like, &loan, &data, &error));
    for (uint64_t i = 0; i < rows * columns; ++i) ((float *)data)[i] = (float)i;
    FINE(lig_send_loan(instance, "out", NULL, loan, &error));
    lig_message *message;
    lig_array_view view;
    lig_string unit;
    FINE(lig_receive(instance, "in", NULL, &message, &error));
    FINE(lig_message_array(message, &view, &error));
    FINE(lig_value_array_unit(lig_message_value(message), &unit, &error));
    HOLDS(unit.size == 1 && unit.data[0] == 'K' && view.order == LIG_COLUMN_MAJOR && view.shape[1] == columns);
    for (uint64_t i = 0; i < rows * columns; ++i) HOLDS(((const float *)view.data)[i] == (float)i);
    lig_message_free(message);
}

int main(void) {
    // 8192 doubles take 64 KiB, which is the size of the largest loan that is copied.
    static const size_t lengths[] = {0, 1, 24, 25, 1000, 8191, 8192, 8193, 100000, 1000, 0};
    FINE(lig_instance_create(NULL, &instance, &error));
    bool again;
    FINE(lig_reuse_instance(instance, &again, &error));
    for (size_t round = 0; round < 20; ++round)
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; ++i)
            two_at_a_time(lengths[i], 100 * round + 3 * i);
    with_a_unit(3, 4);
    with_a_unit(300, 400);
    FINE(lig_reuse_instance(instance, &again, &error));
    HOLDS(!again);
    lig_instance_free(instance);
}
