// A byte stream over a path of Ligament: messages in order, whose borders the receiver does not see.

#pragma once

#include <ligament.h>

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace mpwide {

// The calls that wait to use one direction of a stream, in the order in which they came.
class Queue {
  public:
    std::uint64_t enter();
    void wait(std::uint64_t number);
    void leave();

  private:
    std::mutex mutex;
    std::condition_variable changed;
    std::uint64_t next = 0, served = 0;
};

// A place in a queue. It is left when the place is destroyed.
class Turn {
  public:
    explicit Turn(std::shared_ptr<Queue> line) : queue(std::move(line)), number(queue->enter()) {}
    Turn(Turn &&) = default;
    ~Turn();
    void wait();

  private:
    std::shared_ptr<Queue> queue;
    std::uint64_t number;
    bool come = false;
};

class ByteStream {
  public:
    // Takes the path. `streams` says in errors which streams these are.
    // `lease` is kept until the path is closed.
    ByteStream(lig_path *end, std::string streams, std::shared_ptr<void> lease)
        : path(end), name(std::move(streams)), port(std::move(lease)) {}
    ~ByteStream() { lig_path_free(path); }
    ByteStream(const ByteStream &) = delete;

    // Each throws a `Failure`.
    void send(const char *data, std::size_t length);
    std::uint64_t begin_send(const char *data, std::size_t length);
    void end_send(std::uint64_t request);
    void receive(char *room, std::size_t size);
    // Receives one message that has this length; a failure if it has another one.
    void receive_whole(char *room, std::size_t size);
    // Sends and receives at the same time.
    void exchange(const char *data, std::size_t length, char *room, std::size_t size);
    // The next bytes that have come, as many as there are.
    std::vector<char> receive_some();
    void barrier();
    void set_pace(std::uint64_t pace);
    // Waits until everything has arrived, and closes. Calls in other threads fail.
    void close(double timeout_s);

    const std::shared_ptr<Queue> sending = std::make_shared<Queue>(), receiving = std::make_shared<Queue>();

  private:
    // Moves bytes that are left of a message into `room`, and returns their number.
    std::size_t take_rest(char *room, std::size_t size);
    std::size_t next_length();
    void check(lig_status status, const lig_error &error) const;

    lig_path *path;
    std::string name;
    std::shared_ptr<void> port;
    // The last message, of which `rest_begin` bytes were received already.
    std::vector<char> rest;
    std::size_t rest_begin = 0;
};

}  // namespace mpwide
