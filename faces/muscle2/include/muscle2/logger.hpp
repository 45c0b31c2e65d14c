// The log of MUSCLE 2's calls in C++. Lines go into the run's log; formats are those of printf.
#ifndef LIGAMENT_MUSCLE2_LOGGER_HPP
#define LIGAMENT_MUSCLE2_LOGGER_HPP

#include <string>

#include "muscle_types.h"

namespace muscle {

class logger {
public:
    static void log_message(muscle_loglevel_t level, const char *message, ...);
    static void severe(const char *message, ...);
    static void severe(const std::string &message) { severe("%s", message.c_str()); }
    static void warning(const char *message, ...);
    static void warning(const std::string &message) { warning("%s", message.c_str()); }
    static void info(const char *message, ...);
    static void info(const std::string &message) { info("%s", message.c_str()); }
    static void config(const char *message, ...);
    static void config(const std::string &message) { config("%s", message.c_str()); }
    static void fine(const char *message, ...);
    static void fine(const std::string &message) { fine("%s", message.c_str()); }
    static void finer(const char *message, ...);
    static void finer(const std::string &message) { finer("%s", message.c_str()); }
    static void finest(const char *message, ...);
    static void finest(const std::string &message) { finest("%s", message.c_str()); }
};

}  // namespace muscle

#endif
