// The header of the same name in muscle2/.
#ifndef LIGAMENT_MUSCLE2_CPPMUSCLE_HPP
#define LIGAMENT_MUSCLE2_CPPMUSCLE_HPP

#include "muscle2/cppmuscle.hpp"

#endif
