! ABOUT Made by `ligament new`: put your own code where it says "compute".
program NAME_program
   use ligament
   use, intrinsic :: iso_fortran_env, only: int64, real64
   implicit none
   type(ligament_instance) :: instance
   type(ligament_message) :: message
   real(real64) :: t, dt, state(3)
   integer(int64) :: steps, step
   integer :: slot
   integer :: status
   logical :: more

   instance = ligament_instance([PORTS])
   do while (instance%reuse_instance())
      t = 0
      dt = 1
      state = 0
BODY
   end do
   call message%free()
   call instance%free()
end program
