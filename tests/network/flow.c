// A component that floods or answers, for networks that are cut meanwhile. Every message is words that follow
// from its number, and whoever receives checks all of them and their order, so what is lost, repeated or
// changed ends the run.
//
// usage: flow ROLE FOLDER BYTES [COUNT]. BYTES is the size of each message, or "mixed": then sizes from 16
// bytes to 2 MiB follow from the number. "source" sends on `out` until the file FOLDER/enough exists, then once
// more; it makes the file FOLDER/begun when it has sent 20. With COUNT there are so many messages, of which the
// last tenth waits until FOLDER/enough exists, and who receives adds a byte for each to the file FOLDER/came.
// "sink" receives on `in`. "ping" and "pong" do the same to and fro. Each leaves the number and the checksum of
// what it sent or received in `summary` in its working directory.
#include <ligament.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static lig_instance *instance;
static lig_error error;
static const char *folder;
static uint64_t usual, checksum = 14695981039346656037u;

static void checked(lig_status status) {
    if (status == LIG_OK) return;
    fprintf(stderr, "%s\n", error.message);
    exit(1);
}

static int file_is_there(const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return access(path, F_OK) == 0;
}

static void make_file(const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    if (!file || fclose(file)) exit(1);
}

static void add_to_file(const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "a");
    if (!file || fputc('.', file) == EOF || fclose(file)) exit(1);
}

// Word 0 is the number of the message, and word 1 is 1 for the last message. The others look random and follow
// from the number (SplitMix64).
static uint64_t word(uint64_t number, uint64_t i) {
    uint64_t x = (number * 0x100000001b3u + i) * 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

// Returns the number of words of a message. Of mixed messages, a third has at most 64 words, a third 8 Ki, and
// a third 256 Ki.
static uint64_t words_of(uint64_t number) {
    static const uint64_t most[] = {64, 8 << 10, 256 << 10};
    if (usual > 0) return usual;
    return 2 + word(number, 1) % (most[word(number, 0) % 3] - 1);
}

// Computes a checksum of all messages in their order (FNV-1a, by words).
static void add(const uint64_t *data, uint64_t words) {
    for (uint64_t i = 0; i < words; i++) checksum = (checksum ^ data[i]) * 0x100000001b3u;
}

static void send_message(uint64_t number, uint64_t last, int summed) {
    lig_loan *loan;
    void *place;
    const uint64_t words = words_of(number), shape[1] = {words};
    checked(lig_loan_create(instance, LIG_UINT64, 1, shape, &loan, &place, &error));
    uint64_t *data = place;
    data[0] = number, data[1] = last;
    for (uint64_t i = 2; i < words; i++) data[i] = word(number, i);
    if (summed) add(data, words);
    checked(lig_send_loan(instance, "out", NULL, loan, &error));
}

// Returns true if it was the last message.
static int receive_message(uint64_t number, int summed) {
    lig_message *message;
    lig_array_view view;
    checked(lig_receive(instance, "in", NULL, &message, &error));
    checked(lig_message_array(message, &view, &error));
    const uint64_t *data = view.data, words = words_of(number);
    if (view.shape[0] != words || data[0] != number) {
        fprintf(stderr, "message %llu came instead of %llu\n", (unsigned long long)data[0],
                (unsigned long long)number);
        exit(1);
    }
    for (uint64_t i = 2; i < words; i++)
        if (data[i] != word(number, i)) {
            fprintf(stderr, "word %llu of message %llu is wrong\n", (unsigned long long)i,
                    (unsigned long long)number);
            exit(1);
        }
    if (summed) add(data, words);
    int last = data[1] != 0;
    lig_message_free(message);
    return last;
}

int main(int argc, char **argv) {
    bool again;
    if (argc != 4 && argc != 5) return 2;
    const char *role = argv[1];
    int leads = !strcmp(role, "source") || !strcmp(role, "ping"),
        answers = !strcmp(role, "ping") || !strcmp(role, "pong");
    const uint64_t count = argc == 5 ? strtoull(argv[4], NULL, 10) : 0;
    folder = argv[2], usual = strcmp(argv[3], "mixed") ? strtoull(argv[3], NULL, 10) / 8 : 0;
    checked(lig_instance_create(NULL, &instance, &error));
    checked(lig_reuse_instance(instance, &again, &error));
    uint64_t number = 0;
    for (int last = 0; !last; number++) {
        if (leads) {
            while (count && number == count - count / 10 && !file_is_there("enough")) poll(NULL, 0, 10);
            last = count ? number + 1 == count : file_is_there("enough");
            send_message(number, (uint64_t)last, 1);
            if (answers) receive_message(number, 0);
            if (number == 20) make_file("begun");
        } else {
            last = receive_message(number, 1);
            if (count) add_to_file("came");
            if (answers) send_message(number, (uint64_t)last, 0);
        }
    }
    FILE *out = fopen("summary", "w");
    if (!out || fprintf(out, "%llu %016llx\n", (unsigned long long)number, (unsigned long long)checksum) < 0 ||
        fclose(out))
        return 1;
    checked(lig_reuse_instance(instance, &again, &error));
    lig_instance_free(instance);
    return 0;
}
