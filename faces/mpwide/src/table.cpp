// Numbers of streams and paths: see table.hpp. Numbers that are free again are given anew, the lowest first,
// as in MPWide.

#include "table.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace mpwide {

static const int MAX_STREAMS = 10000;
static const int MAX_PATHS = 1000;

static std::string named(const char *kind, int number, const Address &address) {
    return std::string(kind) + " " + std::to_string(number) + " (port " + std::to_string(address.port) +
           ", host " + address.host + ")";
}

std::string name_of_stream(int number, const Address &address) { return named("stream", number, address); }

std::string name_of_path(int number, const Address &address) { return named("path", number, address); }

const Stream &Table::known_stream(int number) const {
    if (number < 0 || number >= size() || !streams[static_cast<std::size_t>(number)])
        throw Failure{-EINVAL, "there is no stream " + std::to_string(number) + "; there are numbers below " +
                                   std::to_string(size())};
    return *streams[static_cast<std::size_t>(number)];
}

const Route &Table::known_route(int path) const {
    if (path < 0 || path >= static_cast<int>(routes.size()) || !routes[static_cast<std::size_t>(path)])
        throw Failure{-EINVAL, "there is no path " + std::to_string(path) +
                                   "; MPW_CreatePath gives the number of a path"};
    return *routes[static_cast<std::size_t>(path)];
}

int Table::size() const { return static_cast<int>(streams.size()); }

Route Table::route(int path) const { return known_route(path); }

Stream Table::stream(int number) const { return known_stream(number); }

// Finds `count` free numbers in a row.
int Table::reserve(int count) {
    if (count < 1) throw Failure{-EINVAL, std::to_string(count) + " streams were asked for; 1 is the least"};
    int row = 0;
    for (int number = 0; number < size(); ++number) {
        row = streams[static_cast<std::size_t>(number)] ? 0 : row + 1;
        if (row == count) return number + 1 - count;
    }
    if (size() + count > MAX_STREAMS)
        throw Failure{-ENOSPC, std::to_string(size()) + " streams and " + std::to_string(count) +
                                   " more are over " + std::to_string(MAX_STREAMS)};
    streams.resize(streams.size() + static_cast<std::size_t>(count));
    return size() - count;
}

static void check(const Address &address, int ports) {
    const int last = 65535;
    if (address.port < 1 || address.port > last - ports + 1)
        throw Failure{-EINVAL, "port " + std::to_string(address.port) + " of host " + address.host +
                                   " is not possible: ports are 1 to 65535, and each stream has one"};
}

int Table::add_path(const Address &address, int count) {
    check(address, count > 0 ? count : 1);
    const auto free = std::find(routes.begin(), routes.end(), std::nullopt);
    const std::size_t path = static_cast<std::size_t>(free - routes.begin());
    if (path == MAX_PATHS)
        throw Failure{-ENOSPC, "there are " + std::to_string(MAX_PATHS) + " paths already"};
    const int first = reserve(count);
    if (free == routes.end()) routes.emplace_back();
    Route route{address, {}, nullptr};
    for (int i = 0; i < count; ++i) {
        route.streams.push_back(first + i);
        streams[static_cast<std::size_t>(first + i)] =
            Stream{{address.host, address.port + i}, static_cast<int>(path), nullptr};
    }
    routes[path] = route;
    return static_cast<int>(path);
}

int Table::add_streams(const std::vector<Address> &addresses) {
    for (const Address &address : addresses) check(address, 1);
    const int first = reserve(static_cast<int>(addresses.size()));
    for (std::size_t i = 0; i < addresses.size(); ++i)
        streams[static_cast<std::size_t>(first) + i] = Stream{addresses[i], -1, nullptr};
    return first;
}

void Table::connect_path(int path, std::shared_ptr<ByteStream> bytes) {
    known_route(path);
    routes[static_cast<std::size_t>(path)]->bytes = std::move(bytes);
}

void Table::connect_stream(int number, std::shared_ptr<ByteStream> bytes) {
    known_stream(number);
    streams[static_cast<std::size_t>(number)]->bytes = std::move(bytes);
}

std::shared_ptr<ByteStream> Table::remove_path(int path) {
    const Route route = known_route(path);
    for (int number : route.streams) streams[static_cast<std::size_t>(number)].reset();
    routes[static_cast<std::size_t>(path)].reset();
    trim();
    return route.bytes;
}

std::shared_ptr<ByteStream> Table::remove_stream(int number) {
    std::shared_ptr<ByteStream> bytes = known_stream(number).bytes;
    streams[static_cast<std::size_t>(number)].reset();
    trim();
    return bytes;
}

void Table::trim() {
    while (!streams.empty() && !streams.back()) streams.pop_back();
    while (!routes.empty() && !routes.back()) routes.pop_back();
}

std::shared_ptr<ByteStream> Table::disconnect(int number) {
    const int path = known_stream(number).path;
    std::shared_ptr<ByteStream> &bytes = path >= 0 ? routes[static_cast<std::size_t>(path)]->bytes
                                                   : streams[static_cast<std::size_t>(number)]->bytes;
    return std::exchange(bytes, nullptr);
}

Lane Table::lane_of_path(int path) const {
    const Route &route = known_route(path);
    if (!route.bytes)
        throw Failure{-ENOTCONN,
                      name_of_path(path, route.address) + " is not connected; MPW_ConnectPath connects it"};
    return {route.bytes, static_cast<int>(route.streams.size()), true};
}

Lane Table::lane_of_stream(int number) const {
    const Stream &stream = known_stream(number);
    if (stream.path >= 0) return lane_of_path(stream.path);
    if (!stream.bytes)
        throw Failure{-ENOTCONN, name_of_stream(number, stream.address) +
                                     " is closed; MPW_ReOpenChannels connects it again"};
    return {stream.bytes, 1, false};
}

std::vector<Lane> Table::lanes(const int *numbers, int count) const {
    if (count < 1 || numbers == nullptr) throw Failure{-EINVAL, "no stream is named; one is the least"};
    std::vector<Lane> lanes;
    for (int i = 0; i < count; i += lanes.back().streams) {
        lanes.push_back(lane_of_stream(numbers[i]));
        if (!lanes.back().of_path) continue;
        const int path = known_stream(numbers[i]).path;
        const std::vector<int> &all = known_route(path).streams;
        const bool whole =
            count - i >= static_cast<int>(all.size()) && std::equal(all.begin(), all.end(), numbers + i);
        if (!whole)
            throw Failure{-EINVAL, "stream " + std::to_string(numbers[i]) + " is one of " +
                                       std::to_string(all.size()) + " of path " + std::to_string(path) +
                                       ", which carry one stream of bytes: name all of them in order, from " +
                                       std::to_string(all.front()) + ", or make streams by MPW_Init"};
    }
    for (std::size_t i = 0; i < lanes.size(); ++i)
        for (std::size_t j = 0; j < i; ++j)
            if (lanes[i].bytes == lanes[j].bytes) throw Failure{-EINVAL, "a stream is named twice"};
    return lanes;
}

std::vector<Lane> Table::all_lanes() const {
    std::vector<Lane> lanes;
    for (const std::optional<Stream> &stream : streams)
        if (stream && stream->bytes) lanes.push_back({stream->bytes, 1, false});
    for (const std::optional<Route> &route : routes)
        if (route && route->bytes)
            lanes.push_back({route->bytes, static_cast<int>(route->streams.size()), true});
    return lanes;
}

std::vector<Stream> Table::all_streams() const {
    std::vector<Stream> all;
    for (const std::optional<Stream> &stream : streams)
        all.push_back(stream.value_or(Stream{{"", 0}, -1, nullptr}));
    return all;
}

int Table::widest() const {
    std::size_t widest = 0;
    for (const std::optional<Route> &route : routes)
        if (route) widest = std::max(widest, route->streams.size());
    return static_cast<int>(widest);
}

void Table::clear() {
    streams.clear();
    routes.clear();
}

}  // namespace mpwide
