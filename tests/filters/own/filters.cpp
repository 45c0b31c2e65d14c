// A filter that a user wrote in C++, for test_own.py.
#include <cstdlib>
#include <ligament_filter.h>
#include <stdexcept>
#include <string>

extern "C" int scale(lig_filter *filter, const lig_filter_message *message) {
    return ligament::filtered(filter, [&] {
        if (message == nullptr) return;
        if (message->dtype != LIG_FLOAT64) throw std::invalid_argument("only float64 can be scaled");
        lig_filter_message scaled = *message;
        scaled.data = nullptr;
        auto *to = static_cast<double *>(filter->emit(filter, &scaled));
        for (std::uint64_t i = 0; to != nullptr && i < lig_filter_count(message); ++i) {
            to[i] = std::stod(filter->with) * static_cast<const double *>(message->data)[i];
        }
    });
}
