// Conduits between ports.
#ifndef LIGAMENT_FACE_YMMSL_MODEL_HPP
#define LIGAMENT_FACE_YMMSL_MODEL_HPP

#include "ymmsl/identity.hpp"

namespace ymmsl {

// A conduit from the port `component.port` to another one.
class Conduit {
public:
    Reference sender, receiver;

    // Throws std::invalid_argument if one of the texts names no port of a component.
    Conduit(std::string const &from, std::string const &to);

    // The conduit as text: "from -> to".
    explicit operator std::string() const;
    bool operator==(Conduit const &other) const {
        return sender == other.sender && receiver == other.receiver;
    }

    Reference sending_component() const;
    Identifier sending_port() const;
    // The numbers behind the port's name; empty if there are none.
    std::vector<int> sending_slot() const;
    Reference receiving_component() const;
    Identifier receiving_port() const;
    std::vector<int> receiving_slot() const;
};

}  // namespace ymmsl

#endif
