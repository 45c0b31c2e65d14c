// The checks of the C++ test programs: macros that end the program with a line of text if a condition does not
// hold.
#ifndef CHECK_HPP
#define CHECK_HPP

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ligament/ligament.hpp>

// The condition holds.
#define HOLDS(...)                                                                  \
    do {                                                                            \
        if (!(__VA_ARGS__)) {                                                       \
            std::fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #__VA_ARGS__); \
            std::exit(1);                                                           \
        }                                                                           \
    } while (0)

// The call throws this exception, with these words in its text.
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
