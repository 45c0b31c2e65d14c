// Checkpoints. Part of ligament_descriptors.c.

// The questions about checkpoints.
enum { ASK_RESUMING = 1, ASK_INIT = 2, ASK_SAVE = 3, ASK_SAVE_FINAL = 4 };

// Answers a question. The time counts for ASK_SAVE only.
lig_status lf_checkpoint(int64_t key, int32_t question, double time, bool *answer) {
    INSTANCE(key);
    *answer = false;
    switch (question) {
        case ASK_RESUMING: return lig_resuming(instance, answer, &fault);
        case ASK_INIT: return lig_should_init(instance, answer, &fault);
        case ASK_SAVE: return lig_should_save_snapshot(instance, time, answer, &fault);
        default: return lig_should_save_final_snapshot(instance, answer, &fault);
    }
}

lig_status lf_load(int64_t key, lf_ref *made, lig_times *times) {
    lf_free_message(made);
    INSTANCE(key);
    lig_message *message;
    const lig_status status = lig_load_snapshot(instance, &message, &fault);
    return status == LIG_OK ? take(message, "", NO_SLOT, made, times) : status;
}

static lig_status save(lig_instance *instance, const lig_times *times, const lig_value *state, bool is_final) {
    return is_final ? lig_save_final_snapshot(instance, times, state, &fault)
                    : lig_save_snapshot(instance, times, state, &fault);
}

lig_status lf_save(int64_t key, const lig_times *times, const lf_ref *ref, bool is_final) {
    RETURN_IF_ABSENT;
    INSTANCE(key);
    return save(instance, times, ref->value, is_final);
}

// Saves an array, which is borrowed for the call.
lig_status lf_save_array(int64_t key, const lig_times *times, const CFI_cdesc_t *data, bool is_final) {
    INSTANCE(key);
    const lf_sending how = {.order = -1};
    lig_array array;
    int64_t strides[LIG_MAX_DIMS];
    Labels labels;
    lig_value *value = NULL;
    lig_status status = describe_fully(data, &how, NULL, NULL, "saved", &array, strides, &labels);
    if (status == LIG_OK) status = lig_value_new_array_borrowed(&array, &value, &fault);
    unlabel(&labels);
    if (status == LIG_OK) status = save(instance, times, value, is_final);
    lig_value_free(value);
    return status;
}

lig_status lf_snapshot_directory(int64_t key, lig_string *text) {
    INSTANCE(key);
    const lig_status status = lig_snapshot_directory(instance, &text->data, &fault);
    text->size = status == LIG_OK ? strlen(text->data) : 0;
    return status;
}
