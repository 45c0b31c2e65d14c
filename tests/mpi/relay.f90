! As relay.c, in Fortran.
program relay
   use ligament
   use ligament_mpi
   use, intrinsic :: iso_fortran_env, only: output_unit, real64
   use mpi
   implicit none
   integer, parameter :: total = 1200
   type(ligament_mpi_instance) :: all
   real(real64) :: whole(total), flat(total), seven(7), t
   integer :: ranks, rank, part, first, passes, ierr, status
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
   do while (all%reuse_instance())
      passes = passes + 1
      if (mode == 'unlike') then
         call all%receive_into('start', seven, ierr=status, errmsg=why)
         write (text, '(a, i0, 2a)') 'rank ', rank, ' got unexpected: ', trim(why)
         call say(text)
         call MPI_Barrier(all%comm(), ierr)   ! the run may end once rank 0 goes on: by then all have written
         cycle
      end if
      if (mod(passes, 2) == 0) then
         ! A section, which is not contiguous.
         call into_section(flat)
      else
         call all%receive_into('start', flat, timestamp=t)
      end if
      flat(first + 1:first + part) = flat(first + 1:first + part) * (rank + 1)
      call MPI_Gather(flat(first + 1), part, MPI_DOUBLE_PRECISION, whole, part, MPI_DOUBLE_PRECISION, 0, all%comm(), ierr)
      if (rank == 0) call all%root%send('end', t, whole)
   end do
   write (text, '(3(a, i0), a)') 'rank ', rank, ' of ', ranks, ': ', passes, ' passes, 1 threads'
   call say(text)
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

   ! A line at once: mpirun passes on what comes as it comes, from all ranks.
   subroutine say(line)
      character(len=*), intent(in) :: line
      write (output_unit, '(a)') trim(line)
      flush (output_unit)
   end subroutine
end program
