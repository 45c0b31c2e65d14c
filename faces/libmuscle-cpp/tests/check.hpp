// Checks of the test programs: each that fails prints its line, and the program's status is then 1.
#ifndef CHECK_HPP
#define CHECK_HPP

#include <iostream>
#include <string>

static int failures = 0;

#define CHECK(condition)                                                                 \
    do {                                                                                 \
        if (!(condition)) {                                                              \
            std::cout << __FILE__ << ":" << __LINE__ << ": not so: " #condition << "\n"; \
            ++failures;                                                                  \
        }                                                                                \
    } while (false)

// The expression throws `Kind`, and the text has `words` in it.
#define CHECK_THROWS(expression, Kind, words)                                                             \
    do {                                                                                                  \
        std::string text_of_it = "nothing was thrown";                                                    \
        try {                                                                                             \
            (void)(expression);                                                                           \
        } catch (Kind const &thrown) {                                                                    \
            text_of_it = thrown.what();                                                                   \
        } catch (std::exception const &thrown) {                                                          \
            text_of_it = std::string("another kind was thrown; ") + typeid(thrown).name();                \
        }                                                                                                 \
        if (text_of_it.find(words) == std::string::npos) {                                                \
            std::cout << __FILE__ << ":" << __LINE__ << ": " #expression ": " << text_of_it << "\n";      \
            ++failures;                                                                                   \
        }                                                                                                 \
    } while (false)

#endif
