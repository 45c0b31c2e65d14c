! Fields that travel up and down a grid of one axis, and a direction that the grid does not have.
program travel
   use ligament
   use, intrinsic :: iso_fortran_env, only: int64, real64
   implicit none
   type(ligament_instance) :: instance
   type(ligament_domain) :: domain
   real(real64), allocatable, target :: up(:), down(:)
   integer(int64) :: first, last, whole
   integer(int64), allocatable :: ends(:)
   integer :: fields(2), point, status

   instance = ligament_instance()
   do while (instance%reuse_instance())
      domain = ligament_domain(instance)
      ends = domain%begin_point()
      first = ends(1)
      ends = domain%end_point()
      last = ends(1)
      ends = domain%shape()
      whole = ends(1)
      allocate (up(first - 1:last), down(first - 1:last))
      up = -1
      up(first:last - 1) = [(real(point, real64), point=int(first), int(last) - 1)]
      down = up
      fields(1) = domain%add_field('up', up, 1)
      fields(2) = domain%add_field('down', down, 1)
      call domain%set_direction(fields(1), [1])
      call domain%set_direction(fields(2), [-1])
      call domain%set_direction(fields(2), [1, 0], ierr=status)
      if (status == 0) error stop 'a direction of two axes was taken'
      call domain%exchange(0.0_real64, fields)
      if (any(nint([up(first - 1), up(last)], int64) /= [modulo(first - 1, whole), -1_int64])) &
         error stop 'the field that travels up'
      if (any(nint([down(last), down(first - 1)], int64) /= [modulo(last, whole), -1_int64])) &
         error stop 'the field that travels down'
      call domain%free()
      deallocate (up, down)
   end do
   call instance%free()
end program
