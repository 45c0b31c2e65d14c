! Like relay.c, in Fortran.
program relay
   use ligament
   use ligament_mpi
   use, intrinsic :: iso_fortran_env, only: output_unit, real64
   use mpi
   !$ use omp_lib
   implicit none
   integer, parameter :: total = 1200
   type(ligament_mpi_instance) :: all
   type(ligament_message) :: message
   real(real64) :: whole(total), flat(total), seven(7), t, factor
   real(real64), pointer :: came(:)
   integer :: ranks, rank, part, first, passes, threads, i, ierr, status
   character(len=16) :: mode
   character(len=1024) :: text, why

   call MPI_Init(ierr)
   call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
   call get_command_argument(1, mode)
   all = ligament_mpi_instance([ligament_port(LIGAMENT_F_INIT, 'start'), ligament_port(LIGAMENT_O_F, 'end')], &
      comm=MPI_COMM_WORLD)
   rank = all%rank()
   part = total / ranks
   first = part * rank
   passes = 0
   threads = 1
   do while (all%reuse_instance())
      passes = passes + 1
      if (mode == 'unlike') then
         call all%receive_into('start', seven, ierr=status, errmsg=why)
         write (text, '(a, i0, 2a)') 'rank ', rank, ' got unexpected: ', trim(why)
         call say(text)
         call MPI_Barrier(all%comm(), ierr)   ! the run may end once rank 0 goes on: by then all have written
         cycle
      end if
      if (mod(passes, 4) == 0) then
         ! Rank 0 gets the message, and passes it on by itself.
         call all%receive('start', message, timestamp=t)
         if (rank == 0) then
            call message%view(came)
            flat = came
            call message%free()
         end if
         call MPI_Bcast(flat, total, MPI_DOUBLE_PRECISION, 0, all%comm(), ierr)
      else if (mod(passes, 2) == 0) then
         ! A section, which is not contiguous.
         call into_section(flat)
      else
         call all%receive_into('start', flat, timestamp=t)
      end if
      ! All ranks together get the same answer, and rank 0 has the settings.
      if (all%steer(t)) then
         factor = 0
         if (rank == 0) call all%root%get_setting('factor', factor)
         call MPI_Bcast(factor, 1, MPI_DOUBLE_PRECISION, 0, all%comm(), ierr)
         write (text, '(a, i0, a, f0.1, a, f0.1)') 'rank ', rank, ' is steered at ', t, ' to ', factor
         call say(text)
      end if
      !$omp parallel do reduction(max: threads)
      do i = first + 1, first + part
         !$ threads = omp_get_num_threads()
         flat(i) = flat(i) * (rank + 1)
      end do
      call MPI_Gather(flat(first + 1), part, MPI_DOUBLE_PRECISION, whole, part, MPI_DOUBLE_PRECISION, 0, &
         all%comm(), ierr)
      if (rank == 0) call all%root%send('end', t, whole)
   end do
   write (text, '(4(a, i0), a)') 'rank ', rank, ' of ', ranks, ': ', passes, ' passes, ', threads, ' threads'
   call say(text)
   call all%finish()
   call all%free()
   call MPI_Finalize(ierr)

contains

   subroutine into_section(values)
      real(real64), intent(out) :: values(total)
      real(real64) :: wide(2, total)
      wide = -1
      call all%receive_into('start', wide(2, :), timestamp=t)
      if (any(wide(1, :) /= -1)) error stop 7
      values = wide(2, :)
   end subroutine

   ! Each line is written at once, because mpirun mixes the outputs of all ranks in the order in which they
   ! come.
   subroutine say(line)
      character(len=*), intent(in) :: line
      write (output_unit, '(a)') trim(line)
      flush (output_unit)
   end subroutine
end program
