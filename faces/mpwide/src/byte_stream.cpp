// A byte stream over a path: see byte_stream.hpp.

#include "byte_stream.hpp"

#include "failure.hpp"

#include <algorithm>
#include <cstring>

namespace mpwide {

static const double NO_LIMIT_S = -1.0;

std::uint64_t Queue::enter() {
    const std::lock_guard<std::mutex> lock(mutex);
    return next++;
}

void Queue::wait(std::uint64_t number) {
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [&] { return served == number; });
}

void Queue::leave() {
    {
        const std::lock_guard<std::mutex> lock(mutex);
        ++served;
    }
    changed.notify_all();
}

void Turn::wait() {
    queue->wait(number);
    come = true;
}

Turn::~Turn() {
    if (!queue) return;
    if (!come) queue->wait(number);
    queue->leave();
}

void ByteStream::check(lig_status status, const lig_error &error) const {
    if (status == LIG_OK) return;
    Failure failure = failure_of(status, error);
    failure.text = name + ": " + failure.text;
    throw failure;
}

void ByteStream::send(const char *data, std::size_t length) {
    lig_error error;
    check(lig_path_send(path, data, length, NO_LIMIT_S, &error), error);
}

std::uint64_t ByteStream::begin_send(const char *data, std::size_t length) {
    lig_error error;
    std::uint64_t request = 0;
    check(lig_path_isend(path, data, length, &request, &error), error);
    return request;
}

void ByteStream::end_send(std::uint64_t request) {
    lig_error error;
    check(lig_path_wait(path, request, nullptr, 0, nullptr, NO_LIMIT_S, &error), error);
}

std::size_t ByteStream::next_length() {
    lig_error error;
    std::size_t length = 0;
    check(lig_path_probe(path, &length, NO_LIMIT_S, &error), error);
    return length;
}

std::size_t ByteStream::take_rest(char *room, std::size_t size) {
    const std::size_t taken = std::min(size, rest.size() - rest_begin);
    if (taken != 0) std::memcpy(room, rest.data() + rest_begin, taken);
    rest_begin += taken;
    if (rest_begin == rest.size()) rest = {}, rest_begin = 0;
    return taken;
}

void ByteStream::receive(char *room, std::size_t size) {
    std::size_t filled = take_rest(room, size);
    while (filled < size) {
        lig_error error;
        std::size_t length = 0;
        const lig_status status =
            lig_path_receive(path, room + filled, size - filled, &length, NO_LIMIT_S, &error);
        if (status == LIG_OK) {
            filled += length;
            continue;
        }
        if (status != LIG_ERR_UNEXPECTED) check(status, error);
        // The message is longer than the place, and stays; its rest is kept for the next calls.
        rest = receive_some();
        filled += take_rest(room + filled, size - filled);
    }
}

void ByteStream::receive_whole(char *room, std::size_t size) {
    const std::size_t length = rest.empty() ? next_length() : rest.size() - rest_begin;
    if (length != size)
        throw Failure{-EMSGSIZE,
                      name + ": a part of " + std::to_string(length) + " bytes has come where one of " +
                          std::to_string(size) +
                          " was expected. Over several streams that MPW_Init has made, both ends must "
                          "give the same length in one call; a path of MPW_CreatePath has no such rule"};
    receive(room, size);
}

void ByteStream::exchange(const char *data, std::size_t length, char *room, std::size_t size) {
    std::size_t filled = take_rest(room, size);
    if (filled == size) return send(data, length);
    lig_error error;
    std::size_t came = 0;
    const lig_status status =
        lig_path_send_receive(path, data, length, room + filled, size - filled, &came, NO_LIMIT_S, &error);
    if (status == LIG_OK) filled += came;
    // A message that is longer than the place stays, and the own one was sent.
    if (status != LIG_OK && status != LIG_ERR_UNEXPECTED) check(status, error);
    receive(room + filled, size - filled);
}

std::vector<char> ByteStream::receive_some() {
    if (!rest.empty()) {
        std::vector<char> some(rest.begin() + static_cast<std::ptrdiff_t>(rest_begin), rest.end());
        rest = {}, rest_begin = 0;
        return some;
    }
    std::vector<char> some(next_length());
    lig_error error;
    std::size_t length = 0;
    check(lig_path_receive(path, some.data(), some.size(), &length, NO_LIMIT_S, &error), error);
    some.resize(length);
    return some;
}

void ByteStream::barrier() {
    lig_error error;
    check(lig_path_barrier(path, NO_LIMIT_S, &error), error);
}

void ByteStream::set_pace(std::uint64_t pace) {
    lig_error error;
    check(lig_path_set_pace(path, pace, &error), error);
}

void ByteStream::close(double timeout_s) {
    lig_error error;
    const lig_status status = lig_path_close(path, timeout_s, &error);
    port.reset();
    check(status, error);
}

}  // namespace mpwide
