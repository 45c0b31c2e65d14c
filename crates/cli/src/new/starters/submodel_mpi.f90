! NAME: starts from a level, and ends with its square, to which each rank adds a part. Replace what is computed
! by your own.
program NAME_program
   use ligament
   use ligament_mpi
   use mpi
   use, intrinsic :: iso_fortran_env, only: real64
   implicit none
   type(ligament_mpi_instance) :: all
   real(real64) :: level, part, whole, t
   integer :: ranks, ierr

   call MPI_Init(ierr)
   call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
   all = ligament_mpi_instance([ligament_port(LIGAMENT_F_INIT, 'start'), ligament_port(LIGAMENT_O_F, 'end')])
   do while (all%reuse_instance())
      call all%receive_into('start', level, timestamp=t)   ! on all ranks
      part = level**2 / ranks
      call MPI_Reduce(part, whole, 1, MPI_DOUBLE_PRECISION, MPI_SUM, 0, all%comm(), ierr)
      if (all%rank() == 0) call all%root%send('end', t, whole)
   end do
   call all%free()
   call MPI_Finalize(ierr)
end program
