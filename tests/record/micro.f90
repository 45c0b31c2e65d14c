! Multiplies each array by a setting. With an argument, it does something else at the time 1.
program micro
   use ligament
   use, intrinsic :: iso_fortran_env, only: real64
   implicit none
   type(ligament_instance) :: instance
   type(ligament_message) :: message
   real(real64) :: field(2, 3)
   real(real64) :: factor, time
   instance = ligament_instance([ligament_port(LIGAMENT_F_INIT, 'state'), &
      ligament_port(LIGAMENT_O_F, 'result')])
   do while (instance%reuse_instance())
      call instance%get_setting('factor', factor)
      call instance%receive('state', message)
      time = message%timestamp()
      call message%get(field)
      field = field*factor
      call message%free()
      if (command_argument_count() > 0 .and. abs(time - 1) < 0.1) field(2, 3) = field(2, 3) + 0.25_real64
      call instance%send('result', time, field)
   end do
   call instance%free()
end program
