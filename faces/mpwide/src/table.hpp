// The numbers of streams and paths, and what each stands for.

#pragma once

#include "byte_stream.hpp"
#include "failure.hpp"

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace mpwide {

struct Address {
    std::string host;
    int port;
};

// A stream: one of a path, or one of its own that MPW_Init has made.
struct Stream {
    Address address;
    // Number of the path; -1 for a stream of its own.
    int path;
    // The byte stream of a stream of its own; empty while it is closed.
    std::shared_ptr<ByteStream> bytes;
};

struct Route {
    Address address;
    // Numbers of its streams, which are in one row.
    std::vector<int> streams;
    // The byte stream that all streams of the path carry; empty while the path is not connected.
    std::shared_ptr<ByteStream> bytes;
};

// A byte stream of a call, and the number of the call's streams that it stands for.
struct Lane {
    std::shared_ptr<ByteStream> bytes;
    int streams;
    bool of_path;
};

class Table {
  public:
    // Each throws a `Failure` if there is no such number, or if it is not connected.
    int add_path(const Address &address, int streams);
    // Makes streams of their own, and gives the number of the first.
    int add_streams(const std::vector<Address> &addresses);
    Route route(int path) const;
    Stream stream(int number) const;
    void connect_path(int path, std::shared_ptr<ByteStream> bytes);
    void connect_stream(int number, std::shared_ptr<ByteStream> bytes);
    // Forgets a path, or a stream of its own, and gives its byte stream, which may be empty.
    std::shared_ptr<ByteStream> remove_path(int path);
    std::shared_ptr<ByteStream> remove_stream(int number);
    // Takes the byte stream of a stream or of its path, which is closed from then on.
    std::shared_ptr<ByteStream> disconnect(int number);
    // The byte streams of the streams of a call.
    std::vector<Lane> lanes(const int *numbers, int count) const;
    Lane lane_of_path(int path) const;
    Lane lane_of_stream(int number) const;
    // Every connected byte stream, once each, with the number of its streams.
    std::vector<Lane> all_lanes() const;
    std::vector<Stream> all_streams() const;
    // One more than the highest number of a stream.
    int size() const;
    // Largest number of streams of a path.
    int widest() const;
    void clear();

    // Taken by whoever calls a method. Places in queues are taken under it too, so that calls which use
    // several streams do not wait for each other in a circle.
    mutable std::mutex mutex;

  private:
    const Stream &known_stream(int number) const;
    const Route &known_route(int path) const;
    int reserve(int count);
    void trim();

    std::vector<std::optional<Stream>> streams;
    std::vector<std::optional<Route>> routes;
};

// "stream 3 (port 6003 of host)", for errors.
std::string name_of_stream(int number, const Address &address);
std::string name_of_path(int number, const Address &address);

}  // namespace mpwide
