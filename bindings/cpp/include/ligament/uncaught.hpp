// Exceptions that nobody catches: they end the process without a destructor being run, so a handler tells the
// run why.
#ifndef LIGAMENT_UNCAUGHT_HPP
#define LIGAMENT_UNCAUGHT_HPP

#include <algorithm>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <typeinfo>
#include <vector>

#if __has_include(<cxxabi.h>)
#include <cxxabi.h>

#include <cstdlib>
#endif

#include "error.hpp"

namespace ligament {
namespace detail {

// A type's name as it is written in a program.
inline std::string name_of(const std::type_info &type) {
#if __has_include(<cxxabi.h>)
    int status = 0;
    const std::unique_ptr<char, void (*)(void *)> name(
        abi::__cxa_demangle(type.name(), nullptr, nullptr, &status), std::free);
    if (status == 0 && name) return name.get();
#endif
    return type.name();
}

// The exception in hand, such as "ligament::ClosedError: port \"in\" was closed …". Ask only where there is
// one.
inline std::string describe_exception() {
    try {
        throw;
    } catch (const std::exception &thrown) {
        return name_of(typeid(thrown)) + ": " + thrown.what();
    } catch (...) {
        return "an exception that is no std::exception";
    }
}

// The instances of this process, and the threads that made them. When an exception is caught by nobody, those
// of its thread end the run with its text; then what was to happen before happens: the previous handler is
// called.
class Uncaught {
public:
    static void watch(lig_instance *instance) {
        const std::lock_guard<std::mutex> lock(self().mutex_);
        self().watched_.push_back({instance, std::this_thread::get_id()});
    }

    static void forget(lig_instance *instance) noexcept {
        const std::lock_guard<std::mutex> lock(self().mutex_);
        auto &all = self().watched_;
        all.erase(std::remove_if(all.begin(), all.end(),
                                 [&](const Watched &one) { return one.instance == instance; }),
                  all.end());
    }

private:
    struct Watched {
        lig_instance *instance;
        std::thread::id maker;
    };

    Uncaught() : previous_(std::set_terminate(report)) {}

    static Uncaught &self() {
        static Uncaught *const only = new Uncaught();  // never destroyed: exceptions come late, too
        return *only;
    }

    [[noreturn]] static void report() {
        Uncaught &me = self();
        if (std::current_exception() && me.mutex_.try_lock()) {
            try {
                const std::string text = describe_exception();
                for (const Watched &one : me.watched_) {
                    if (one.maker != std::this_thread::get_id()) continue;  // it may be in a call of its own
                    if (lig_error_shutdown(one.instance, text.c_str(), nullptr) != LIG_OK) {
                        lig_error_shutdown(one.instance, "an exception whose text is not UTF-8", nullptr);
                    }
                }
            } catch (...) {  // no memory for the text: the process ends all the same
            }
        }
        if (me.previous_) me.previous_();
        std::abort();
    }

    std::mutex mutex_;
    std::vector<Watched> watched_;
    std::terminate_handler previous_;
};

}  // namespace detail
}  // namespace ligament

#endif
