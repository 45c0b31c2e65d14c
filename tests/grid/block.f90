! A block of the wave of wave_model.py in Fortran, with the settings of block.py; the order is "F".
module wave
   use, intrinsic :: iso_fortran_env, only: int64, real32, real64
   implicit none

   ! A grid of fewer than three axes has axes of length 1 behind, without ghosts.
   type :: extent
      integer :: axes = 1
      integer :: length(3) = 1, ghosts(3) = 0
   end type

contains

   ! One step of all points that are at least `margin` points away from the end of the arrays.
   subroutine step(here, margin, u, v, new_u, new_v)
      type(extent), intent(in) :: here
      integer, intent(in) :: margin
      real(real64), intent(in) :: u(:, :, :)
      real(real32), intent(in) :: v(:, :, :)
      real(real64), intent(inout) :: new_u(:, :, :)
      real(real32), intent(inout) :: new_v(:, :, :)
      integer :: from(3), to(3), reach(3), i, j, k, x, y, z
      real(real64) :: around
      real(real32) :: w
      from = merge(margin, 0, here%ghosts > 0) + 1
      to = here%length + 2 * here%ghosts - merge(margin, 0, here%ghosts > 0)
      reach = merge(1, 0, [1, 2, 3] <= here%axes)
      do k = from(3), to(3)
         do j = from(2), to(2)
            do i = from(1), to(1)
               around = 0
               do x = -reach(1), reach(1)
                  do y = -reach(2), reach(2)
                     do z = -reach(3), reach(3)
                        w = v(i + x, j + y, k + z) * 0.01_real32
                        around = around + (u(i + x, j + y, k + z) * (1 + 0.1_real64 * (x + y + z)) + w)
                     end do
                  end do
               end do
               w = v(i, j, k) * 0.9_real32
               new_u(i, j, k) = u(i, j, k) * 0.5_real64 + around / 3.0_real64**here%axes * 0.49_real64
               new_v(i, j, k) = real(w + u(i, j, k) * 0.05_real64, real32)
            end do
         end do
      end do
   end subroutine
end module

program block_of_a_wave
   use ligament
   use wave
   implicit none
   type(ligament_instance) :: instance
   instance = ligament_instance()
   do while (instance%reuse_instance())
      call pass()
   end do
   call instance%free()

contains

   subroutine pass()
      type(ligament_domain) :: domain
      type(extent) :: here
      real(real64), allocatable, target :: u(:, :, :), clean_u(:, :, :)
      real(real32), allocatable, target :: v(:, :, :), clean_v(:, :, :)
      real(real64), allocatable :: new_u(:, :, :)
      real(real32), allocatable :: new_v(:, :, :)
      integer(int64) :: first(3), all(3), number
      integer :: ghosts, steps, at, depth, fields(2), i, j, k, low(3), high(3)
      logical :: split
      character(len=:), allocatable :: order, folder
      real(real64) :: totals(3), part
      character(len=12) :: digits
      integer :: file

      call instance%get_setting('ghosts', ghosts)
      call instance%get_setting('steps', steps)
      call instance%get_setting('split', split)
      call instance%get_setting('order', order)
      call instance%get_setting('out', folder)
      if (order /= 'F') error stop 'a block in Fortran has arrays in the order F'
      domain = ligament_domain(instance)
      here%axes = size(domain%shape())
      first = 0
      all = 1
      here%length(:here%axes) = int(domain%end_point() - domain%begin_point())
      here%ghosts(:here%axes) = ghosts
      first(:here%axes) = domain%begin_point()
      all(:here%axes) = domain%shape()
      low = here%ghosts + 1
      high = here%ghosts + here%length
      call make(here, u, v)
      call make(here, new_u, new_v)
      ! The array of a field has the rank of its grid.
      select case (here%axes)
      case (1)
         fields(1) = domain%add_field('u', u(:, 1, 1), ghosts, unit='m')
         fields(2) = domain%add_field('v', v(:, 1, 1), ghosts)
      case (2)
         fields(1) = domain%add_field('u', u(:, :, 1), ghosts, unit='m')
         fields(2) = domain%add_field('v', v(:, :, 1), ghosts)
      case default
         fields(1) = domain%add_field('u', u, ghosts, unit='m')
         fields(2) = domain%add_field('v', v, ghosts)
      end select
      first = first - low
      do k = low(3), high(3)
         do j = low(2), high(2)
            do i = low(1), high(1)
               number = ((first(1) + i) * all(2) + first(2) + j) * all(3) + first(3) + k
               u(i, j, k) = real(iand(number * 2654435761_int64, 4294967295_int64), real64)
               u(i, j, k) = u(i, j, k) / 4294967296.0_real64 - 0.5_real64
               part = real(iand(number * 40503 + 7, 65535_int64), real64) / 65536.0_real64
               v(i, j, k) = real(part - 0.5_real64, real32)
            end do
         end do
      end do
      do at = 0, steps - 1, ghosts
         if (split) then
            call domain%begin(real(at, real64), fields)
            call domain%end(fields)
         else
            call domain%exchange(real(at, real64), fields)
         end if
         call domain%publish(fields(1))
         do depth = 1, ghosts
            call step(here, depth, u, v, new_u, new_v)
            call swap(u, v, new_u, new_v)
         end do
         ! The results may be in the other arrays, whose ghosts beyond open edges must be 0.
         call make(here, clean_u, clean_v)
         do k = low(3), high(3)
            clean_u(low(1):high(1), low(2):high(2), k) = u(low(1):high(1), low(2):high(2), k)
            clean_v(low(1):high(1), low(2):high(2), k) = v(low(1):high(1), low(2):high(2), k)
         end do
         call move_alloc(clean_u, u)
         call move_alloc(clean_v, v)
         call set_arrays(domain, fields, here%axes, u, v)
      end do
      totals(1) = domain%sum(u(low(1):high(1), low(2):high(2), low(3):high(3)))
      totals(2) = domain%min(u(low(1):high(1), low(2):high(2), low(3):high(3)))
      totals(3) = domain%max(v(low(1):high(1), low(2):high(2), low(3):high(3)))

      write (digits, '(i0)') domain%block()
      open (newunit=file, file=folder // '/' // trim(digits) // '.bin', access='stream', form='unformatted', &
         status='replace')
      write (file) int(here%axes, int64), domain%begin_point(), domain%end_point(), totals
      ! The own points, in row-major order.
      write (file) (((u(i, j, k), k=low(3), high(3)), j=low(2), high(2)), i=low(1), high(1))
      write (file) (((v(i, j, k), k=low(3), high(3)), j=low(2), high(2)), i=low(1), high(1))
      close (file)
      if (any(domain%blocks() < 1)) error stop 'a grid has no blocks along an axis'
      call domain%free()
   end subroutine

   subroutine make(here, u, v)
      type(extent), intent(in) :: here
      real(real64), allocatable, intent(out) :: u(:, :, :)
      real(real32), allocatable, intent(out) :: v(:, :, :)
      integer :: length(3)
      length = here%length + 2 * here%ghosts
      allocate (u(length(1), length(2), length(3)), source=0.0_real64)
      allocate (v(length(1), length(2), length(3)), source=0.0_real32)
   end subroutine

   subroutine set_arrays(domain, fields, axes, u, v)
      type(ligament_domain), intent(in) :: domain
      integer, intent(in) :: fields(2), axes
      real(real64), target, intent(inout) :: u(:, :, :)
      real(real32), target, intent(inout) :: v(:, :, :)
      select case (axes)
      case (1)
         call domain%set_data(fields(1), u(:, 1, 1))
         call domain%set_data(fields(2), v(:, 1, 1))
      case (2)
         call domain%set_data(fields(1), u(:, :, 1))
         call domain%set_data(fields(2), v(:, :, 1))
      case default
         call domain%set_data(fields(1), u)
         call domain%set_data(fields(2), v)
      end select
   end subroutine

   subroutine swap(u, v, new_u, new_v)
      real(real64), allocatable, intent(inout) :: u(:, :, :), new_u(:, :, :)
      real(real32), allocatable, intent(inout) :: v(:, :, :), new_v(:, :, :)
      real(real64), allocatable :: last_u(:, :, :)
      real(real32), allocatable :: last_v(:, :, :)
      call move_alloc(u, last_u)
      call move_alloc(v, last_v)
      call move_alloc(new_u, u)
      call move_alloc(new_v, v)
      call move_alloc(last_u, new_u)
      call move_alloc(last_v, new_v)
   end subroutine
end program
