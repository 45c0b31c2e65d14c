// The ports of a component, as a program describes them.
#ifndef LIGAMENT_FACE_LIBMUSCLE_PORTS_DESCRIPTION_HPP
#define LIGAMENT_FACE_LIBMUSCLE_PORTS_DESCRIPTION_HPP

#include <string>
#include <unordered_map>
#include <vector>

#include "ymmsl/ymmsl.hpp"

namespace libmuscle {

// Names of ports by operator; "name[]" is a vector port.
using PortsDescription = std::unordered_map<ymmsl::Operator, std::vector<std::string>>;

}  // namespace libmuscle

#endif
