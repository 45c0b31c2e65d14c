// MPWide's rule: an end connects, and listens if nobody listens at the other end. Each end gives the host of
// the other one, so neither knows beforehand who is first. Two ends that began together may both listen; an
// end that listens therefore looks now and then whether the other one does so too, and then one of them gives
// way by chance.
//
// An end that listens keeps its port as long as the path lives, because connections may break and come again.
// MPWide frees it, and programs let one partner after another in at the same port. A port that a path of this
// process has therefore gives way to the next of a row (`row_of`), which the other end tries too.

#include "meeting.hpp"

#include "failure.hpp"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <random>
#include <set>
#include <thread>

namespace mpwide {

namespace {

const int PORTS = 16, PORT_STEP = 4099, FIRST_PORT = 1024, LAST_PORT = 65535;
// MPWide's own limit for a first try.
const int TRY_MS = 1000;
const double OPEN_S = 5.0, AGREEMENT_S = 3.0, LOOK_S = 0.25;
// A listener that closes is followed by the right one within this time, if both ends have begun anew.
const std::chrono::milliseconds CLOSING{1000};
const double REPORT_S = 60.0;
const int RETRY_MS = 50, RETRIES = 40;

using Clock = std::chrono::steady_clock;

struct Resolved {
    addrinfo *first = nullptr;
    Resolved(const std::string &host, const std::string &port, int kind) {
        addrinfo hints{};
        hints.ai_socktype = kind;
        if (getaddrinfo(host.c_str(), port.empty() ? nullptr : port.c_str(), &hints, &first) != 0)
            first = nullptr;
    }
    ~Resolved() {
        if (first != nullptr) freeaddrinfo(first);
    }
    Resolved(const Resolved &) = delete;
};

bool connects(const addrinfo &to) {
    const int end = socket(to.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (end < 0) return false;
    bool connected = connect(end, to.ai_addr, to.ai_addrlen) == 0;
    if (!connected && errno == EINPROGRESS) {
        pollfd watched{end, POLLOUT, 0};
        int error = 0;
        socklen_t size = sizeof error;
        connected = poll(&watched, 1, TRY_MS) == 1 &&
                    getsockopt(end, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
    }
    close(end);
    return connected;
}

// True if somebody listens there.
bool listens(const std::string &host, int port) {
    const Resolved found(host, std::to_string(port), SOCK_STREAM);
    for (const addrinfo *to = found.first; to != nullptr; to = to->ai_next)
        if (connects(*to)) return true;
    return false;
}

// The ports of a path, in the order in which both ends try them: its own, then others that are far from it.
std::vector<int> row_of(int port) {
    std::vector<int> row{port};
    for (int step = 1; step < PORTS; ++step) {
        const int range = LAST_PORT - FIRST_PORT + 1;
        row.push_back(FIRST_PORT + (port + range + step * PORT_STEP - FIRST_PORT) % range);
    }
    return row;
}

// The ports at which connected paths of this process listen.
class Ports {
  public:
    static Ports &taken() {
        static Ports *only = new Ports;
        return *only;
    }
    bool has(int port) {
        const std::lock_guard<std::mutex> lock(mutex);
        return ports.count(port) != 0;
    }
    std::shared_ptr<void> take(int port) {
        const std::lock_guard<std::mutex> lock(mutex);
        ports.insert(port);
        return std::shared_ptr<void>(this, [port](void *all) {
            Ports *self = static_cast<Ports *>(all);
            const std::lock_guard<std::mutex> freeing(self->mutex);
            self->ports.erase(port);
        });
    }

  private:
    std::mutex mutex;
    std::set<int> ports;
};

// Returns true if the error of a path says that the listener at the other end is not the right one
// (docs/guides/paths.md).
bool is_sent_away(const lig_error &error) {
    return std::strstr(error.message, "reset by peer") != nullptr ||
           std::strstr(error.message, "closed the connection") != nullptr;
}

// True if the host is this machine: then both ends cannot listen at the same port.
bool is_own(const std::string &host) {
    const Resolved found(host, "", SOCK_DGRAM);
    for (const addrinfo *at = found.first; at != nullptr; at = at->ai_next) {
        const int end = socket(at->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        if (end < 0) continue;
        const bool own = bind(end, at->ai_addr, at->ai_addrlen) == 0;
        close(end);
        if (own) return true;
    }
    return false;
}

const char *key_file() {
    const char *file = std::getenv("LIGAMENT_MPWIDE_KEY");
    if (file == nullptr || *file == '\0')
        throw Failure{
            -EACCES,
            "LIGAMENT_MPWIDE_KEY is not set. It names the file with the key of the path, the same at both "
            "ends; \"mpwide-key FILE\" makes one"};
    return file;
}

// A time in seconds from the environment; 0 if it is not set.
double patience_s() {
    const char *text = std::getenv("LIGAMENT_MPWIDE_PATIENCE");
    if (text == nullptr || *text == '\0') return 0.0;
    char *end = nullptr;
    const double seconds = std::strtod(text, &end);
    if (*end != '\0' || !(seconds > 0.0))
        throw Failure{-EINVAL, "LIGAMENT_MPWIDE_PATIENCE is \"" + std::string(text) +
                                   "\"; it is a time in seconds greater than 0, such as 600"};
    return seconds;
}

class Wait {
  public:
    Wait(const Meeting &of, double limit) : meeting(of), limit_s(limit) {}

    // Says each minute that there is nobody yet; fails when the patience is over.
    void go_on(const std::string &last) {
        const double waited_s = std::chrono::duration<double>(Clock::now() - begin).count();
        const std::string text = meeting.name + ": no connection for " +
                                 std::to_string(static_cast<long>(waited_s)) + " s" +
                                 (last.empty() ? "" : ": " + last);
        if (limit_s > 0.0 && waited_s >= limit_s) throw Failure{-ETIMEDOUT, text};
        if (waited_s < next_report_s) return;
        std::cerr << "MPWide: " << text << std::endl;
        next_report_s += REPORT_S;
    }

    double bounded(double seconds) const {
        if (limit_s <= 0.0) return seconds;
        const double left_s = limit_s - std::chrono::duration<double>(Clock::now() - begin).count();
        return left_s < seconds ? (left_s > 0.0 ? left_s : 0.0) : seconds;
    }

  private:
    const Meeting &meeting;
    const double limit_s;
    const Clock::time_point begin = Clock::now();
    double next_report_s = REPORT_S;
};

lig_path_options options_of(const Meeting &meeting, double patience) {
    lig_path_options options{};
    options.size = sizeof options;
    options.streams = static_cast<std::uint32_t>(meeting.connections);
    options.pace = meeting.pace;
    options.patience = patience;
    return options;
}

struct Attempt {
    lig_path *path = nullptr;
    lig_status status = LIG_OK;
    lig_error error{};

    bool wait(double seconds) {
        status = lig_path_wait_connected(path, seconds, &error);
        return status == LIG_OK;
    }
    // True if the other end has not given up meanwhile, which this end would see only by its silence.
    bool is_agreed() {
        status = lig_path_barrier(path, AGREEMENT_S, &error);
        return status == LIG_OK;
    }
    void give_up() {
        lig_path_free(path);
        path = nullptr;
    }
};

class Search {
  public:
    explicit Search(const Meeting &wanted)
        : meeting(wanted),
          limit_s(patience_s()),
          key(key_file()),
          wait(meeting, limit_s),
          only_listens(meeting.host == "0" || meeting.host == "0.0.0.0"),
          own(only_listens || is_own(meeting.host)),
          options(options_of(meeting, limit_s)),
          row(row_of(meeting.port)) {}

    // The claim on the port among the paths of this process; empty at the end that does not listen.
    std::shared_ptr<void> lease;

    lig_path *connection() {
        if (only_listens && !meeting.may_listen)
            throw Failure{-EINVAL,
                          meeting.name + ": the host \"" + meeting.host +
                              "\" means that this end listens; give the other end's host, or server_wait"};
        for (;;) {
            if (!only_listens)
                if (lig_path *path = as_client()) return path;
            if (!meeting.may_listen)
                throw Failure{-ECONNREFUSED,
                              meeting.name + ": " +
                                  (last.empty() ? "nobody listens there; start the other end first, "
                                                  "with server_wait"
                                                : last)};
            if (lig_path *path = as_server()) return path;
            wait.go_on(last);
        }
    }

  private:
    lig_path *as_client() {
        for (const int port : row)
            if (listens(meeting.host, port))
                if (lig_path *path = open(port)) return path;
        return nullptr;
    }

    lig_path *open(int port) {
        Attempt attempt;
        const std::string host =
            meeting.host.find(':') == std::string::npos ? meeting.host : "[" + meeting.host + "]";
        const std::string to = host + ":" + std::to_string(port);
        check(lig_path_open(key, to.c_str(), &options, &attempt.path, &attempt.error), attempt.error);
        const Clock::time_point begin = Clock::now();
        const Clock::time_point end = begin + std::chrono::milliseconds(static_cast<long>(1e3 * OPEN_S));
        while (!attempt.wait(wait.bounded(LOOK_S)) && attempt.status == LIG_ERR_TIMED_OUT &&
               Clock::now() < end)
            if (is_sent_away(attempt.error) && Clock::now() > begin + CLOSING) break;
        if (attempt.status == LIG_OK && attempt.is_agreed()) return attempt.path;
        last = attempt.error.message;
        attempt.give_up();
        return nullptr;
    }

    lig_path *as_server() {
        const auto free =
            std::find_if(row.begin(), row.end(), [](int port) { return !Ports::taken().has(port); });
        if (free == row.end())
            throw Failure{-EADDRINUSE,
                          meeting.name + ": " + std::to_string(PORTS) +
                              " paths of this program listen for this port already; destroy one"};
        Attempt attempt;
        const std::string at = ":" + std::to_string(*free);
        attempt.status = lig_path_listen(key, at.c_str(), &options, &attempt.path, &attempt.error);
        if (attempt.status != LIG_OK) {
            // Another program of this machine may have been first; it is then tried as a client.
            if (attempt.status != LIG_ERR_SYSTEM || ++failures > RETRIES)
                check(attempt.status, attempt.error);
            last = attempt.error.message;
            std::this_thread::sleep_for(std::chrono::milliseconds(RETRY_MS));
            return nullptr;
        }
        failures = 0;
        while (!attempt.wait(wait.bounded(std::uniform_real_distribution<double>(0.2, 0.6)(chance)))) {
            last = attempt.error.message;
            // A path that has lost its patience is begun anew. So is one to which an end came that gave up: a
            // path knows its partner from the first greeting on, and sends all others away.
            if (attempt.status != LIG_ERR_TIMED_OUT || std::strstr(attempt.error.message, "sent away")) break;
            if (!own && listens(meeting.host, meeting.port) && std::bernoulli_distribution(0.5)(chance))
                break;
            try {
                wait.go_on(last);
            } catch (...) {
                attempt.give_up();
                throw;
            }
        }
        if (attempt.status == LIG_OK && attempt.is_agreed()) {
            lease = Ports::taken().take(*free);
            return attempt.path;
        }
        attempt.give_up();
        return nullptr;
    }

    void check(lig_status status, const lig_error &error) const {
        if (status == LIG_OK) return;
        Failure failure = failure_of(status, error);
        failure.text = meeting.name + ": " + failure.text;
        throw failure;
    }

    const Meeting &meeting;
    const double limit_s;
    const char *key;
    Wait wait;
    const bool only_listens, own;
    const lig_path_options options;
    const std::vector<int> row;
    std::mt19937 chance{std::random_device{}()};
    std::string last;
    // Number of times in a row that this end could not listen.
    int failures = 0;
};

}  // namespace

std::shared_ptr<ByteStream> meet(const Meeting &meeting) {
    Search search(meeting);
    lig_path *path = search.connection();
    return std::make_shared<ByteStream>(path, meeting.name, search.lease);
}

std::vector<std::string> addresses(const std::string &host) {
    std::vector<std::string> four, six;
    const Resolved found(host, "", SOCK_STREAM);
    for (const addrinfo *at = found.first; at != nullptr; at = at->ai_next) {
        char text[NI_MAXHOST];
        if (getnameinfo(at->ai_addr, at->ai_addrlen, text, sizeof text, nullptr, 0, NI_NUMERICHOST) != 0)
            continue;
        (at->ai_family == AF_INET ? four : six).push_back(text);
    }
    four.insert(four.end(), six.begin(), six.end());
    return four;
}

}  // namespace mpwide
