// One of three workers, which answers each task of boss.c or boss.cpp.
#include "check.h"

int main(void) {
    lig_instance *instance;
    lig_message *message;
    lig_times times;
    bool again;
    FINE(lig_instance_create(NULL, &instance, &error));
    FINE(lig_reuse_instance(instance, &again, &error));
    HOLDS(again);
    const size_t *index;
    HOLDS(lig_instance_index(instance, &index) == 1);

    int64_t offset;
    FINE(lig_receive(instance, "in", NULL, &message, &error));
    FINE(lig_value_int(lig_message_value(message), &offset, &error));
    HOLDS(offset == 10 * (int64_t)index[0]);
    lig_message_free(message);

    // A loan is given back, and another one is sent.
    const uint64_t shape[] = {40, 50};
    lig_loan *loan;
    void *data;
    FINE(lig_loan_create(instance, LIG_FLOAT64, 2, shape, &loan, &data, &error));
    lig_loan_free(instance, loan);
    FINE(lig_loan_create(instance, LIG_FLOAT64, 2, shape, &loan, &data, &error));
    HOLDS(data == lig_loan_data(loan) && (uintptr_t)data % 64 == 0);
    for (int k = 0; k < 2000; ++k) ((double *)data)[k] = (double)(offset + k);
    FINE(lig_send_loan(instance, "out", NULL, loan, &error));
    ENDS_WITH(lig_send_loan(instance, "out", NULL, NULL, &error), LIG_ERR_USAGE, "loan is NULL");

    int32_t columns[4][2];
    const lig_array into = {.dtype = LIG_INT32, .ndim = 2, .shape = {4, 2}, .data = columns};
    FINE(lig_receive_into(instance, "in", NULL, &into, &times, &error));
    HOLDS(times.timestamp == 2.0);
    int64_t sum = 0;
    for (int i = 0; i < 8; ++i) sum += columns[i / 2][i % 2];
    FINE(lig_send_int(instance, "out", NULL, sum, &error));

    float five[] = {0, 1, 2, 3, 4};
    const lig_array last = {.dtype = LIG_FLOAT32, .ndim = 1, .shape = {5}, .data = five};
    const lig_send_options at = {.size = sizeof at, .timestamp = 3.0};
    FINE(lig_send_array(instance, "out", &at, &last, &error));
    lig_instance_free(instance);
}
