// A path between two programs, without a model.
#ifndef LIGAMENT_PATH_HPP
#define LIGAMENT_PATH_HPP

#include "error.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace ligament {

// Options of a path. Both ends must agree on `encrypt`; 0 stands for the usual value.
struct PathOptions {
    // Number of connections, 1 to 256; the end that opens the path decides. 0: as many as the link needs.
    std::uint32_t streams = 0;
    // True if messages are encrypted. Both ends prove in either case that they have the key.
    bool encrypt = true;
    // True if large messages are compressed where they then arrive sooner.
    bool compress = true;
    // Number of bytes that may be under way: sent, and not yet received at the other end (64 MiB).
    std::uint64_t window = 0;
    // Longest message that is accepted, in bytes (1 TiB).
    std::uint64_t longest = 0;
    // Time after which a path without a connection is lost, s (60).
    double patience = 0.0;
    // Files of relays, the nearest first. Both ends give the same relay as the last one.
    std::vector<std::string> relays;
    // Maximum rate at which this end sends over a long distance, in bytes per second, to leave room for other
    // traffic. 0: no maximum.
    std::uint64_t pace = 0;
};

// One end of a path. All times are in seconds; a negative one means no limit. TimedOutError is thrown if a time
// was too short. Several threads may use it at once. If it is destroyed without `close`, messages under way are
// lost.
class Path {
public:
    // A request: a message that is being sent or received.
    class Request {
        friend class Path;
        std::uint64_t number = 0;
    };

    // Makes a new key, in a new file that only its owner can read. The other end needs a copy of it.
    static void make_key(const std::string &file) { detail::call(lig_path_key_make, file.c_str()); }

    // Listens at "HOST:PORT", or at ":PORT" for all interfaces. Port 0 takes any free port. Returns at once.
    static Path listen(const std::string &key_file, const std::string &at, const PathOptions &options = {}) {
        return Path(lig_path_listen, key_file, at.c_str(), options);
    }
    // Opens a path to an end that listens, or will listen, at "HOST:PORT"; an empty text if it is reached over
    // relays only.
    static Path open(const std::string &key_file, const std::string &to, const PathOptions &options = {}) {
        return Path(lig_path_open, key_file, to.empty() ? nullptr : to.c_str(), options);
    }

    // Begins a path whose two ends make the same call, with the "HOST:PORT" of one of them. That end listens,
    // unless another program there already does so.
    static Path meet(const std::string &key_file, const std::string &at, const PathOptions &options = {}) {
        return Path(lig_path_meet, key_file, at.c_str(), options);
    }

    // The port at which this end listens; 0 at the end that opened the path.
    std::uint16_t port() const {
        std::uint16_t port;
        detail::call(lig_path_port, handle(), &port);
        return port;
    }
    // Waits until there is a connection; not needed before a send or receive.
    void wait_connected(double timeout = -1.0) const {
        detail::call(lig_path_wait_connected, handle(), timeout);
    }

    // Sends a message. Returns when the bytes may be used again. Waits while more bytes than the window are
    // under way.
    void send(const void *data, std::size_t length, double timeout = -1.0) const {
        detail::call(lig_path_send, handle(), data, length, timeout);
    }
    // Waits for the next message, and returns its length in bytes. Throws ClosedError if no more messages will
    // come.
    std::size_t probe(double timeout = -1.0) const {
        std::size_t length;
        detail::call(lig_path_probe, handle(), &length, timeout);
        return length;
    }
    // Receives the next message.
    std::vector<std::byte> receive(double timeout = -1.0) const {
        std::vector<std::byte> bytes;
        for (;;) {
            bytes.resize(probe(timeout));
            lig_error error;
            std::size_t length;
            const lig_status status =
                lig_path_receive(handle(), bytes.data(), bytes.size(), &length, timeout, &error);
            // Another thread may have received the message whose length was read.
            if (status == LIG_ERR_UNEXPECTED) continue;
            if (status != LIG_OK) detail::fail(status, error.message);
            bytes.resize(length);
            return bytes;
        }
    }
    // Receives the next message into memory of the caller, and returns its length in bytes. Throws
    // UnexpectedError if there is not enough room; the message then stays.
    std::size_t receive_into(void *data, std::size_t room, double timeout = -1.0) const {
        std::size_t length;
        detail::call(lig_path_receive, handle(), data, room, &length, timeout);
        return length;
    }
    // Sends a message and receives one at the same time. Returns the length of the received one.
    std::size_t send_receive(const void *data, std::size_t length, void *into, std::size_t room,
                             double timeout = -1.0) const {
        std::size_t received;
        detail::call(lig_path_send_receive, handle(), data, length, into, room, &received, timeout);
        return received;
    }

    // Begins to send a message without a copy. The bytes must stay unchanged until `wait` has ended the
    // request.
    Request isend(const void *data, std::size_t length) const {
        Request request;
        detail::call(lig_path_isend, handle(), data, length, &request.number);
        return request;
    }
    // Begins to receive the next message for which there is no request yet.
    Request ireceive() const {
        Request request;
        detail::call(lig_path_ireceive, handle(), &request.number);
        return request;
    }
    // True if a request is done.
    bool test(const Request &request) const {
        bool done;
        detail::call(lig_path_test, handle(), request.number, &done);
        return done;
    }
    // Waits until a request is done, and ends it. A received message goes to `data`; its length is returned.
    std::size_t wait(const Request &request, void *data = nullptr, std::size_t room = 0,
                     double timeout = -1.0) const {
        std::size_t length;
        detail::call(lig_path_wait, handle(), request.number, data, room, &length, timeout);
        return length;
    }
    // Withdraws a request for a message. The next request gets the message that has come for it.
    void cancel(const Request &request) const { detail::call(lig_path_cancel, handle(), request.number); }

    // Waits until the other end also calls this function.
    void barrier(double timeout = -1.0) const { detail::call(lig_path_barrier, handle(), timeout); }
    // Changes the maximum rate at which this end sends over a long distance, in bytes per second; 0: no
    // maximum.
    void set_pace(std::uint64_t pace) const { detail::call(lig_path_set_pace, handle(), pace); }
    // The traffic so far.
    lig_path_statistics statistics() const {
        lig_path_statistics statistics;
        detail::call(lig_path_get_statistics, handle(), &statistics);
        return statistics;
    }
    // Waits until everything that was sent has arrived, tells the other end that no more messages come, and
    // ends the path, also if it throws. A second close does nothing; all other calls then throw UsageError.
    void close(double timeout = -1.0) { detail::call(lig_path_close, handle_.get(), timeout); }

private:
 using Begin = lig_status (*)(const char *, const char *, const lig_path_options *, lig_path **, lig_error *);

 Path(Begin begin, const std::string &key_file, const char *place, const PathOptions &options) {
     std::vector<const char *> relays;
     for (const std::string &relay : options.relays) relays.push_back(relay.c_str());
     lig_path_options given{};
     given.size = sizeof given;
     given.window = options.window;
     given.longest = options.longest;
     given.patience = options.patience;
     given.relays = relays.data();
     given.relay_count = relays.size();
     given.streams = options.streams;
     given.unencrypted = !options.encrypt;
     given.uncompressed = !options.compress;
     given.pace = options.pace;
     lig_path *made;
     detail::call(begin, key_file.c_str(), place, &given, &made);
     handle_.reset(made);
 }

    lig_path *handle() const noexcept { return handle_.get(); }

    struct Free {
        void operator()(lig_path *path) const { lig_path_free(path); }
    };
    std::unique_ptr<lig_path, Free> handle_;
};

}  // namespace ligament

#endif
