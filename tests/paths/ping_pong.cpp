// MPWTest of MPWide, rewritten in C++. One end listens, the other one opens, and both send each other the same
// message several times. The bytes are checked. Start `ping_pong listen KEY :PORT` at one end, and `ping_pong
// open KEY HOST:PORT ROUNDS BYTES` at the other.

#include <cstddef>
#include <iostream>
#include <ligament/ligament.hpp>
#include <string>
#include <vector>

static const double minute = 60.0;

static int listen(const std::string &key, const std::string &at) {
    ligament::Path path = ligament::Path::listen(key, at);
    std::cout << path.port() << std::endl;
    try {
        // Sends back messages of unknown length.
        for (;;) {
            const std::vector<std::byte> message = path.receive(minute);
            path.send(message.data(), message.size(), minute);
        }
    } catch (const ligament::ClosedError &) {
        path.close(minute);
        return 0;
    }
}

static int ping(const std::string &key, const std::string &to, std::size_t rounds, std::size_t length) {
    ligament::Path path = ligament::Path::open(key, to);
    std::vector<char> out(length), in(length);
    for (std::size_t round = 0; round < rounds; ++round) {
        for (std::size_t i = 0; i < length; ++i) out[i] = static_cast<char>(i * 31 + round * 7 + (i >> 10));
        if (path.send_receive(out.data(), length, in.data(), length, minute) != length || in != out) {
            std::cerr << "round " << round << " came back wrong\n";
            return 1;
        }
    }
    std::cout << path.statistics().received << " messages, " << path.statistics().cuts << " cuts\n";
    path.close(minute);
    return 0;
}

int main(int argc, char **argv) {
    const std::vector<std::string> words(argv + 1, argv + argc);
    try {
        if (words.size() == 3 && words[0] == "listen") return listen(words[1], words[2]);
        if (words.size() == 5 && words[0] == "open")
            return ping(words[1], words[2], std::stoul(words[3]), std::stoul(words[4]));
    } catch (const ligament::Error &error) {
        std::cerr << error.what() << '\n';
        return 1;
    }
    return 2;
}
