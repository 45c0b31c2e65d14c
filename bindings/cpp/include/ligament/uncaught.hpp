// Exceptions that no code catches end the process without running a destructor. A terminate handler reports
// them to the run as the reason for its end.
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

// Returns the name of a type as a program writes it.
inline std::string name_of(const std::type_info &type) {
#if __has_include(<cxxabi.h>)
    int status = 0;
    const std::unique_ptr<char, void (*)(void *)> name(
        abi::__cxa_demangle(type.name(), nullptr, nullptr, &status), std::free);
    if (status == 0 && name) return name.get();
#endif
    return type.name();
}

// Returns the text of the exception that is being handled, such as "ligament::ClosedError: port \"in\" was
// closed …". There must be one.
inline std::string describe_exception() {
    try {
        throw;
    } catch (const std::exception &thrown) {
        return name_of(typeid(thrown)) + ": " + thrown.what();
    } catch (...) {
        return "an exception that is no std::exception";
    }
}

// The instances of this process, and the threads that made them. If an exception is not caught, the instances
// of its thread end the run with the text of the exception. Then the previous handler is called.
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
        static Uncaught *const only = new Uncaught();  // never destroyed, because exceptions may come late
        return *only;
    }

    [[noreturn]] static void report() {
        Uncaught &me = self();
        if (std::current_exception() && me.mutex_.try_lock()) {
            try {
                const std::string text = describe_exception();
                for (const Watched &one : me.watched_) {
                    if (one.maker != std::this_thread::get_id()) continue;  // another thread may be using it
                    if (lig_error_shutdown(one.instance, text.c_str(), nullptr) != LIG_OK) {
                        lig_error_shutdown(one.instance, "an exception whose text is not UTF-8", nullptr);
                    }
                }
            } catch (...) {  // no memory for the text; the process ends anyway
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
