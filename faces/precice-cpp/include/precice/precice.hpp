// preCICE 3's calls in C++, over Ligament.
#pragma once

#include <precice/Exceptions.hpp>
#include <precice/Participant.hpp>
#include <precice/Tooling.hpp>
#include <precice/Types.hpp>
#include <precice/span.hpp>
