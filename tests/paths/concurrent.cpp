// MPWTestConcurrent of MPWide, rewritten in C++. Both ends begin to send and to receive many messages, test if
// they are done while they do other work, check every byte, and meet at a barrier. Start `concurrent listen KEY
// :PORT COUNT` at one end, and `concurrent open KEY HOST:PORT COUNT` at the other.

#include <cstddef>
#include <iostream>
#include <ligament/ligament.hpp>
#include <string>
#include <vector>

using ligament::Path;

static const double minute = 60.0;

// Returns the bytes of message `number` of an end (0 listens, 1 opens). Both ends know them.
static std::vector<char> content(std::size_t number, std::size_t end) {
    std::vector<char> bytes((number * 245489 + end * 1013) % 400000);
    for (std::size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = static_cast<char>(i * 31 + number * 7 + end * 101 + (i >> 10));
    return bytes;
}

static int exchange(Path &path, std::size_t end, std::size_t count) {
    std::vector<std::vector<char>> out;
    std::vector<Path::Request> sends, receives;
    for (std::size_t number = 0; number < count; ++number) out.push_back(content(number, end));
    for (const std::vector<char> &one : out) {
        receives.push_back(path.ireceive());
        sends.push_back(path.isend(one.data(), one.size()));
    }
    std::size_t early = 0;
    std::vector<char> in(400000);
    for (std::size_t number = 0; number < count; ++number) {
        early += path.test(receives[number]);
        const std::size_t length = path.wait(receives[number], in.data(), in.size(), minute);
        if (std::vector<char>(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(length)) !=
            content(number, 1 - end)) {
            std::cerr << "message " << number << " is wrong\n";
            return 1;
        }
    }
    for (const Path::Request &one : sends) path.wait(one, nullptr, 0, minute);
    path.barrier(minute);
    std::cout << count << " messages, " << early << " before they were waited for\n";
    path.close(minute);
    return 0;
}

int main(int argc, char **argv) {
    const std::vector<std::string> words(argv + 1, argv + argc);
    if (words.size() != 4) return 2;
    try {
        const bool opens = words[0] == "open";
        Path path = opens ? Path::open(words[1], words[2]) : Path::listen(words[1], words[2]);
        if (!opens) std::cout << path.port() << std::endl;
        return exchange(path, opens, std::stoul(words[3]));
    } catch (const ligament::Error &error) {
        std::cerr << error.what() << '\n';
        return 1;
    }
}
