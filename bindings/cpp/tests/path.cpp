// A path without a model, with both ends in one process. The only argument is a directory for keys.

#include <cstring>
#include <iostream>
#include <ligament/ligament.hpp>

using ligament::Path;

static void holds(bool truth, int line) {
    if (truth) return;
    std::cerr << "what line " << line << " says does not hold\n";
    std::exit(1);
}
#define HOLDS(truth) holds(truth, __LINE__)

template <class Error, class Function>
static void throws(Function function, int line) {
    try {
        function();
    } catch (const Error &) {
        return;
    }
    holds(false, line);
}
#define THROWS(Error, call) throws<Error>([&] { call; }, __LINE__)

int main(int, char **argv) {
    const std::string key = std::string(argv[1]) + "/cpp.key";
    const double soon = 60.0;
    Path::make_key(key);
    ligament::PathOptions options;
    options.streams = 2;
    options.compress = false;
    Path one = Path::listen(key, "127.0.0.1:0");
    Path other = Path::open(key, "127.0.0.1:" + std::to_string(one.port()), options);
    const std::uint16_t port = one.port();
    other.wait_connected(soon);
    HOLDS(other.port() == 0);

    std::vector<double> field(100000, 1.5), came(100000);
    const std::size_t bytes = field.size() * sizeof(double);
    one.send(field.data(), bytes, soon);
    HOLDS(other.probe(soon) == bytes);
    HOLDS(other.receive(soon).size() == bytes);
    const Path::Request receives = other.ireceive();
    HOLDS(!other.test(receives));
    const Path::Request sends = one.isend(field.data(), bytes);
    HOLDS(other.wait(receives, came.data(), bytes, soon) == bytes && came == field);
    HOLDS(one.wait(sends, nullptr, 0, soon) == 0);
    const Path::Request never = other.ireceive();
    other.cancel(never);
    THROWS(ligament::UsageError, other.test(never));
    other.send("back", 4, soon);
    char place[8];
    HOLDS(one.send_receive("there", 5, place, sizeof place, soon) == 4);
    THROWS(ligament::UnexpectedError, other.receive_into(place, 2, soon));
    HOLDS(other.receive_into(place, sizeof place, soon) == 5 && std::memcmp(place, "there", 5) == 0);
    THROWS(ligament::TimedOutError, one.barrier(0.01));
    other.barrier(soon);
    HOLDS(one.statistics().sent == 3 && one.statistics().connected);
    THROWS(ligament::UsageError, Path::listen(key, "nowhere"));
    THROWS(ligament::SystemError, Path::open(key + ".not", "127.0.0.1:1"));

    one.close(soon);
    THROWS(ligament::ClosedError, other.receive(soon));
    Path moved = std::move(other);
    moved.close(soon);
    THROWS(ligament::UsageError, moved.probe(soon));
    moved.close(soon);

    const std::string at = "127.0.0.1:" + std::to_string(port);
    Path first = Path::meet(key, at), second = Path::meet(key, at);
    HOLDS(first.port() == port && second.port() == 0);
    second.set_pace(1000000);
    second.send("met", 3, soon);
    HOLDS(first.receive(soon).size() == 3);
    std::cout << "all is well\n";
}
