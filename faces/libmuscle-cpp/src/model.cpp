// Operators and conduits.
#include "ymmsl/model.hpp"

#include <stdexcept>

#include "ymmsl/component.hpp"

namespace ymmsl {

namespace {

struct OperatorName {
    Operator op;
    char const *name;
};

constexpr OperatorName OPERATORS[] = {{Operator::NONE, "NONE"},
                                      {Operator::F_INIT, "F_INIT"},
                                      {Operator::O_I, "O_I"},
                                      {Operator::S, "S"},
                                      {Operator::O_F, "O_F"}};

// The parts of the end of a conduit: the component, the port, and the numbers behind it.
struct End {
    Reference::const_iterator port;
    std::vector<int> slot;
};

End read_end(Reference const &reference) {
    End end{reference.end(), {}};
    for (--end.port; end.port->is_index(); --end.port) end.slot.insert(end.slot.begin(), end.port->index());
    return end;
}

Reference component_of(Reference const &reference) {
    return Reference(reference.begin(), read_end(reference).port);
}

void check(Reference const &reference) {
    if (read_end(reference).port == reference.begin()) {
        throw std::invalid_argument("the end \"" + static_cast<std::string>(reference) +
                                    "\" of a conduit names a component and a port: \"macro.out\"");
    }
}

}  // namespace

bool allows_sending(Operator op) {
    return op == Operator::NONE || op == Operator::O_I || op == Operator::O_F;
}

bool allows_receiving(Operator op) {
    return op == Operator::NONE || op == Operator::F_INIT || op == Operator::S;
}

std::string operator_name(Operator op) {
    for (OperatorName const &one : OPERATORS) {
        if (one.op == op) return one.name;
    }
    throw std::out_of_range("there is no operator " + std::to_string(static_cast<int>(op)));
}

Operator operator_for_name(std::string name) {
    for (OperatorName const &one : OPERATORS) {
        if (one.name == name) return one.op;
    }
    throw std::out_of_range("there is no operator \"" + name +
                            "\"; it is one of NONE, F_INIT, O_I, S and O_F");
}

Conduit::Conduit(std::string const &from, std::string const &to) : sender(from), receiver(to) {
    check(sender);
    check(receiver);
}

Conduit::operator std::string() const {
    return static_cast<std::string>(sender) + " -> " + static_cast<std::string>(receiver);
}

Reference Conduit::sending_component() const { return component_of(sender); }
Identifier Conduit::sending_port() const { return read_end(sender).port->identifier(); }
std::vector<int> Conduit::sending_slot() const { return read_end(sender).slot; }
Reference Conduit::receiving_component() const { return component_of(receiver); }
Identifier Conduit::receiving_port() const { return read_end(receiver).port->identifier(); }
std::vector<int> Conduit::receiving_slot() const { return read_end(receiver).slot; }

}  // namespace ymmsl
