// A code that ends by an exception that no code catches. Its argument chooses the kind of exception.
#include <sys/wait.h>
#include <unistd.h>

#include <iostream>
#include <thread>

#include "check.hpp"

namespace simulation {

struct Diverged : std::runtime_error {
    using std::runtime_error::runtime_error;
};

}  // namespace simulation

static void fail(const std::string &what) {
    if (what == "library") {
        const ligament::Value text("text");
        text.view().as<double>();
    }
    if (what == "standard" || what == "caught") throw std::out_of_range("cell 7 is not there");
    if (what == "own") throw simulation::Diverged("in step 3");
    if (what == "number") throw 42;
    if (what == "binary") throw std::runtime_error("\xff\xfe");
    if (what == "thread") std::thread([] { throw simulation::Diverged("in a thread"); }).join();
    if (what == "fork") {
        const pid_t child = fork();
        if (child == 0) throw simulation::Diverged("in a child");
        int status;
        HOLDS(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
    }
}

static void run(const std::string &what) {
    ligament::Instance instance;
    while (instance.reuse_instance()) {
        instance.send("out", 0.0, 1.0);
        instance.receive("in");
        fail(what);
    }
}

int main(int argc, char **argv) {
    HOLDS(argc == 2);
    std::set_terminate([] {
        std::cerr << "the handler before" << std::endl;
        std::abort();
    });
    const std::string what = argv[1];
    if (what != "caught") {
        run(what);
        return 0;
    }
    try {
        run(what);
    } catch (const std::exception &error) {
        std::cerr << "main says: " << error.what() << std::endl;
        return 1;
    }
}
