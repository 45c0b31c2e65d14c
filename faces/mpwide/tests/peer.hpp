// The common parts of both ends of a test: buffers with a pattern, and checks that end the program with their
// line.

#pragma once

#include "MPWide.h"

#include <cstdlib>
#include <vector>

struct Pattern {
    std::vector<char> bytes;
    // Bytes of a sequence that begins at `begin`.
    Pattern(std::size_t size, std::size_t begin) : bytes(size) {
        for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>((begin + i) * 2654435761u >> 13);
    }
    char *data() { return bytes.data(); }
};

inline bool same(const std::vector<char> &one, const Pattern &other) { return one == other.bytes; }

#define HOLDS(truth)                                                                                         \
    do {                                                                                                     \
        if (!(truth)) {                                                                                      \
            std::cerr << __FILE__ << ":" << __LINE__ << ": " #truth " is not so" << std::endl;               \
            std::_Exit(3);                                                                                   \
        }                                                                                                    \
    } while (0)
