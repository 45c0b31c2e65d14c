// MUSCLE 2's calls in C and Fortran over those in C++. An error ends the run with its text, because most of
// these calls return none.
#include "muscle2/cmuscle.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <list>

#include "muscle2/cppmuscle.hpp"
#include "session.hpp"

namespace {

// Exit status of MUSCLE 2 for an error of a native instance.
constexpr int FATAL_STATUS = 3;

// Texts that were returned. They stay valid until MUSCLE_Finalize.
std::list<std::string> texts;

[[noreturn]] void fail(const char *call, const std::exception &error) {
    const std::string why = std::string(call) + ": " + error.what();
    std::fprintf(stderr, "%s\n", why.c_str());
    std::fflush(nullptr);
    if (muscle::Session::slot()) {
        try {
            muscle::Session::slot()->instance.error_shutdown(why);
        } catch (const std::exception &) {
            // The run ends already. The exit status says that this instance has failed.
        }
    }
    std::_Exit(FATAL_STATUS);
}

template <class Work>
auto ending(const char *call, Work &&work) -> decltype(work()) {
    try {
        return work();
    } catch (const std::exception &error) {
        fail(call, error);
    }
}

const char *kept(std::string text) { return texts.emplace_back(std::move(text)).c_str(); }

// Returns a text of Fortran without the blanks at its end.
std::string from_fortran(const char *text, size_t length) {
    std::string made(text, strnlen(text, length));
    made.erase(made.find_last_not_of(' ') + 1);
    return made;
}

// Writes a text of Fortran: cut at its length, and filled with blanks. A text that is cut is an error in the
// log, as in MUSCLE 2.
void to_fortran(const char *what, const std::string &text, char *to, size_t length) {
    if (text.size() > length) {
        muscle::logger::severe("%s is \"%s\" with %zu characters, and is cut to %zu; give a longer text", what,
                               text.c_str(), text.size(), length);
    }
    const size_t count = text.size() < length ? text.size() : length;
    std::memcpy(to, text.data(), count);
    std::memset(to + count, ' ', length - count);
}

}  // namespace

extern "C" {

muscle_error_t MUSCLE_Init(int *argc, char ***argv) {
    return ending("MUSCLE_Init", [&] { return muscle::env::init(argc, argv); });
}

void MUSCLE_Finalize(void) {
    ending("MUSCLE_Finalize", [] { muscle::env::finalize(); });
    texts.clear();
}

const char *MUSCLE_Kernel_Name(void) {
    return ending("MUSCLE_Kernel_Name", [] { return kept(muscle::cxa::kernel_name()); });
}

const char *MUSCLE_Get_Property(const char *name) {
    return ending("MUSCLE_Get_Property", [&] { return kept(muscle::cxa::get_property(name)); });
}

int MUSCLE_Has_Property(const char *name) {
    return ending("MUSCLE_Has_Property", [&] { return muscle::cxa::has_property(name) ? 1 : 0; });
}

int MUSCLE_Will_Stop(void) {
    return ending("MUSCLE_Will_Stop", [] { return muscle::env::will_stop() ? 1 : 0; });
}

muscle_error_t MUSCLE_Send(const char *exit_name, void *array, size_t size, muscle_datatype_t type) {
    ending("MUSCLE_Send", [&] { muscle::env::send(exit_name, array, size, type); });
    return MUSCLE_SUCCESS;
}

void *MUSCLE_Receive(const char *entrance_name, void *array, size_t *size, muscle_datatype_t type) {
    return ending("MUSCLE_Receive", [&] { return muscle::env::receive(entrance_name, array, *size, type); });
}

void MUSCLE_Free(void *array, muscle_datatype_t type) { muscle::env::free_data(array, type); }

void muscle_init_(int *argc, char *, size_t) {
    ending("muscle_init", [&] { muscle::env::init(argc, nullptr); });
}

void muscle_finalize_(void) {
    ending("muscle_finalize", [] { muscle::env::finalize(); });
}

void muscle_kernel_name_(char *result, size_t length) {
    ending("muscle_kernel_name",
           [&] { to_fortran("the name of the instance", muscle::cxa::kernel_name(), result, length); });
}

void muscle_get_property_(const char *name, char *result, size_t name_length, size_t length) {
    ending("muscle_get_property", [&] {
        const std::string setting = from_fortran(name, name_length);
        to_fortran(("the setting " + setting).c_str(), muscle::cxa::get_property(setting), result, length);
    });
}

void muscle_has_property_(const char *name, int *result, size_t length) {
    ending("muscle_has_property",
           [&] { *result = muscle::cxa::has_property(from_fortran(name, length)) ? 1 : 0; });
}

void muscle_will_stop_(int *result) {
    ending("muscle_will_stop", [&] { *result = muscle::env::will_stop() ? 1 : 0; });
}

// A text is sent with its length, because it has no NUL.
void muscle_send_(const char *port, void *array, int *size, muscle_datatype_t *type, size_t length) {
    ending("muscle_send", [&] {
        if (*size < 0) throw muscle::muscle_exception("the number of elements is below 0");
        const auto count = static_cast<size_t>(*size);
        if (*type == MUSCLE_STRING) {
            const std::string text = from_fortran(static_cast<const char *>(array), count);
            return muscle::env::send(from_fortran(port, length), text.c_str(), text.size() + 1, *type);
        }
        muscle::env::send(from_fortran(port, length), array, count, *type);
    });
}

// `size` is the room for elements, and becomes their number.
void muscle_receive_(const char *port, void *array, int *size, muscle_datatype_t *type, size_t length) {
    ending("muscle_receive", [&] {
        if (*size < 0) throw muscle::muscle_exception("the room for elements is below 0");
        auto count = static_cast<size_t>(*size);
        if (*type == MUSCLE_STRING) {
            size_t found = 0;
            void *data = muscle::env::receive(from_fortran(port, length), nullptr, found, *type);
            if (data == nullptr) return;
            const std::string text(static_cast<char *>(data), found - 1);
            muscle::env::free_data(data, *type);
            if (text.size() > count) {
                throw muscle::muscle_exception("the message on port " + from_fortran(port, length) + " has " +
                                               std::to_string(text.size()) +
                                               " characters, and there is room for " +
                                               std::to_string(count) + "; give more room");
            }
            to_fortran("a text", text, static_cast<char *>(array), count);
            *size = static_cast<int>(text.size());
            return;
        }
        muscle::env::receive(from_fortran(port, length), array, count, *type);
        *size = static_cast<int>(count);
    });
}

}  // extern "C"
