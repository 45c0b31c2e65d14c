// Messages.
#include "libmuscle/message.hpp"

#include <stdexcept>
#include <utility>

namespace libmuscle {

Message::Message(double timestamp) : timestamp_(timestamp) {}
Message::Message(double timestamp, DataConstRef const &data) : timestamp_(timestamp), data_(data) {}
Message::Message(double timestamp, double next_timestamp, DataConstRef const &data)
    : timestamp_(timestamp), next_timestamp_(next_timestamp), data_(data) {}
Message::Message(double timestamp, DataConstRef const &data, ymmsl::Settings const &settings)
    : timestamp_(timestamp), data_(data), settings_(settings) {}
Message::Message(double timestamp, double next_timestamp, DataConstRef const &data,
                 ymmsl::Settings const &settings)
    : timestamp_(timestamp), next_timestamp_(next_timestamp), data_(data), settings_(settings) {}

Message &Message::operator=(Message const &other) {
    timestamp_ = other.timestamp_;
    next_timestamp_ = other.next_timestamp_;
    data_.reseat(other.data_);
    settings_ = other.settings_;
    return *this;
}

Message &Message::operator=(Message &&other) { return *this = std::as_const(other); }

double Message::next_timestamp() const {
    if (!has_next_timestamp()) {
        throw std::logic_error("the message has no next timestamp; ask has_next_timestamp() first");
    }
    return next_timestamp_.get();
}

ymmsl::Settings const &Message::settings() const {
    if (!has_settings()) throw std::logic_error("the message has no settings; ask has_settings() first");
    return settings_.get();
}

}  // namespace libmuscle
