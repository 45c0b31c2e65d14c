// Filters that a user wrote in C, for test_own.py.
#include <ligament_filter.h>
#include <stdlib.h>

// Multiplies by the parameter of the model.
int scale(lig_filter *filter, const lig_filter_message *message) {
    if (message == NULL) return 0;
    if (message->dtype != LIG_FLOAT64) return lig_filter_fail(filter, "only float64 can be scaled");
    lig_filter_message scaled = *message;
    scaled.data = NULL;
    double *to = filter->emit(filter, &scaled);
    if (to == NULL) return 1;
    for (uint64_t i = 0; i < lig_filter_count(message); ++i) {
        to[i] = atof(filter->with) * ((const double *)message->data)[i];
    }
    return 0;
}

// Sends each message twice, the second time half way to the next timestamp.
int twice(lig_filter *filter, const lig_filter_message *message) {
    if (message == NULL) return 0;
    lig_filter_message first = *message, second = *message;
    if (message->has_next_timestamp) {
        first.next_timestamp = second.timestamp = 0.5 * (message->timestamp + message->next_timestamp);
    }
    return filter->emit(filter, &first) == NULL || filter->emit(filter, &second) == NULL;
}

// Sends no message on, and sends the sum of all at the end.
int total(lig_filter *filter, const lig_filter_message *message) {
    struct sum {
        double value, time;
    } *sum = filter->state;
    if (message == NULL) {
        if (sum == NULL) return 0;
        const lig_filter_message all = {
            .size = sizeof all, .timestamp = sum->time, .dtype = LIG_FLOAT64, .data = &sum->value};
        void *sent = filter->emit(filter, &all);
        free(sum);
        filter->state = NULL;
        return sent == NULL;
    }
    if (sum == NULL) filter->state = sum = calloc(1, sizeof *sum);
    sum->value += *(const double *)message->data;
    sum->time = message->timestamp;
    return 0;
}

int crash(lig_filter *filter, const lig_filter_message *message) {
    if (message != NULL && message->timestamp == 2.5) *(volatile int *)filter->state = 1;
    return message == NULL || filter->emit(filter, message) == NULL;
}

int silent(lig_filter *filter, const lig_filter_message *message) {
    return filter == NULL || message != NULL ? 3 : 0;
}

int huge(lig_filter *filter, const lig_filter_message *message) {
    static const uint64_t shape[] = {UINT64_C(1) << 40, UINT64_C(1) << 40};
    if (message == NULL) return 0;
    lig_filter_message much = *message;
    much.ndim = 2, much.shape = shape, much.data = NULL;
    filter->emit(filter, &much);
    return 0;
}

int backwards(lig_filter *filter, const lig_filter_message *message) {
    if (message == NULL) return 0;
    lig_filter_message wrong = *message;
    wrong.has_next_timestamp = 1, wrong.next_timestamp = message->timestamp - 1;
    return filter->emit(filter, &wrong) == NULL;
}
