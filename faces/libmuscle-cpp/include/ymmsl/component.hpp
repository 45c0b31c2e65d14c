// Ports of components.
#ifndef LIGAMENT_FACE_YMMSL_COMPONENT_HPP
#define LIGAMENT_FACE_YMMSL_COMPONENT_HPP

#include "ymmsl/identity.hpp"

namespace ymmsl {

// The moment of the execution loop in which a port is used.
enum class Operator { NONE = 0, F_INIT = 1, O_I = 2, S = 3, O_F = 5 };

bool allows_sending(Operator op);
bool allows_receiving(Operator op);
// The operator's name, such as "F_INIT".
std::string operator_name(Operator op);
// The operator of a name. Throws std::out_of_range if there is none.
Operator operator_for_name(std::string name);

struct Port {
    Identifier name;
    Operator oper;
    Port(Identifier const &port, Operator op) : name(port), oper(op) {}
};

}  // namespace ymmsl

namespace std {

// Compilers that know C++14 in part have no hash of an enumeration.
template <>
struct hash<::ymmsl::Operator> {
    size_t operator()(::ymmsl::Operator op) const noexcept { return static_cast<size_t>(op); }
};

}  // namespace std

#endif
