! NAME: starts from a level, and ends with its square. Replace what is computed by your own.
program NAME_program
   use ligament
   use, intrinsic :: iso_fortran_env, only: real64
   implicit none
   type(ligament_instance) :: instance
   real(real64) :: level, t

   instance = ligament_instance([ligament_port(LIGAMENT_F_INIT, 'start'), ligament_port(LIGAMENT_O_F, 'end')])
   do while (instance%reuse_instance())
      call instance%receive_into('start', level, timestamp=t)
      call instance%send('end', t, level**2)
   end do
   call instance%free()
end program
