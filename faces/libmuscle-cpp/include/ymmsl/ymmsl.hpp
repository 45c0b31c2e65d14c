// The names of yMMSL that programs of MUSCLE 3 use, over Ligament.
#ifndef LIGAMENT_FACE_YMMSL_YMMSL_HPP
#define LIGAMENT_FACE_YMMSL_YMMSL_HPP

#include "ymmsl/component.hpp"
#include "ymmsl/identity.hpp"
#include "ymmsl/model.hpp"
#include "ymmsl/settings.hpp"

#endif
