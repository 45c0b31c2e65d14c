// The ranks of an instance without MPI: one.
#ifndef LIGAMENT_FACE_ONE_RANK_HPP
#define LIGAMENT_FACE_ONE_RANK_HPP

#include <string>

#include "call.hpp"

namespace libmuscle {
namespace face {

class Ranks {
public:
    bool is_root() const noexcept { return true; }
    // Makes the root's instance.
    template <class Function>
    void speak(Function function) const {
        function();
    }
    // Makes a call on the root, and returns its answer on all ranks.
    template <class Function>
    bool together(Call, char const *, Function function) {
        return function();
    }
    // Gives the root's bytes to all ranks.
    void give(std::string &) {}
};

}  // namespace face
}  // namespace libmuscle

#endif
