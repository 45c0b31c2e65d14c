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

// How a path is to be. Both ends must agree on `encrypt`; 0 means what is usual.
struct PathOptions {
    // Connections, 1 to 256: the opening end says how many; 0: as many as the link needs.
    std::uint32_t streams = 0;
    // True if messages are encrypted. Both ends prove that they hold the key in either case.
    bool encrypt = true;
    // True if large messages are compressed where that makes them arrive sooner.
    bool compress = true;
    // The number of bytes that may be sent and not yet be received there (64 MiB).
    std::uint64_t window = 0;
    // The longest message that is accepted, bytes (1 TiB).
    std::uint64_t longest = 0;
    // For how long the path may be without a connection before it is lost, s (60).
    double patience = 0.0;
    // Files of relays, the nearest first; both ends name the same one last.
    std::vector<std::string> relays;
    // Bytes in a second that this end sends over a long way, at most, to leave room for others. 0: as fast as
    // it goes.
    std::uint64_t pace = 0;
};

// One end of a path. All times are seconds; less than 0 is as long as it takes, and TimedOutError says that a
// time was not enough. Several threads may use it at once. Destroyed without `close`, what is under way is
// lost.
class Path {
public:
    // Something that was begun: a message that is sent or received.
    class Request {
        friend class Path;
        std::uint64_t number = 0;
    };

    // Makes a new key, in a new file that only its owner can read. The other end needs a copy.
    static void make_key(const std::string &file) { detail::call(lig_path_key_make, file.c_str()); }

    // Listens at "HOST:PORT", or ":PORT" for all interfaces; port 0 is any that is free. Returns at once.
    static Path listen(const std::string &key_file, const std::string &at, const PathOptions &options = {}) {
        return Path(lig_path_listen, key_file, at.c_str(), options);
    }
    // Opens a path to an end that listens, or will, at "HOST:PORT"; an empty text if it is reached over relays
    // only.
    static Path open(const std::string &key_file, const std::string &to, const PathOptions &options = {}) {
        return Path(lig_path_open, key_file, to.empty() ? nullptr : to.c_str(), options);
    }

    // Begins a path whose two ends make the same call, with the "HOST:PORT" of one of them: that one listens,
    // unless another program there does so already.
    static Path meet(const std::string &key_file, const std::string &at, const PathOptions &options = {}) {
        return Path(lig_path_meet, key_file, at.c_str(), options);
    }

    // The port at which it listens; 0 at the end that opened it.
    std::uint16_t port() const {
        std::uint16_t port;
        detail::call(lig_path_port, handle(), &port);
        return port;
    }
    // Waits until there is a connection; not needed before sending or receiving.
    void wait_connected(double timeout = -1.0) const {
        detail::call(lig_path_wait_connected, handle(), timeout);
    }

    // Sends a message. Returns when the bytes may be used again, and waits while more than the window is under
    // way.
    void send(const void *data, std::size_t length, double timeout = -1.0) const {
        detail::call(lig_path_send, handle(), data, length, timeout);
    }
    // Waits for the next message; its length, bytes. Throws ClosedError if nothing more will come.
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
            // Another thread may have taken the one that was looked at.
            if (status == LIG_ERR_UNEXPECTED) continue;
            if (status != LIG_OK) detail::fail(status, error.message);
            bytes.resize(length);
            return bytes;
        }
    }
    // Receives the next message into memory of the caller's; its length, bytes. Throws UnexpectedError if there
    // is not enough room; then it stays.
    std::size_t receive_into(void *data, std::size_t room, double timeout = -1.0) const {
        std::size_t length;
        detail::call(lig_path_receive, handle(), data, room, &length, timeout);
        return length;
    }
    // Sends a message and receives one, both at once; the length of what came.
    std::size_t send_receive(const void *data, std::size_t length, void *into, std::size_t room,
                             double timeout = -1.0) const {
        std::size_t received;
        detail::call(lig_path_send_receive, handle(), data, length, into, room, &received, timeout);
        return received;
    }

    // Begins to send a message, without a copy: the bytes must stay as they are until `wait` has ended the
    // request.
    Request isend(const void *data, std::size_t length) const {
        Request request;
        detail::call(lig_path_isend, handle(), data, length, &request.number);
        return request;
    }
    // Begins to receive the next message that nobody has asked for yet.
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
    // Waits until a request is done, and ends it; the length of what came, which goes to `data`.
    std::size_t wait(const Request &request, void *data = nullptr, std::size_t room = 0,
                     double timeout = -1.0) const {
        std::size_t length;
        detail::call(lig_path_wait, handle(), request.number, data, room, &length, timeout);
        return length;
    }
    // Gives up a request for a message; the next one gets what has come for it.
    void cancel(const Request &request) const { detail::call(lig_path_cancel, handle(), request.number); }

    // Waits until the other end calls it as well.
    void barrier(double timeout = -1.0) const { detail::call(lig_path_barrier, handle(), timeout); }
    // Changes how many bytes in a second this end sends over a long way, at most; 0: as fast as it goes.
    void set_pace(std::uint64_t pace) const { detail::call(lig_path_set_pace, handle(), pace); }
    // The traffic so far.
    lig_path_statistics statistics() const {
        lig_path_statistics statistics;
        detail::call(lig_path_get_statistics, handle(), &statistics);
        return statistics;
    }
    // Waits until everything that was sent has arrived, tells the other end that nothing more comes, and ends
    // the path, whether or not it throws. Closing it again does nothing; all else throws UsageError then.
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
