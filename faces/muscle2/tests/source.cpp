// A source in C++: sends messages of each type for as long as MUSCLE says, and takes answers.
#include <cppmuscle.hpp>
#include <cstdint>
#include <cstdio>
#include <iostream>

int main(int argc, char **argv) {
    muscle::env::init(&argc, &argv);
    std::cout << muscle::cxa::kernel_name() << " " << muscle::cxa::get_property("dt") << " "
              << muscle::cxa::get_property("cell-size") << " " << muscle::cxa::has_property("nothing") << " "
              << muscle::cxa::get_property("is_wet") << std::endl;
    muscle::logger::info("step %d of %s", 1, "source");
    muscle::logger::log_message(MUSCLE_LOG_SEVERE, "severe");
    muscle::logger::warning(std::string("100 % wet"));
    muscle::logger::config("config");
    muscle::logger::fine("fine");
    muscle::logger::finer("finer");
    muscle::logger::finest("finest");
    int step = 0;
    for (; !muscle::env::will_stop(); ++step) {
        muscle::env::sendDoubleVector("level-out", {1.0 * step, 0.5});
        const std::vector<double> answer = muscle::env::receiveDoubleVector("answer");
        std::cout << answer.size() << ":" << answer[0] << std::endl;
    }
    const float floats[] = {1.5f, -2.5f};
    muscle::env::send("floats", floats, 2, MUSCLE_FLOAT);
    const std::int32_t ints[] = {1, 2, 3};
    muscle::env::send("ints", ints, 3, MUSCLE_INT32);
    const std::int64_t longs[] = {INT64_MIN, INT64_MAX};
    muscle::env::send("longs", longs, 2, MUSCLE_INT64);
    const bool truths[] = {true, false};
    muscle::env::send("truths", truths, 2, MUSCLE_BOOLEAN);
    muscle::env::send("text", "h\xc3\xb6he", 6, MUSCLE_STRING);
    muscle::env::send("raw", "\0\1\2", 3, MUSCLE_RAW);
    const bool is_own = muscle::env::get_tmp_path().find("source") != std::string::npos;
    const bool is_listed = muscle::cxa::get_properties().find("max_timesteps = 2 s\n") != std::string::npos;
    std::cout << step << " steps " << is_own << is_listed << std::endl;
    muscle::env::finalize();
}
