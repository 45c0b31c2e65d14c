! NAME: steps forward in time, and in every step asks a finer model. Replace what is computed by your own.
program NAME_program
   use ligament
   use, intrinsic :: iso_fortran_env, only: real64
   implicit none
   type(ligament_instance) :: instance
   real(real64) :: t, t_max, state, answer

   instance = ligament_instance([ligament_port(LIGAMENT_O_I, 'state'), ligament_port(LIGAMENT_S, 'result')])
   do while (instance%reuse_instance())
      call instance%get_setting('t_max', t_max)
      t = 0
      state = 1
      do while (t < t_max)
         if (t + 1 < t_max) then
            call instance%send('state', t, state, next_timestamp=t + 1)
         else
            call instance%send('state', t, state)
         end if
         call instance%receive_into('result', answer)
         print '(2(a, g0))', 'at ', t, ' the finer model says ', answer
         state = answer + 1
         t = t + 1
      end do
   end do
   call instance%free()
end program
