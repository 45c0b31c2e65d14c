// Calls that fail, each in its kind of error. The first argument names the mistake.
#include <cmuscle.h>
#include <cppmuscle.hpp>
#include <iostream>

extern "C" void muscle_receive_(const char *, void *, int *, muscle_datatype_t *, size_t);
extern "C" void muscle_get_property_(const char *, char *, size_t, size_t);

// Texts of Fortran that are too short: a setting is cut, with a line in the log, and a message is refused.
static void short_texts() {
    char text[] = "......";
    muscle_get_property_("colour", text, 6, 3);
    std::cout << text << std::endl;
    muscle::env::send("out", "green", 6, MUSCLE_STRING);
    int size = 3;
    muscle_datatype_t type = MUSCLE_STRING;
    muscle_receive_("in", text, &size, &type, 2);
}

int main(int argc, char **argv) {
    const std::string mistake = argc > 1 ? argv[1] : "";
    try {
        if (mistake == "early") muscle::env::will_stop();
        muscle::env::init(&argc, &argv);
        size_t count = 1;
        double room[2] = {1.0, 2.0};
        if (mistake == "twice") muscle::env::init(&argc, &argv);
        if (mistake == "setting") muscle::cxa::get_property("colour");
        if (mistake == "dt") muscle::env::will_stop();
        if (mistake == "complex") muscle::env::send("out", room, 2, MUSCLE_COMPLEX);
        if (mistake == "port") muscle::env::send("aut", room, 2, MUSCLE_DOUBLE);
        if (mistake == "short") short_texts();
        if (mistake == "c") MUSCLE_Get_Property("colour");
        muscle::env::send("out", room, 2, MUSCLE_DOUBLE);
        std::cout << "next " << muscle::env::has_next("in") << std::endl;
        if (mistake == "type") muscle::env::receive("in", nullptr, count, MUSCLE_STRING);
        if (mistake == "room") muscle::env::receive("in", room, count, MUSCLE_DOUBLE);
        muscle::env::finalize();
        if (mistake == "late") muscle::env::finalize();
        std::cout << "no mistake" << std::endl;
    } catch (const muscle::muscle_exception &error) {
        std::cout << "muscle_exception: " << error.what() << std::endl;
        return 0;
    }
}
