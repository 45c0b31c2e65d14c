// A macro model whose instance is used by several threads at once, by a signal handler, and by functions that
// the library itself calls. A call during another call is refused. All other calls work as if they were alone:
// the echo sends back exactly what was sent.
#define _GNU_SOURCE
#include "check.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/time.h>

enum { THREADS = 4, ROUNDS = 100, EACH = 25, LENGTH = 40 };

static lig_instance *instance;
static atomic_int sent[THREADS * ROUNDS * EACH];
static atomic_int count, refused, stop;
static pthread_barrier_t barrier;

static bool in_another_call(lig_status status, const lig_error *why) {
    return status == LIG_ERR_USAGE && strstr(why->message, "in the middle of another call");
}

// Sends arrays with their number in each element, until the given number of sends was accepted.
static void *sends(void *argument) {
    const int thread = (int)(intptr_t)argument;
    lig_error why;
    for (int round = 0; round < ROUNDS; ++round) {
        pthread_barrier_wait(&barrier);
        for (int i = 0; i < EACH; ++i) {
            const int number = (thread * ROUNDS + round) * EACH + i;
            double elements[LENGTH];
            for (int j = 0; j < LENGTH; ++j) elements[j] = number;
            const lig_array array = {.dtype = LIG_FLOAT64, .ndim = 1, .shape = {LENGTH}, .data = elements};
            const lig_status status = lig_send_array(instance, "out", NULL, &array, &why);
            if (status == LIG_OK) {
                atomic_store(&sent[number], 1);
                atomic_fetch_add(&count, 1);
            } else {
                if (!in_another_call(status, &why)) fprintf(stderr, "%d: %s\n", status, why.message), abort();
                atomic_fetch_add(&refused, 1);
            }
        }
        pthread_barrier_wait(&barrier);
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

static void threads_at_once(void) {
    pthread_t threads[THREADS];
    pthread_barrier_init(&barrier, NULL, THREADS + 1);
    for (intptr_t i = 0; i < THREADS; ++i) HOLDS(pthread_create(&threads[i], NULL, sends, (void *)i) == 0);
    int back = 0;
    for (int round = 0; round < ROUNDS; ++round) {
        pthread_barrier_wait(&barrier);
        // The owner's calls disturb those of the threads, and are disturbed by them.
        for (int i = 0; i < EACH; ++i) {
            bool ready;
            const lig_status status = lig_poll(instance, "in", NULL, &ready, &error);
            HOLDS(status == LIG_OK || in_another_call(status, &error));
        }
        pthread_barrier_wait(&barrier);
        for (const int all = atomic_load(&count); back < all; ++back) {
            double elements[LENGTH];
            const lig_array into = {.dtype = LIG_FLOAT64, .ndim = 1, .shape = {LENGTH}, .data = elements};
            FINE(lig_receive_into(instance, "in", NULL, &into, NULL, &error));
            const int number = (int)elements[0];
            for (int j = 0; j < LENGTH; ++j) HOLDS(elements[j] == number);
            HOLDS(number >= 0 && number < THREADS * ROUNDS * EACH && atomic_exchange(&sent[number], 0) == 1);
        }
        pthread_barrier_wait(&barrier);
    }
    for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
    HOLDS(back == atomic_load(&count) && back > 0);
    for (int i = 0; i < THREADS * ROUNDS * EACH; ++i) HOLDS(atomic_load(&sent[i]) == 0);
}

static lig_status of_check;
static lig_error why_not;

// Interrupts the wait when the test says so, and before that makes a call that is refused.
static bool give_up(void *user) {
    (void)user;
    of_check = lig_log(instance, LIG_LOG_INFO, "from the interrupt check", &why_not);
    return atomic_load(&stop);
}

static void *waits(void *argument) {
    lig_error why;
    lig_message *message;
    (void)argument;
    lig_status status;
    do status = lig_receive(instance, "in", NULL, &message, &why);
    while (in_another_call(status, &why));
    return (void *)(intptr_t)status;
}

static void a_call_while_another_thread_waits(void) {
    pthread_t waiter;
    void *status;
    FINE(lig_set_interrupt_check(instance, give_up, NULL, &error));
    HOLDS(pthread_create(&waiter, NULL, waits, NULL) == 0);
    bool ready;
    // A thread that has just begun its call has not stored its number yet.
    while (lig_poll(instance, "in", NULL, &ready, &error) == LIG_OK ||
           strstr(error.message, "of another thread")) {}
    HOLDS(strstr(error.message,
                 "lig_poll: the instance is in the middle of another call: lig_receive of thread "));
    ENDS_WITH(lig_send_int(instance, "out", NULL, 1, &error), LIG_ERR_USAGE, "lig_receive of thread");
    ENDS_WITH(lig_reuse_instance(instance, &ready, &error), LIG_ERR_USAGE, "lig_receive of thread");
    ENDS_WITH(lig_error_shutdown(instance, "no", &error), LIG_ERR_USAGE, "lig_receive of thread");
    ENDS_WITH(lig_finish(instance, &error), LIG_ERR_USAGE, "lig_receive of thread");
    lig_names *names;
    ENDS_WITH(lig_list_settings(instance, &names, &error), LIG_ERR_USAGE, "lig_receive of thread");
    lig_instance_free(instance);
    HOLDS(strcmp(lig_instance_name(instance), "macro") == 0);
    atomic_store(&stop, 1);
    pthread_join(waiter, &status);
    HOLDS((intptr_t)status == LIG_ERR_INTERRUPTED);
    HOLDS(in_another_call(of_check, &why_not) && strstr(why_not.message, "lig_receive of this thread"));
    FINE(lig_set_interrupt_check(instance, NULL, NULL, &error));
}

static atomic_int signals, found_busy;

static void handler(int number) {
    (void)number;
    lig_error why;
    bool ready;
    const lig_status status = lig_poll(instance, "in", NULL, &ready, &why);
    if (status != LIG_OK && !in_another_call(status, &why)) abort();
    if (status != LIG_OK) atomic_fetch_add(&found_busy, 1);
    atomic_fetch_add(&signals, 1);
}

static void a_signal_handler_within_calls(void) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART}, before;
    sigaction(SIGALRM, &action, &before);
    const struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &often, NULL);
    double elements[LENGTH];
    const lig_array array = {.dtype = LIG_FLOAT64, .ndim = 1, .shape = {LENGTH}, .data = elements};
    for (int i = 0; atomic_load(&signals) < 300 || atomic_load(&found_busy) == 0; ++i) {
        for (int j = 0; j < LENGTH; ++j) elements[j] = i;
        FINE(lig_send_array(instance, "out", NULL, &array, &error));
        memset(elements, 0, sizeof elements);
        FINE(lig_receive_into(instance, "in", NULL, &array, NULL, &error));
        for (int j = 0; j < LENGTH; ++j) HOLDS(elements[j] == i);
    }
    setitimer(ITIMER_REAL, &never, NULL);
    sigaction(SIGALRM, &before, NULL);
}

static void loans_twice(void) {
    const uint64_t shape[1] = {4};
    lig_loan *loans[40];
    for (int i = 0; i < 40; ++i) FINE(lig_loan_create(instance, LIG_INT8, 1, shape, &loans[i], NULL, &error));
    for (int i = 0; i < 40; ++i) lig_loan_free(instance, loans[i]);
    for (int i = 0; i < 40; ++i) {
        HOLDS(lig_loan_data(loans[i]) == NULL);
        ENDS_WITH(lig_send_loan(instance, "out", NULL, loans[i], &error), LIG_ERR_USAGE,
                  "sent or freed before");
    }
}

static int steps;
static pthread_t late;

static lig_status nothing(lig_instance *handle, void *user, lig_error *why) {
    (void)handle, (void)user, (void)why;
    return LIG_OK;
}

static bool is_done(void *user) {
    (void)user;
    ENDS_WITH(lig_log(instance, LIG_LOG_INFO, "no", &error), LIG_ERR_USAGE, "lig_run_submodel of this thread");
    return steps == 2;
}

static lig_status solve(lig_instance *handle, void *user, lig_error *why) {
    (void)user;
    lig_instance_free(handle);  // does nothing
    steps++;
    // A function of a submodel may use the instance as usual, also from other threads.
    const lig_send_options at = {.size = sizeof at, .timestamp = steps};
    return lig_send_int(handle, "out", &at, steps, why);
}

static bool let_late_end(void *user) {
    (void)user;
    return atomic_load(&stop);
}

// The function returns while another thread is still in a call; the library waits for the call.
static lig_status leaves_a_thread(lig_instance *handle, void *user, lig_error *why) {
    (void)user, (void)why;
    atomic_store(&stop, 0);
    FINE(lig_set_interrupt_check(handle, let_late_end, NULL, &error));
    HOLDS(pthread_create(&late, NULL, waits, NULL) == 0);
    bool ready;
    while (lig_poll(handle, "in", NULL, &ready, &error) == LIG_OK) {}
    atomic_store(&stop, 1);
    return LIG_OK;
}

int main(int argc, char **argv) {
    FINE(lig_instance_create(NULL, &instance, &error));
    lig_submodel submodel = {.size = sizeof submodel,
                             .initialise = nothing,
                             .is_done = is_done,
                             .observe = nothing,
                             .solve = solve,
                             .observe_final = nothing};
    if (argc > 1 && strcmp(argv[1], "leave") == 0) {
        submodel.initialise = leaves_a_thread;
        ENDS_WITH(lig_run_submodel(instance, &submodel, &error), LIG_ERR_USAGE,
                  "in the middle of another call: lig_receive");
        pthread_join(late, NULL);
    } else if (argc > 1) {
        FINE(lig_run_submodel(instance, &submodel, &error));
        HOLDS(steps == 2);
    } else {
        a_call_while_another_thread_waits();
        loans_twice();
        threads_at_once();
        a_signal_handler_within_calls();
    }
    lig_instance_free(instance);
}
