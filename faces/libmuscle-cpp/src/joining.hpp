// Joining a run by hand, as a program of MUSCLE 3 does it.
#ifndef LIGAMENT_FACE_JOINING_HPP
#define LIGAMENT_FACE_JOINING_HPP

namespace libmuscle {
namespace face {

// Sets the environment that an instance needs, if this process was not started by a run: by
// `--muscle-instance=NAME` or MUSCLE_INSTANCE, and `--muscle-manager=DIRECTORY` or MUSCLE_MANAGER. Throws
// std::runtime_error.
void join_by_hand(int argc, char const *const argv[]);

}  // namespace face
}  // namespace libmuscle

#endif
