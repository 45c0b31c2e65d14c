! Like team.c, in Fortran.
program team
   use ligament
   use omp_lib
   use, intrinsic :: iso_fortran_env, only: real64
   implicit none
   type(ligament_instance) :: instance
   real(real64) :: field(1200), time
   character(len=16) :: mode
   integer :: threads

   threads = 0
   call get_command_argument(1, mode)
   instance = ligament_instance([ligament_port(LIGAMENT_F_INIT, 'start'), ligament_port(LIGAMENT_O_F, 'end')])
   do while (instance%reuse_instance())
      if (mode == 'within') then
         !$omp parallel
         !$omp master
         call instance%receive_into('start', field, timestamp=time)
         !$omp end master
         !$omp barrier
         call multiply()
         !$omp master
         call instance%send('end', time, field)
         !$omp end master
         !$omp end parallel
      else
         call instance%receive_into('start', field, timestamp=time)
         !$omp parallel
         call multiply()
         !$omp end parallel
         call instance%send('end', time, field)
      end if
   end do
   print '(i0, a)', threads, ' threads'
   call instance%free()

contains

   subroutine multiply()
      integer :: i
      !$omp single
      threads = omp_get_num_threads()
      !$omp end single
      !$omp do schedule(static)
      do i = 1, size(field)
         field(i) = field(i) * (omp_get_thread_num() + 1)
      end do
      !$omp end do
   end subroutine
end program
