// Exchanges that MPW_ISendRecv has begun, each in a thread of its own.

#pragma once

#include "transfer.hpp"

#include <map>
#include <memory>
#include <mutex>

namespace mpwide {

class Background {
  public:
    // Begins an exchange, and gives its number.
    int begin(std::unique_ptr<Transfer> transfer, std::vector<Piece> sends, std::vector<Piece> receives);
    bool has_ended(int number);
    // Waits for the end, and forgets the exchange. Throws the `Failure` with which it has ended.
    void end(int number);
    // Waits for the end of all; their failures are dropped.
    void end_all();

  private:
    struct Exchange;
    std::shared_ptr<Exchange> known(int number);

    std::mutex mutex;
    std::map<int, std::shared_ptr<Exchange>> exchanges;
    int next = 0;
};

}  // namespace mpwide
