// The mapper: one function that makes messages from the messages of one pass.
#ifndef LIGAMENT_MAPPER_HPP
#define LIGAMENT_MAPPER_HPP

#include <algorithm>
#include <set>

#include "submodel.hpp"

namespace ligament {

namespace detail {

// The connected ports of an operator.
inline std::vector<std::string> connected(const Instance &instance, Operator op) {
    std::vector<std::string> found;
    Ports ports = instance.list_ports();
    for (const std::string &port : ports[op]) {
        if (instance.is_connected(port)) found.push_back(port);
    }
    return found;
}

}  // namespace detail

// The messages of one pass, on all connected F_INIT ports.
class Inputs {
public:
    // The message of a port without slots. Throws UsageError if nothing is connected to it, or if it is a
    // vector port.
    const Message &at(const std::string &port) const {
        const Input &input = find(port);
        if (input.is_vector)
            throw UsageError("port \"" + port + "\" is a vector port: ask slots() for its messages");
        return input.messages.front();
    }
    const Message &operator[](const std::string &port) const { return at(port); }

    // The messages of the slots of a port; one for a port without slots. Throws UsageError if nothing is
    // connected to it.
    const std::vector<Message> &slots(const std::string &port) const { return find(port).messages; }

    // The times of a message that is made from these: the latest timestamp and the earliest next timestamp; 0
    // and none if there are no messages.
    Times times() const {
        std::optional<double> latest, next;
        for (const auto &input : inputs_) {
            for (const Message &message : input.second.messages) {
                latest = std::max(latest.value_or(message.timestamp()), message.timestamp());
                if (message.has_next_timestamp()) {
                    next = std::min(next.value_or(message.next_timestamp()), message.next_timestamp());
                }
            }
        }
        const double timestamp = latest.value_or(0.0);
        if (next && *next < timestamp) next.reset();
        return Times(timestamp, next);
    }

private:
    friend class Mapper;
    struct Input {
        bool is_vector;
        std::vector<Message> messages;
    };

    void receive(Instance &instance) {
        inputs_.clear();
        for (const std::string &port : detail::connected(instance, Operator::F_INIT)) {
            Input &input = inputs_[port];
            input.is_vector = instance.is_vector_port(port);
            if (!input.is_vector) {
                input.messages.push_back(instance.receive(port));
                continue;
            }
            const std::size_t slots = instance.get_port_length(port);
            for (std::size_t slot = 0; slot < slots; ++slot)
                input.messages.push_back(instance.receive(port, slot));
        }
    }

    const Input &find(const std::string &port) const {
        const auto found = inputs_.find(port);
        if (found == inputs_.end()) {
            throw UsageError("nothing is connected to port \"" + port +
                             "\", so nothing came on it; connect it in the model");
        }
        return found->second;
    }

    std::map<std::string, Input> inputs_;
};

// The O_F ports, on which the messages of a pass are sent.
class Outputs {
public:
    // Sends data at the times of the pass. The data is as for Instance::send, or a loan, or a message, whose
    // value is sent. Does nothing if the port is not connected.
    template <class Data>
    void send(const std::string &port, Data &&data, Slot slot = {}) {
        if constexpr (std::is_same_v<std::decay_t<Data>, Message>) {
            instance_.send(port, times_, data.data(), slot);
        } else {
            instance_.send(port, times_, std::forward<Data>(data), slot);
        }
        sent_.emplace(port, slot.given() ? static_cast<std::int64_t>(slot.number()) : -1);
    }

    // Does the same for a list of elements.
    template <class T>
    void send(const std::string &port, std::initializer_list<T> elements, Slot slot = {}) {
        send(port, ArrayRef<const T>(elements.begin(), {elements.size()}), slot);
    }

    // The number of slots of a vector port.
    std::size_t slots(const std::string &port) const { return instance_.get_port_length(port); }
    // The times of the messages that are sent.
    const Times &times() const noexcept { return times_; }
    // The instance, for settings, loans, the log, and the length of a port.
    Instance &instance() noexcept { return instance_; }

private:
    friend class Mapper;
    Outputs(Instance &instance, Times times) : instance_(instance), times_(times) {}

    // Fails if a port or slot has no message.
    void check() const {
        for (const std::string &port : detail::connected(instance_, Operator::O_F)) {
            if (!instance_.is_vector_port(port)) {
                if (!sent_.count({port, -1})) incomplete(port, "");
                continue;
            }
            const std::size_t slots = instance_.get_port_length(port);
            for (std::size_t slot = 0; slot < slots; ++slot) {
                if (!sent_.count({port, static_cast<std::int64_t>(slot)}))
                    incomplete(port, " slot " + std::to_string(slot));
            }
        }
    }

    [[noreturn]] static void incomplete(const std::string &port, const std::string &slot) {
        throw UsageError(
            "the mapper made no message for port \"" + port + "\"" + slot +
            "; it makes one for each slot of each port that is connected (ligament explain mapper-incomplete)");
    }

    Instance &instance_;
    Times times_;
    std::set<std::pair<std::string, std::int64_t>> sent_;
};

// A mapper is between submodels: it makes the messages on its O_F ports from those on its F_INIT ports. Extend
// it with the ports and with map(). This class does the reuse loop, times, settings overlays and slots. A
// mapper is a submodel, so run_light also takes it.
class Mapper : public Submodel {
public:
    // A mapper with the ports of the model.
    Mapper() = default;
    // A mapper with the ports of this code, which must fit the model's: those that receive and those that send.
    // "name[]" is a vector port.
    Mapper(std::vector<std::string> inputs, std::vector<std::string> outputs)
        : ports_(Ports{{Operator::F_INIT, std::move(inputs)}, {Operator::O_F, std::move(outputs)}}) {}

    // The flags of the instance. A run with checkpoints needs to know what the mapper keeps from one pass to
    // the next; a mapper that keeps something extends SubmodelState, too.
    virtual Flags flags() const { return Flags::none; }
    // Makes the messages of a pass. It must send one on each slot of each connected port.
    virtual void map(const Inputs &inputs, Outputs &outputs) = 0;

    void initialise(Instance &instance) final { inputs_.receive(instance); }
    bool is_done() final { return true; }
    void observe(Instance &) final {}
    void solve(Instance &) final {}
    void observe_final(Instance &instance) final {
        const Inputs inputs = std::exchange(inputs_, Inputs());
        Outputs outputs(instance, inputs.times());
        map(inputs, outputs);
        outputs.check();
    }

    // The ports by operator; none if those of the model are used.
    const std::optional<Ports> &ports() const noexcept { return ports_; }

private:
    std::optional<Ports> ports_;
    Inputs inputs_;
};

// Joins the run as a mapper, and maps as long as messages come. An exception of map() ends the run, and is
// thrown again.
inline void run_mapper(Mapper &mapper) {
    Instance instance =
        mapper.ports() ? Instance(*mapper.ports(), mapper.flags()) : Instance::with_flags(mapper.flags());
    run_submodel(instance, mapper);
}

}  // namespace ligament

#endif
