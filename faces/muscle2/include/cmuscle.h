/* The header of the same name in muscle2/. */
#ifndef LIGAMENT_MUSCLE2_CMUSCLE_H
#define LIGAMENT_MUSCLE2_CMUSCLE_H

#include "muscle2/cmuscle.h"

#endif
