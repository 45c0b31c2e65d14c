// MUSCLE 2's calls in C++. A call that fails throws muscle_exception.
#ifndef LIGAMENT_MUSCLE2_CPP_HPP
#define LIGAMENT_MUSCLE2_CPP_HPP

#include <sys/types.h>

#include <string>
#include <vector>

#include "exception.hpp"
#include "logger.hpp"
#include "muscle_types.h"

namespace muscle {

class env {
public:
    // Joins the run.
    static muscle_error_t init(int *argc, char ***argv);
    // Ends all conduits on which this instance sends, and leaves the run.
    static void finalize();

    // True if the model time has reached the end of the instance: its T, or max_timesteps if that is earlier.
    static bool will_stop();

    // Sends `count` elements. A text (MUSCLE_STRING) ends with a NUL, and `count` is not used.
    static void send(std::string entrance_name, const void *data, size_t count, muscle_datatype_t type);
    static void sendDoubleVector(std::string entrance_name, const std::vector<double> &data);

    // Receives into `data`, which has room for `count` elements, or into memory that free_data frees if `data`
    // is null. `count` becomes the number of elements. Returns the memory with the elements.
    static void *receive(std::string exit_name, void *data, size_t &count, muscle_datatype_t type);
    static std::vector<double> receiveDoubleVector(std::string exit_name);

    static void free_data(void *data, muscle_datatype_t type);

    // The directory in which the instance runs.
    static std::string get_tmp_path();
    // Waits until a message has arrived, or the conduit has ended. True if there is a message.
    static bool has_next(std::string exit_name);
    // False for ranks of MPI other than 0: their calls of send and receive do nothing.
    static bool is_main_processor;
};

class cxa {
public:
    // The name of the instance.
    static std::string kernel_name();
    // A setting as a text.
    static std::string get_property(std::string name);
    static bool has_property(std::string name);
    // All settings: `name = value`, one in each line.
    static std::string get_properties();
};

}  // namespace muscle

#endif
