! NAME: steps forward in time, and in every step asks a finer model. Replace what is computed by your own, in
! all ranks.
program NAME_program
   use ligament
   use ligament_mpi
   use mpi
   use, intrinsic :: iso_fortran_env, only: real64
   implicit none
   type(ligament_mpi_instance) :: all
   real(real64) :: t, t_max, state, answer
   integer :: ierr

   call MPI_Init(ierr)
   all = ligament_mpi_instance([ligament_port(LIGAMENT_O_I, 'state'), ligament_port(LIGAMENT_S, 'result')])
   do while (all%reuse_instance())
      if (all%rank() == 0) call all%root%get_setting('t_max', t_max)
      call MPI_Bcast(t_max, 1, MPI_DOUBLE_PRECISION, 0, all%comm(), ierr)
      t = 0
      state = 1
      do while (t < t_max)
         if (all%rank() == 0) then
            if (t + 1 < t_max) then
               call all%root%send('state', t, state, next_timestamp=t + 1)
            else
               call all%root%send('state', t, state)
            end if
         end if
         call all%receive_into('result', answer)   ! on all ranks
         if (all%rank() == 0) print '(2(a, g0))', 'at ', t, ' the finer model says ', answer
         state = answer + 1
         t = t + 1
      end do
   end do
   call all%free()
   call MPI_Finalize(ierr)
end program
