// Questions about this library.
#pragma once

#include <string>

namespace precice {

// A text that says which library this is.
std::string getVersionInformation();

}  // namespace precice
