// Pieces of buffers over byte streams: see transfer.hpp.

#include "transfer.hpp"

#include "failure.hpp"

#include <algorithm>
#include <array>
#include <cerrno>

namespace mpwide {

// MPWide's own number: a shorter message goes over fewer streams.
static const std::size_t BYTES_PER_STREAM = 2 * 1380;
static const std::size_t LENGTH_BYTES = 8;

Buffer::Buffer(char *begin, long long bytes) : data(begin), size(static_cast<std::size_t>(bytes)) {
    if (bytes < 0) throw Failure{-EINVAL, "a size is " + std::to_string(bytes) + "; it is 0 or more bytes"};
    if (bytes > 0 && begin == nullptr)
        throw Failure{-EINVAL, "a buffer of " + std::to_string(bytes) + " bytes is NULL"};
}

// Returns true if the receiver must get a piece exactly as it was sent. This is so for a call over several
// single streams: unlike the streams of a path, they have no common order of bytes, so both ends must divide
// alike.
static bool must_be_whole(const std::vector<Lane> &lanes, const Lane &lane) {
    return lanes.size() > 1 && !lane.of_path;
}

std::vector<Piece> divide(const std::vector<Lane> &lanes, const Buffer &buffer) {
    std::size_t streams = 0;
    for (const Lane &lane : lanes) streams += static_cast<std::size_t>(lane.streams);
    const std::size_t used = std::max<std::size_t>(1, std::min(streams, buffer.size / BYTES_PER_STREAM));
    std::vector<Piece> parts;
    std::size_t stream = 0, begin = 0;
    for (const Lane &lane : lanes) {
        const std::size_t first = begin;
        for (int i = 0; i < lane.streams && stream < used; ++i, ++stream)
            begin += buffer.size / used + (stream < buffer.size % used ? 1 : 0);
        if (begin != first)
            parts.push_back({lane.bytes, buffer.data + first, begin - first, must_be_whole(lanes, lane)});
    }
    return parts;
}

std::vector<Piece> pieces(const std::vector<Lane> &lanes, char **buffers, const long long *sizes) {
    std::vector<Piece> all;
    int stream = 0;
    for (const Lane &lane : lanes)
        for (int i = 0; i < lane.streams; ++i, ++stream) {
            const Buffer part(buffers[stream], sizes[stream]);
            if (part.size != 0) all.push_back({lane.bytes, part.data, part.size, must_be_whole(lanes, lane)});
        }
    return all;
}

Transfer::Transfer(const std::vector<Lane> &sending, const std::vector<Lane> &receiving)
    : out(sending), in(receiving) {
    for (const Lane &lane : out) turns.emplace_back(lane.bytes->sending);
    for (const Lane &lane : in) turns.emplace_back(lane.bytes->receiving);
}

void Transfer::wait() {
    for (Turn &turn : turns) turn.wait();
}

static void receive(const std::vector<Piece> &awaited) {
    for (const Piece &piece : awaited)
        if (piece.whole)
            piece.bytes->receive_whole(piece.data, piece.length);
        else
            piece.bytes->receive(piece.data, piece.length);
}

// Sends that were begun. A call that fails also waits for their end, because the buffers are its caller's.
class Sends {
  public:
    ~Sends() {
        try {
            end();
        } catch (const Failure &) {
            // The path is lost or closed, and nothing of the buffers is used any more.
        }
    }
    void begin(const Piece &piece) {
        begun.push_back({piece.bytes, piece.bytes->begin_send(piece.data, piece.length)});
    }
    void end() {
        while (!begun.empty()) {
            const Request request = begun.back();
            begun.pop_back();
            request.bytes->end_send(request.number);
        }
    }

  private:
    struct Request {
        std::shared_ptr<ByteStream> bytes;
        std::uint64_t number;
    };
    std::vector<Request> begun;
};

void Transfer::run(const std::vector<Piece> &sends, const std::vector<Piece> &receives) {
    wait();
    if (receives.empty()) {
        for (const Piece &piece : sends) piece.bytes->send(piece.data, piece.length);
        return;
    }
    if (sends.empty()) return receive(receives);
    const Piece &sent = sends.front(), &received = receives.front();
    if (sends.size() == 1 && receives.size() == 1 && sent.bytes == received.bytes)
        return sent.bytes->exchange(sent.data, sent.length, received.data, received.length);
    Sends begun;
    for (const Piece &piece : sends) begun.begin(piece);
    receive(receives);
    begun.end();
}

std::size_t Transfer::run_with_length(const Buffer &data, const Buffer &room) {
    wait();
    // Big-endian, as in MPWide.
    std::array<char, LENGTH_BYTES> length{};
    for (std::size_t i = 0; i < LENGTH_BYTES; ++i)
        length[i] = static_cast<char>(data.size >> (8 * (LENGTH_BYTES - 1 - i)));
    Sends begun;
    begun.begin({out.front().bytes, length.data(), LENGTH_BYTES, false});
    for (const Piece &piece : divide(out, data)) begun.begin(piece);
    std::array<char, LENGTH_BYTES> comes{};
    in.front().bytes->receive(comes.data(), LENGTH_BYTES);
    std::size_t size = 0;
    for (const char byte : comes) size = size << 8 | static_cast<unsigned char>(byte);
    if (size > room.size)
        throw Failure{-EMSGSIZE, "a message of " + std::to_string(size) +
                                     " bytes has come, and the buffer has room "
                                     "for " +
                                     std::to_string(room.size) + ": give a larger one (maxrecvsize)"};
    receive(divide(in, {room.data, static_cast<long long>(size)}));
    begun.end();
    return size;
}

}  // namespace mpwide
