// The calls that all ranks of an instance make together.
#ifndef LIGAMENT_FACE_CALL_HPP
#define LIGAMENT_FACE_CALL_HPP

namespace libmuscle {
namespace face {

// The numbers are those of ligament_mpi.h, so that `ligament status` names the call in which a rank is.
enum class Call {
    create = 1,
    reuse = 2,
    receive = 3,
    resuming = 10,
    should_init = 12,
    should_save_snapshot = 13,
    should_save_final_snapshot = 15,
};

}  // namespace face
}  // namespace libmuscle

#endif
