// Several threads take turns with one instance, and share the messages that arrive. Then they make calls at the
// same time.
#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

#include "check.hpp"

using ligament::Instance, ligament::Message, ligament::UsageError;

int main() {
    constexpr std::size_t rounds = 300, length = 3000;
    Instance instance;
    std::mutex turns;  // the turn to use the instance and the counters below
    std::condition_variable more;
    std::deque<std::shared_ptr<const Message>> come[2];

    // Each thread reads every message. The last one frees it, which returns its memory to the instance.
    const auto reads = [&](std::size_t reader) {
        for (std::size_t round = 0; round < rounds; ++round) {
            std::unique_lock<std::mutex> lock(turns);
            more.wait(lock, [&] { return !come[reader].empty(); });
            const auto message = std::move(come[reader].front());
            come[reader].pop_front();
            lock.unlock();
            const auto view = message->array<double>();
            HOLDS(view.size() == length && message->timestamp() == static_cast<double>(round));
            for (const double element : view) HOLDS(element == static_cast<double>(round));
            const ligament::Value kept = message->data().copy();
            HOLDS(kept.view().array<double>().size() == length);
        }
    };
    std::thread first(reads, 0u), second(reads, 1u);
    std::thread asks([&] {
        for (std::size_t i = 0; i < rounds; ++i) {
            const std::lock_guard<std::mutex> lock(turns);
            HOLDS(instance.is_connected("out") && instance.name() == "macro");
        }
    });
    for (std::size_t round = 0; round < rounds; ++round) {
        const std::lock_guard<std::mutex> lock(turns);
        instance.send("out", static_cast<double>(round),
                      std::vector<double>(length, static_cast<double>(round)));
        const auto message = std::make_shared<const Message>(instance.receive("in"));
        for (auto &queue : come) queue.push_back(message);
        more.notify_all();
    }
    first.join(), second.join(), asks.join();

    // Without turns: one thread waits, and the calls of all others are refused.
    std::atomic<bool> enough{false};
    instance.set_interrupt_check([](void *user) { return static_cast<std::atomic<bool> *>(user)->load(); },
                                 &enough);
    std::thread waits([&] {
        while (true) {
            try {
                instance.receive("in");
            } catch (const UsageError &) {  // this call was refused itself
                continue;
            } catch (const ligament::InterruptedError &) {
                return;
            }
        }
    });
    while (true) {
        try {
            instance.poll("in");
        } catch (const UsageError &error) {
            HOLDS(std::strstr(error.what(), "in the middle of another call: lig_receive"));
            break;
        }
    }
    throws<UsageError>("the instance is in the middle of another call: lig_receive of thread",
                       [&] { instance.send("out", 0.0, 1); });
    enough = true;
    waits.join();
    HOLDS(!instance.poll("in"));
}
