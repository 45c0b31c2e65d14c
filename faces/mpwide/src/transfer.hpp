// The transfer of one call: pieces of its buffers over byte streams.

#pragma once

#include "byte_stream.hpp"
#include "table.hpp"

#include <memory>
#include <vector>

namespace mpwide {

struct Piece {
    std::shared_ptr<ByteStream> bytes;
    char *data;
    std::size_t length;
    // True if the data must arrive as one message of this length, or not at all.
    bool whole;
};

// A buffer that the caller gave. Throws a `Failure` if the size is below 0, or the buffer is NULL.
struct Buffer {
    Buffer(char *begin, long long bytes);
    char *data;
    std::size_t size;
};

// Divides `buffer` evenly among the streams of the lanes, in order. A short one goes over the first streams.
std::vector<Piece> divide(const std::vector<Lane> &lanes, const Buffer &buffer);

// The parts of a caller that has divided its bytes: one for each stream.
std::vector<Piece> pieces(const std::vector<Lane> &lanes, char **buffers, const long long *sizes);

// A call in its place among the calls that use the same streams. It is made while the table is locked.
class Transfer {
  public:
    Transfer(const std::vector<Lane> &sending, const std::vector<Lane> &receiving);
    // Sends and receives, when it is this call's turn.
    void run(const std::vector<Piece> &sends, const std::vector<Piece> &receives);
    // The same with lengths: sends `data` after its length, receives into `room`, and returns the length.
    std::size_t run_with_length(const Buffer &data, const Buffer &room);

  private:
    void wait();
    std::vector<Lane> out, in;
    std::vector<Turn> turns;
};

}  // namespace mpwide
