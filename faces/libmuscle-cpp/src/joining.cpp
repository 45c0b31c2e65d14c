// Joining a run by hand: `ligament join` says which variables the instance needs.
#include "joining.hpp"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

namespace libmuscle {
namespace face {

namespace {

constexpr int NOT_FOUND = 127;  // the exit status of a shell for a command that is not there

// The value of `--NAME=VALUE`, or of the environment's variable; empty if there is neither.
std::string option(int argc, char const *const argv[], std::string const &name, char const *variable) {
    std::string const start = "--" + name + "=";
    for (int i = 1; i < argc; ++i) {
        std::string const word = argv[i];
        if (word.compare(0, start.size(), start) == 0) return word.substr(start.size());
    }
    char const *value = std::getenv(variable);
    return value ? value : "";
}

// The output of a command, standard error too. Throws std::runtime_error if the command fails.
std::string output_of(std::vector<char const *> command) {
    int ends[2];
    if (pipe(ends) != 0) throw std::runtime_error("there is no pipe to be had");
    command.push_back(nullptr);
    pid_t const child = fork();
    if (child < 0) throw std::runtime_error("there is no process to be had for `ligament join`");
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        execvp(command[0], const_cast<char *const *>(command.data()));
        _exit(NOT_FOUND);
    }
    close(ends[1]);
    std::string text;
    char buffer[4096];
    for (ssize_t got = 1; got != 0;) {
        got = read(ends[0], buffer, sizeof buffer);
        if (got > 0) text.append(buffer, static_cast<std::size_t>(got));
        if (got < 0 && errno != EINTR) break;
    }
    close(ends[0]);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return text;
    if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_FOUND) text = "PATH has no command `ligament`";
    throw std::runtime_error(text);
}

// The words of shell lines, without their quotes.
std::vector<std::string> words_of(std::string const &text) {
    std::vector<std::string> words;
    std::string word;
    char quote = 0;
    bool begun = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        char const c = text[i];
        bool const space = quote == 0 && (c == ' ' || c == '\n');
        if (space && begun) words.push_back(word);
        if (space) {
            word.clear();
            begun = false;
            continue;
        }
        begun = true;
        if (quote != 0 && c == quote) quote = 0;
        else if (quote == 0 && (c == '\'' || c == '"')) quote = c;
        else if (quote != '\'' && c == '\\' && i + 1 < text.size()) word += text[++i];
        else word += c;
    }
    if (begun) words.push_back(word);
    return words;
}

}  // namespace

void join_by_hand(int argc, char const *const argv[]) {
    if (std::getenv("LIGAMENT_INSTANCE")) return;
    std::string const instance = option(argc, argv, "muscle-instance", "MUSCLE_INSTANCE");
    if (instance.empty()) {
        throw std::runtime_error(
            "this program does not know which instance it is: start it by `ligament run MODEL` or "
            "`muscle_manager --start-all MODEL`, or say --muscle-instance=NAME or MUSCLE_INSTANCE=NAME");
    }
    std::string const run = option(argc, argv, "muscle-manager", "MUSCLE_MANAGER");
    std::string const of = "instance " + instance + ": ";
    if (run.empty() || run.compare(0, 4, "tcp:") == 0) {
        throw std::runtime_error(of + (run.empty() ? "nothing says where the run is"
                                                   : run + " is an address of MUSCLE 3's manager") +
                                 "; say --muscle-manager=DIRECTORY or MUSCLE_MANAGER=DIRECTORY, with the "
                                 "directory of the run");
    }
    struct stat what;
    if (stat(run.c_str(), &what) != 0 || !S_ISDIR(what.st_mode)) {
        throw std::runtime_error(of + "the run directory " + run + " does not exist (MUSCLE_MANAGER)");
    }
    std::string answer;
    try {
        answer = output_of({"ligament", "join", run.c_str(), instance.c_str()});
    } catch (std::runtime_error const &failure) {
        throw std::runtime_error(of + "it cannot join " + run + ": " + failure.what());
    }
    for (std::string const &word : words_of(answer)) {
        std::size_t const equals = word.find('=');
        if (equals == std::string::npos) continue;  // "export"
        setenv(word.substr(0, equals).c_str(), word.c_str() + equals + 1, 1);
    }
}

}  // namespace face
}  // namespace libmuscle
