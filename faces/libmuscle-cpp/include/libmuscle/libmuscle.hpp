// The calls of MUSCLE 3's libmuscle over Ligament.
#ifndef LIGAMENT_FACE_LIBMUSCLE_LIBMUSCLE_HPP
#define LIGAMENT_FACE_LIBMUSCLE_LIBMUSCLE_HPP

#include "libmuscle/data.hpp"
#include "libmuscle/instance.hpp"
#include "libmuscle/message.hpp"
#include "libmuscle/ports_description.hpp"

#endif
