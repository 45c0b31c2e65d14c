// Exchanges in threads of their own: see background.hpp.

#include "background.hpp"

#include "failure.hpp"

#include <atomic>
#include <cerrno>
#include <optional>
#include <thread>

namespace mpwide {

struct Background::Exchange {
    std::thread thread;
    std::atomic<bool> ended{false};
    // Written before `ended` is true.
    std::optional<Failure> failure;
};

int Background::begin(std::unique_ptr<Transfer> transfer, std::vector<Piece> sends,
                      std::vector<Piece> receives) {
    const auto exchange = std::make_shared<Exchange>();
    const std::lock_guard<std::mutex> lock(mutex);
    exchange->thread = std::thread([exchange, transfer = std::move(transfer), sends = std::move(sends),
                                    receives = std::move(receives)]() mutable {
        try {
            transfer->run(sends, receives);
        } catch (const Failure &failure) {
            exchange->failure = failure;
        }
        // The next call on the same streams goes on before this one is said to be over.
        transfer.reset();
        exchange->ended = true;
    });
    exchanges[next] = exchange;
    return next++;
}

std::shared_ptr<Background::Exchange> Background::known(int number) {
    const std::lock_guard<std::mutex> lock(mutex);
    const auto found = exchanges.find(number);
    if (found == exchanges.end())
        throw Failure{-EINVAL, "there is no exchange " + std::to_string(number) +
                                   "; MPW_ISendRecv gives the number of one, and MPW_Wait ends it"};
    return found->second;
}

bool Background::has_ended(int number) { return known(number)->ended; }

void Background::end(int number) {
    const std::shared_ptr<Exchange> exchange = known(number);
    {
        const std::lock_guard<std::mutex> lock(mutex);
        if (exchanges.erase(number) == 0)
            throw Failure{-EINVAL, "another thread waits for exchange " + std::to_string(number)};
    }
    exchange->thread.join();
    if (exchange->failure) throw Failure(*exchange->failure);
}

void Background::end_all() {
    std::map<int, std::shared_ptr<Exchange>> all;
    {
        const std::lock_guard<std::mutex> lock(mutex);
        all.swap(exchanges);
    }
    for (auto &[number, exchange] : all) exchange->thread.join();
}

}  // namespace mpwide
