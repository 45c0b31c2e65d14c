// The error and the texts of a thread's last call, as the modules ask for them.
#include "calls.hpp"

namespace face_fortran {

Outcome &outcome() {
    thread_local Outcome now;
    return now;
}

}  // namespace face_fortran

using face_fortran::outcome;

extern "C" {

int ligament_face_error() { return outcome().code; }

std::size_t ligament_face_error_size() { return outcome().error.size(); }
std::size_t ligament_face_text_size() { return outcome().text.size(); }
std::size_t ligament_face_texts() { return outcome().texts.size(); }

// The length of the longest of the texts.
std::size_t ligament_face_texts_size() {
    std::size_t size = 0;
    for (std::string const &text : outcome().texts) size = std::max(size, text.size());
    return size;
}

// Each copies a text into an array of its size.
void ligament_face_copy_error(char *array) {
    std::copy(outcome().error.begin(), outcome().error.end(), array);
}
void ligament_face_copy_text(char *array) { std::copy(outcome().text.begin(), outcome().text.end(), array); }

// Copies the texts one after the other, each with blanks to the length of the longest.
void ligament_face_copy_texts(char *array) {
    std::size_t const size = ligament_face_texts_size();
    for (std::string const &text : outcome().texts) {
        std::fill(std::copy(text.begin(), text.end(), array), array + size, ' ');
        array += size;
    }
}

}  // extern "C"
