! The macro model: heat in a plate of n_x by n_y cells with insulated edges. In each step it sends its
! temperatures and receives the heating of each cell.
program plate
   use ligament
   use, intrinsic :: iso_fortran_env, only: real64
   implicit none
   type(ligament_instance) :: instance

   instance = ligament_instance([ligament_port(LIGAMENT_O_I, 'temperature'), &
      ligament_port(LIGAMENT_S, 'heating')])
   do while (instance%reuse_instance())
      call simulate()
   end do
   call instance%free()

contains

   ! Makes one pass, from a plate that is cold everywhere to t_max.
   subroutine simulate()
      real(real64), allocatable :: u(:, :), heating(:, :)
      real(real64) :: dt, t_max, conductivity, time
      integer :: n_x, n_y, step, steps

      call instance%get_setting('n_x', n_x)
      call instance%get_setting('n_y', n_y)
      call instance%get_setting('dt', dt)
      call instance%get_setting('t_max', t_max)
      call instance%get_setting('conductivity', conductivity)
      if (conductivity * dt > 0.25d0) then
         call instance%error_shutdown( &
            'dt is too long a step for this conductivity; use at most 0.25 / conductivity')
         stop 1
      end if

      allocate (u(n_x, n_y), heating(n_x, n_y))
      u = 0
      steps = nint(t_max / dt)
      do step = 0, steps - 1
         time = step * dt
         if (step + 1 < steps) then
            call instance%send('temperature', time, u, next_timestamp=time + dt)
         else
            call instance%send('temperature', time, u)
         end if
         call instance%receive_into('heating', heating)
         u = u + dt * (conductivity * laplacian(u) + heating)
      end do
      call write_down(u)
   end subroutine

   ! Returns the sum of the differences to the four neighbours. Beyond an edge, the temperature is that at the
   ! edge.
   function laplacian(u) result(sum)
      real(real64), intent(in) :: u(:, :)
      real(real64) :: sum(size(u, 1), size(u, 2))
      integer :: n, m
      n = size(u, 1)
      m = size(u, 2)
      sum = 0
      sum(1:n - 1, :) = sum(1:n - 1, :) + (u(2:n, :) - u(1:n - 1, :))
      sum(2:n, :) = sum(2:n, :) + (u(1:n - 1, :) - u(2:n, :))
      sum(:, 1:m - 1) = sum(:, 1:m - 1) + (u(:, 2:m) - u(:, 1:m - 1))
      sum(:, 2:m) = sum(:, 2:m) + (u(:, 1:m - 1) - u(:, 2:m))
   end function

   ! Writes the temperatures, one row of x a line, to the instance's directory.
   subroutine write_down(u)
      real(real64), intent(in) :: u(:, :)
      integer :: unit, j
      open (newunit=unit, file='temperature.txt', action='write', status='replace')
      do j = 1, size(u, 2)
         write (unit, '(*(es24.16))') u(:, j)
      end do
      close (unit)
   end subroutine
end program
