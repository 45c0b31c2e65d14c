// The calls of MPWide.h: numbers become byte streams here, and failures become MPWide's results.

#include "MPWide.h"

#include "background.hpp"
#include "failure.hpp"
#include "meeting.hpp"
#include "table.hpp"
#include "transfer.hpp"

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <climits>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <thread>

namespace mpwide {

namespace {

// Most connections of a path of Ligament.
const int MAX_CONNECTIONS = 256;
const double CLOSE_S = 60.0;
// At the end of a program that has not called MPW_Finalize, or that has failed.
const double EXIT_S = 5.0;
const double MIB = 1024.0 * 1024.0;
// MPWide's own rates, bytes per second: of a stream, and of a path that is tuned.
const double FIRST_RATE = 100.0 * MIB, TUNED_RATE = 1200.0 * MIB;

// Never destroyed: threads may still use it when the program ends.
struct Face {
    Table table;
    Background background;
    bool automatic = true;
    double rate = FIRST_RATE;
    // True if the program has set the rate, so that it holds for the paths.
    bool paced = false;
};

void close_all(double timeout_s);

Face &face() {
    static Face *only = [] {
        std::atexit([] { close_all(EXIT_S); });
        return new Face;
    }();
    return *only;
}

using Lock = std::lock_guard<std::mutex>;

void say(const char *call, const Failure &failure) {
    // One piece, so that lines of several threads do not mix.
    std::cerr << std::string("MPWide: ") + call + ": " + failure.text + "\n" << std::flush;
}

// The result of a call that tells its caller of failures.
template <class Work>
auto numbered(const char *call, Work work) -> decltype(work()) {
    try {
        return work();
    } catch (const Failure &failure) {
        say(call, failure);
        return failure.number;
    }
}

// A call that cannot tell its caller ends the program, as MPWide does: going on would mean wrong data.
template <class Work>
auto certain(const char *call, Work work) -> decltype(work()) {
    try {
        return work();
    } catch (const Failure &failure) {
        say(call, failure);
        std::exit(1);
    }
}

void close(const std::shared_ptr<ByteStream> &bytes, double timeout_s) {
    if (bytes) bytes->close(timeout_s);
}

// Closes all streams, side by side, because each may have to wait for bytes to arrive.
void close_all(double timeout_s) {
    std::vector<Lane> lanes;
    {
        const Lock lock(face().table.mutex);
        lanes = face().table.all_lanes();
        face().table.clear();
    }
    std::vector<std::thread> threads;
    for (const Lane &lane : lanes)
        threads.emplace_back([&lane, timeout_s] {
            try {
                lane.bytes->close(timeout_s);
            } catch (const Failure &failure) {
                say("at the end", failure);
            }
        });
    for (std::thread &thread : threads) thread.join();
}

std::uint64_t pace_of(int streams) {
    const Face &here = face();
    return here.paced && here.rate > 0.0 ? static_cast<std::uint64_t>(std::ceil(here.rate * streams)) : 0;
}

void set_pace() {
    for (const Lane &lane : face().table.all_lanes()) lane.bytes->set_pace(pace_of(lane.streams));
}

// Numbers as MPWide's tuning has them. Streams of Ligament need no limit to be fast.
void tune() {
    Face &here = face();
    const int widest = here.table.widest();
    here.rate = widest < 3 ? TUNED_RATE : TUNED_RATE / widest;
    here.paced = false;
    set_pace();
}

int add_path(const std::string &host, int port, int streams) {
    if (host != "0" && addresses(host).empty())
        throw Failure{-EHOSTUNREACH, "the host \"" + host + "\" has no address; is the name right?"};
    const Lock lock(face().table.mutex);
    const int path = face().table.add_path({host, port}, streams);
    if (face().automatic) tune();
    return path;
}

int connect_path(int path, bool may_listen) {
    Meeting meeting;
    {
        const Lock lock(face().table.mutex);
        const Route route = face().table.route(path);
        const int streams = static_cast<int>(route.streams.size());
        const std::string name = name_of_path(path, route.address);
        if (route.bytes) throw Failure{-EISCONN, name + " is connected already"};
        if (streams > MAX_CONNECTIONS)
            std::cerr << "MPWide: " << name << ": " << MAX_CONNECTIONS << " connections carry its " << streams
                      << " streams" << std::endl;
        meeting = {route.address.host, route.address.port, std::min(streams, MAX_CONNECTIONS),
                   pace_of(streams),   may_listen,         name};
    }
    const std::shared_ptr<ByteStream> bytes = meet(meeting);
    const Lock lock(face().table.mutex);
    face().table.connect_path(path, bytes);
    return 0;
}

void connect_stream(int number) {
    Meeting meeting;
    {
        const Lock lock(face().table.mutex);
        const Stream stream = face().table.stream(number);
        meeting = {stream.address.host,
                   stream.address.port,
                   1,
                   pace_of(1),
                   true,
                   name_of_stream(number, stream.address)};
    }
    const std::shared_ptr<ByteStream> bytes = meet(meeting);
    const Lock lock(face().table.mutex);
    face().table.connect_stream(number, bytes);
}

// Does all pieces of work at once; the first failure is the result.
void side_by_side(const std::vector<std::function<void()>> &works) {
    std::mutex mutex;
    std::optional<Failure> first;
    std::vector<std::thread> threads;
    for (const std::function<void()> &work : works)
        threads.emplace_back([&] {
            try {
                work();
            } catch (const Failure &failure) {
                const Lock lock(mutex);
                if (!first) first = failure;
            }
        });
    for (std::thread &thread : threads) thread.join();
    if (first) throw Failure(*first);
}

int init(const std::string *hosts, const int *ports, int count) {
    if (count < 1 || hosts == nullptr || ports == nullptr)
        throw Failure{-EINVAL,
                      "hosts and ports of " + std::to_string(count) + " streams were given; 1 is the least"};
    std::vector<Address> all;
    for (int i = 0; i < count; ++i) {
        if (hosts[i] != "0" && addresses(hosts[i]).empty())
            throw Failure{-EHOSTUNREACH, "the host \"" + hosts[i] + "\" has no address; is the name right?"};
        all.push_back({hosts[i], ports[i]});
    }
    int first = 0;
    {
        const Lock lock(face().table.mutex);
        first = face().table.add_streams(all);
    }
    std::vector<std::function<void()>> works;
    for (int i = 0; i < count; ++i) works.push_back([first, i] { connect_stream(first + i); });
    try {
        side_by_side(works);
    } catch (const Failure &) {
        const Lock lock(face().table.mutex);
        for (int i = count - 1; i >= 0; --i) face().table.remove_stream(first + i);
        throw;
    }
    return 0;
}

// The call's place in the queues of its streams, with its pieces.
struct Exchange {
    std::unique_ptr<Transfer> transfer;
    std::vector<Piece> sends, receives;
    void run() { transfer->run(sends, receives); }
};

Exchange exchange(const std::vector<Lane> &out, const Buffer &data, const std::vector<Lane> &in,
                  const Buffer &room) {
    Exchange made{nullptr, divide(out, data), divide(in, room)};
    // A call waits only for those that go in the same direction.
    made.transfer = std::make_unique<Transfer>(data.size != 0 ? out : std::vector<Lane>{},
                                               room.size != 0 ? in : std::vector<Lane>{});
    return made;
}

Exchange exchange_on_path(const Buffer &data, const Buffer &room, int path) {
    const Lock lock(face().table.mutex);
    const std::vector<Lane> lanes = {face().table.lane_of_path(path)};
    return exchange(lanes, data, lanes, room);
}

struct Streams {
    const int *numbers;
    int count;
};

Exchange exchange_on_streams(const Buffer &data, Streams out, const Buffer &room, Streams in) {
    const Lock lock(face().table.mutex);
    return exchange(face().table.lanes(out.numbers, out.count), data,
                    face().table.lanes(in.numbers, in.count), room);
}

long long dynamic(const Buffer &data, const std::vector<Lane> &out, const Buffer &room,
                  const std::vector<Lane> &in, std::unique_lock<std::mutex> &lock) {
    Transfer transfer(out, in);
    lock.unlock();
    return static_cast<long long>(transfer.run_with_length(data, room));
}

long long dynamic_on_streams(const Buffer &data, Streams out, const Buffer &room, Streams in) {
    std::unique_lock<std::mutex> lock(face().table.mutex);
    const std::vector<Lane> sends = face().table.lanes(out.numbers, out.count);
    const std::vector<Lane> receives = face().table.lanes(in.numbers, in.count);
    return dynamic(data, sends, room, receives, lock);
}

// Two streams, each of which gets what comes from the other one.
class Joint {
  public:
    Joint(Lane one_end, Lane other_end) : one(std::move(one_end)), other(std::move(other_end)) {}

    // Passes on bytes of one direction until one of the streams has ended. The other end learns it then: it
    // would wait for ever.
    void pass_on(bool is_back) {
        const Lane &from = is_back ? other : one, &to = is_back ? one : other;
        std::optional<Failure> why;
        try {
            for (;;) {
                const std::vector<char> some = from.bytes->receive_some();
                to.bytes->send(some.data(), some.size());
            }
        } catch (const Failure &failure) {
            if (failure.number != -1) why = failure;
        }
        // The second direction ends because the first one has closed both streams.
        if (close_both() && why) throw Failure(*why);
    }

  private:
    // Returns false if they are closed already.
    bool close_both() {
        if (is_closed.exchange(true)) return false;
        for (const Lane &lane : {one, other}) {
            try {
                lane.bytes->close(CLOSE_S);
            } catch (const Failure &) {
                // The stream is the one that has ended, or its end has gone meanwhile.
            }
        }
        return true;
    }

    const Lane one, other;
    std::atomic<bool> is_closed{false};
};

void relay(Streams ones, Streams others) {
    std::vector<std::function<void()>> works;
    {
        const Lock lock(face().table.mutex);
        const std::vector<Lane> near = face().table.lanes(ones.numbers, ones.count);
        const std::vector<Lane> far = face().table.lanes(others.numbers, others.count);
        if (near.size() != far.size())
            throw Failure{-EINVAL,
                          "the two sets are divided among paths differently; relay one path at a time"};
        for (std::size_t i = 0; i < near.size(); ++i) {
            const auto joint = std::make_shared<Joint>(near[i], far[i]);
            for (const bool is_back : {false, true})
                works.push_back([joint, is_back] { joint->pass_on(is_back); });
        }
    }
    std::optional<Failure> why;
    try {
        side_by_side(works);
    } catch (const Failure &failure) {
        why = failure;
    }
    for (const Streams &set : {ones, others})
        for (int i = 0; i < set.count; ++i) {
            const Lock lock(face().table.mutex);
            if (set.numbers[i] < face().table.size()) face().table.disconnect(set.numbers[i]);
        }
    if (why) throw Failure(*why);
}

void barrier(const std::vector<Lane> &lanes) {
    std::vector<std::function<void()>> works;
    for (const Lane &lane : lanes) works.push_back([&lane] { lane.bytes->barrier(); });
    side_by_side(works);
}

}  // namespace

}  // namespace mpwide

using namespace mpwide;

char *MPW_DNSResolve(char *host) {
    if (host == nullptr) return nullptr;
    if (std::isdigit(static_cast<unsigned char>(host[0]))) return host;
    thread_local std::string found;
    const std::vector<std::string> all = addresses(host);
    if (all.empty()) {
        say("MPW_DNSResolve", {-EHOSTUNREACH, "the host \"" + std::string(host) + "\" has no address"});
        return nullptr;
    }
    found = all.front();
    return found.data();
}

char *MPW_DNSResolve(std::string host) {
    thread_local std::string asked;
    asked = host;
    return MPW_DNSResolve(asked.data());
}

void MPW_setAutoTuning(bool automatic) { face().automatic = automatic; }

bool MPW_AutoTuning() { return face().automatic; }

void MPW_Print() {
    const Lock lock(face().table.mutex);
    int number = 0;
    for (const Stream &stream : face().table.all_streams()) {
        std::cerr << "MPWide connection stream #: " << number++
                  << "\nMPWide base connection port:" << stream.address.port
                  << "\nMPWide remote_url:" << stream.address.host << "\n";
    }
    std::cerr << std::flush;
}

int MPW_NumChannels() {
    const Lock lock(face().table.mutex);
    return face().table.size();
}

int MPW_CreatePathWithoutConnect(std::string host, int server_side_base_port, int streams_in_path) {
    return numbered("MPW_CreatePathWithoutConnect",
                    [&] { return add_path(host, server_side_base_port, streams_in_path); });
}

int MPW_ConnectPath(int path_id, bool server_wait) {
    return numbered("MPW_ConnectPath", [&] { return connect_path(path_id, server_wait); });
}

int MPW_CreatePath(std::string host, int server_side_base_port, int num_streams) {
    return numbered("MPW_CreatePath", [&] {
        const int path = add_path(host, server_side_base_port, num_streams);
        try {
            connect_path(path, true);
        } catch (const Failure &) {
            const Lock lock(face().table.mutex);
            face().table.remove_path(path);
            throw;
        }
        return path;
    });
}

int MPW_DestroyPath(int path) {
    return numbered("MPW_DestroyPath", [&] {
        std::shared_ptr<ByteStream> bytes;
        {
            const Lock lock(face().table.mutex);
            bytes = face().table.remove_path(path);
        }
        close(bytes, CLOSE_S);
        return 0;
    });
}

int MPW_SendRecv(char *sendbuf, long long int sendsize, char *recvbuf, long long int recvsize, int path) {
    return numbered("MPW_SendRecv", [&] {
        exchange_on_path({sendbuf, sendsize}, {recvbuf, recvsize}, path).run();
        return 0;
    });
}

int MPW_Send(char *sendbuf, long long int sendsize, int path) {
    return numbered("MPW_Send", [&] {
        exchange_on_path({sendbuf, sendsize}, {nullptr, 0}, path).run();
        return 0;
    });
}

int MPW_Recv(char *recvbuf, long long int recvsize, int path) {
    return numbered("MPW_Recv", [&] {
        exchange_on_path({nullptr, 0}, {recvbuf, recvsize}, path).run();
        return 0;
    });
}

int MPW_DSendRecv(char *sendbuf, long long int sendsize, char *recvbuf, long long int maxrecvsize, int path) {
    return certain("MPW_DSendRecv", [&] {
        const Buffer data(sendbuf, sendsize), room(recvbuf, maxrecvsize);
        std::unique_lock<std::mutex> lock(face().table.mutex);
        const std::vector<Lane> lanes = {face().table.lane_of_path(path)};
        const long long size = dynamic(data, lanes, room, lanes, lock);
        if (size > INT_MAX)
            throw Failure{-EOVERFLOW,
                          "a message of " + std::to_string(size) +
                              " bytes has come, and this call gives an int; give streams instead of a "
                              "path: that call gives a long long"};
        return static_cast<int>(size);
    });
}

int MPW_Init(std::string *url, int *server_side_ports, int *, int num_channels) {
    return numbered("MPW_Init", [&] { return init(url, server_side_ports, num_channels); });
}

int MPW_Init(std::string *url, int *server_side_ports, int num_channels) {
    return numbered("MPW_Init", [&] { return init(url, server_side_ports, num_channels); });
}

int MPW_Init(std::string url, int port) {
    return numbered("MPW_Init", [&] { return init(&url, &port, 1); });
}

int MPW_Init(std::string url) {
    return numbered("MPW_Init", [&]() -> int {
        throw Failure{-EINVAL, "no port was given for the host \"" + url + "\": MPW_Init(host, port)"};
    });
}

int MPW_Init() { return 0; }

void MPW_setWin(int channel, int) {
    certain("MPW_setWin", [&] {
        const Lock lock(face().table.mutex);
        face().table.stream(channel);
    });
}

void MPW_setPathWin(int path, int) {
    certain("MPW_setPathWin", [&] {
        const Lock lock(face().table.mutex);
        face().table.route(path);
    });
}

void MPW_CloseChannels(int *channels, int num_channels) {
    certain("MPW_CloseChannels", [&] {
        std::vector<std::function<void()>> works;
        for (int i = 0; i < num_channels; ++i) {
            const Lock lock(face().table.mutex);
            works.push_back([bytes = face().table.disconnect(channels[i])] { close(bytes, CLOSE_S); });
        }
        side_by_side(works);
    });
}

void MPW_ReOpenChannels(int *channels, int num_channels) {
    certain("MPW_ReOpenChannels", [&] {
        std::vector<std::function<void()>> works;
        std::vector<int> paths;
        for (int i = 0; i < num_channels; ++i) {
            const Lock lock(face().table.mutex);
            const int number = channels[i], path = face().table.stream(number).path;
            if (path < 0) {
                if (!face().table.stream(number).bytes) works.push_back([number] { connect_stream(number); });
            } else if (!face().table.route(path).bytes &&
                       std::find(paths.begin(), paths.end(), path) == paths.end()) {
                paths.push_back(path);
                works.push_back([path] { connect_path(path, true); });
            }
        }
        side_by_side(works);
    });
}

int MPW_Finalize() {
    close_all(CLOSE_S);
    face().background.end_all();
    return 1;
}

int MPW_PSendRecv(char **sendbuf, long long int *sendsize, char **recvbuf, long long int *recvsize,
                  int *channel, int num_channels) {
    return numbered("MPW_PSendRecv", [&] {
        Exchange made;
        {
            const Lock lock(face().table.mutex);
            const std::vector<Lane> lanes = face().table.lanes(channel, num_channels);
            made = {nullptr, pieces(lanes, sendbuf, sendsize), pieces(lanes, recvbuf, recvsize)};
            made.transfer = std::make_unique<Transfer>(made.sends.empty() ? std::vector<Lane>{} : lanes,
                                                       made.receives.empty() ? std::vector<Lane>{} : lanes);
        }
        made.run();
        return 0;
    });
}

int MPW_SendRecv(char *sendbuf, long long int sendsize, char *recvbuf, long long int recvsize, int *channel,
                 int num_channels) {
    return numbered("MPW_SendRecv", [&] {
        const Streams streams{channel, num_channels};
        exchange_on_streams({sendbuf, sendsize}, streams, {recvbuf, recvsize}, streams).run();
        return 0;
    });
}

long long int MPW_DSendRecv(char *sendbuf, long long int sendsize, char *recvbuf, long long int maxrecvsize,
                            int *channel, int num_channels) {
    return certain("MPW_DSendRecv", [&] {
        const Streams streams{channel, num_channels};
        return dynamic_on_streams({sendbuf, sendsize}, streams, {recvbuf, maxrecvsize}, streams);
    });
}

void MPW_Send(char *buf, long long int size, int *channels, int num_channels) {
    certain("MPW_Send", [&] {
        const Streams streams{channels, num_channels};
        exchange_on_streams({buf, size}, streams, {nullptr, 0}, streams).run();
    });
}

void MPW_Recv(char *buf, long long int size, int *channels, int num_channels) {
    certain("MPW_Recv", [&] {
        const Streams streams{channels, num_channels};
        exchange_on_streams({nullptr, 0}, streams, {buf, size}, streams).run();
    });
}

void MPW_Relay(int *channels, int *channels2, int num_channels) {
    certain("MPW_Relay", [&] { relay({channels, num_channels}, {channels2, num_channels}); });
}

long long int MPW_DCycle(char *sendbuf, long long int sendsize, char *recvbuf, long long int recvsize,
                         int *ch_send, int num_ch_send, int *ch_recv, int num_ch_recv) {
    return certain("MPW_DCycle", [&] {
        return dynamic_on_streams({sendbuf, sendsize}, {ch_send, num_ch_send}, {recvbuf, recvsize},
                                  {ch_recv, num_ch_recv});
    });
}

void MPW_Cycle(char *sendbuf, long long int sendsize, char *recvbuf, long long int recvsize, int *ch_send,
               int num_ch_send, int *ch_recv, int num_ch_recv) {
    certain("MPW_Cycle", [&] {
        exchange_on_streams({sendbuf, sendsize}, {ch_send, num_ch_send}, {recvbuf, recvsize},
                            {ch_recv, num_ch_recv})
            .run();
    });
}

void MPW_splitBuf(char *buf, long long int bsize, int num_chunks, char **split_buf,
                  long long int *chunk_sizes) {
    certain("MPW_splitBuf", [&] {
        if (num_chunks < 1 || bsize < 0)
            throw Failure{-EINVAL, std::to_string(bsize) + " bytes cannot be divided into " +
                                       std::to_string(num_chunks) + " parts"};
        for (int i = 0; i < num_chunks; ++i) {
            chunk_sizes[i] = bsize / num_chunks + (i < bsize % num_chunks ? 1 : 0);
            split_buf[i] = buf;
            buf += chunk_sizes[i];
        }
    });
}

void MPW_Barrier(int channel) {
    certain("MPW_Barrier", [&] {
        std::vector<Lane> lanes;
        {
            const Lock lock(face().table.mutex);
            lanes = {face().table.lane_of_stream(channel)};
        }
        barrier(lanes);
    });
}

void MPW_Barrier() {
    certain("MPW_Barrier", [&] {
        std::vector<Lane> lanes;
        {
            const Lock lock(face().table.mutex);
            lanes = face().table.all_lanes();
        }
        barrier(lanes);
    });
}

void MPW_setChunkSize(int sending, int receiving) {
    certain("MPW_setChunkSize", [&] {
        if (sending < 1 || receiving < 1)
            throw Failure{-EINVAL, "pieces of " + std::to_string(sending) + " and " +
                                       std::to_string(receiving) + " bytes were asked for; 1 is the least"};
    });
}

int MPW_ISendRecv(char *sendbuf, long long int sendsize, char *recvbuf, long long int recvsize, int path) {
    return numbered("MPW_ISendRecv", [&] {
        Exchange made = exchange_on_path({sendbuf, sendsize}, {recvbuf, recvsize}, path);
        return face().background.begin(std::move(made.transfer), made.sends, made.receives);
    });
}

bool MPW_Has_NBE_Finished(int NBE_id) {
    return certain("MPW_Has_NBE_Finished", [&] { return face().background.has_ended(NBE_id); });
}

void MPW_Wait(int NBE_id) {
    certain("MPW_Wait", [&] { face().background.end(NBE_id); });
}

double MPW_getPacingRate() { return face().rate; }

void MPW_setPacingRate(double rate) {
    certain("MPW_setPacingRate", [&] {
        if (rate != -1.0 && !(rate > 0.0 && std::isfinite(rate)))
            throw Failure{-EINVAL, "a rate of " + std::to_string(rate) +
                                       " was given; it is bytes per second, or -1 for no limit"};
        const Lock lock(face().table.mutex);
        face().rate = rate;
        face().paced = true;
        set_pace();
    });
}
