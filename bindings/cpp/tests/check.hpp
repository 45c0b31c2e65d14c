// The checks that the C++ test programs share: statements that end the program with a line when they do not
// hold.
#ifndef CHECK_HPP
#define CHECK_HPP

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ligament/ligament.hpp>

// A condition holds.
#define HOLDS(...)                                                                  \
    do {                                                                            \
        if (!(__VA_ARGS__)) {                                                       \
            std::fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #__VA_ARGS__); \
            std::exit(1);                                                           \
        }                                                                           \
    } while (0)

// A call throws this, with these words in its text.
template <class Thrown, class Function>
void throws(const char *words, Function function) {
    try {
        function();
    } catch (const Thrown &error) {
        if (std::strstr(error.what(), words)) return;
        std::fprintf(stderr, "\"%s\" does not say \"%s\"\n", error.what(), words);
        std::exit(1);
    }
    std::fprintf(stderr, "what should say \"%s\" was not thrown\n", words);
    std::exit(1);
}

#endif
