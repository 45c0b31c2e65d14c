// The agreement of two ends that each name the other's host: which of them listens.

#pragma once

#include "byte_stream.hpp"

#include <memory>
#include <string>

namespace mpwide {

struct Meeting {
    std::string host;
    int port;
    // Number of connections of the path.
    int connections;
    // Highest rate over a long distance, bytes per second; 0: no limit.
    std::uint64_t pace;
    // If false, this end never listens, and the call fails if the other one does not.
    bool may_listen;
    // Which streams these are, in errors.
    std::string name;
};

// Connects with the other end, or throws a `Failure`.
std::shared_ptr<ByteStream> meet(const Meeting &meeting);

// The addresses of a host as texts, IPv4 first; empty if it has none.
std::vector<std::string> addresses(const std::string &host);

}  // namespace mpwide
