! The macro model: heat in a plate of n_x by n_y cells with insulated edges. In each step it shows its temperatures and
! is told how much each cell is heated. Ligament is called as C, through the interfaces in ligament_calls.

module ligament_calls
   ! What this code needs of ligament.h, by hand: a handful of constants, four structs and eight functions.
   use, intrinsic :: iso_c_binding
   implicit none

   integer(c_int32_t), parameter :: LIG_OK = 0
   integer(c_int32_t), parameter :: LIG_O_I = 2, LIG_S = 3
   integer(c_int32_t), parameter :: LIG_FLOAT64 = 11
   integer(c_int32_t), parameter :: LIG_COLUMN_MAJOR = 1

   type, bind(c) :: lig_port
      integer(c_int32_t) :: op
      type(c_ptr) :: name
   end type

   type, bind(c) :: lig_instance_options
      integer(c_size_t) :: size = 0
      type(c_ptr) :: ports = c_null_ptr
      integer(c_size_t) :: port_count = 0
      integer(c_int64_t) :: flags = 0
      type(c_ptr) :: language = c_null_ptr
   end type

   type, bind(c) :: lig_error
      character(kind=c_char) :: message(1024) = c_null_char
   end type

   type, bind(c) :: lig_send_options
      integer(c_size_t) :: size = 0
      real(c_double) :: timestamp = 0, next_timestamp = 0
      logical(c_bool) :: has_next_timestamp = .false., has_slot = .false.
      integer(c_int32_t) :: slot = 0
      type(c_ptr) :: settings = c_null_ptr
   end type

   type, bind(c) :: lig_array
      integer(c_int32_t) :: dtype = 0, ndim = 0, order = 0, reserved = 0
      integer(c_int64_t) :: shape(8) = 0
      type(c_ptr) :: strides = c_null_ptr, data = c_null_ptr, names = c_null_ptr, unit = c_null_ptr
   end type

   interface
      integer(c_int32_t) function lig_instance_create(options, instance, error) bind(c)
         import
         type(lig_instance_options), intent(in) :: options
         type(c_ptr), intent(out) :: instance
         type(lig_error), intent(inout) :: error
      end function

      integer(c_int32_t) function lig_reuse_instance(instance, again, error) bind(c)
         import
         type(c_ptr), value :: instance
         logical(c_bool), intent(out) :: again
         type(lig_error), intent(inout) :: error
      end function

      subroutine lig_instance_free(instance) bind(c)
         import
         type(c_ptr), value :: instance
      end subroutine

      integer(c_int32_t) function lig_error_shutdown(instance, why, error) bind(c)
         import
         type(c_ptr), value :: instance
         character(kind=c_char), intent(in) :: why(*)
         type(lig_error), intent(inout) :: error
      end function

      integer(c_int32_t) function lig_get_setting_float(instance, setting, value, error) bind(c)
         import
         type(c_ptr), value :: instance
         character(kind=c_char), intent(in) :: setting(*)
         real(c_double), intent(out) :: value
         type(lig_error), intent(inout) :: error
      end function

      integer(c_int32_t) function lig_get_setting_int(instance, setting, value, error) bind(c)
         import
         type(c_ptr), value :: instance
         character(kind=c_char), intent(in) :: setting(*)
         integer(c_int64_t), intent(out) :: value
         type(lig_error), intent(inout) :: error
      end function

      integer(c_int32_t) function lig_send_array(instance, port, options, array, error) bind(c)
         import
         type(c_ptr), value :: instance
         character(kind=c_char), intent(in) :: port(*)
         type(lig_send_options), intent(in) :: options
         type(lig_array), intent(in) :: array
         type(lig_error), intent(inout) :: error
      end function

      integer(c_int32_t) function lig_receive_into(instance, port, options, into, times, error) bind(c)
         import
         type(c_ptr), value :: instance
         character(kind=c_char), intent(in) :: port(*)
         type(c_ptr), value :: options
         type(lig_array), intent(in) :: into
         type(c_ptr), value :: times
         type(lig_error), intent(inout) :: error
      end function
   end interface
end module

program plate
   use ligament_calls
   use, intrinsic :: iso_fortran_env, only: error_unit
   implicit none

   character(kind=c_char, len=12), target :: temperature_name = 'temperature' // c_null_char
   character(kind=c_char, len=8), target :: heating_name = 'heating' // c_null_char
   character(kind=c_char, len=8), target :: language = 'fortran' // c_null_char
   type(lig_port), target :: ports(2)
   type(lig_instance_options) :: options
   type(lig_error) :: error
   type(c_ptr) :: instance
   logical(c_bool) :: again

   ports(1) = lig_port(LIG_O_I, c_loc(temperature_name))
   ports(2) = lig_port(LIG_S, c_loc(heating_name))
   options%size = c_sizeof(options)
   options%ports = c_loc(ports)
   options%port_count = size(ports)
   options%language = c_loc(language)
   call check(lig_instance_create(options, instance, error))
   do
      call check(lig_reuse_instance(instance, again, error))
      if (.not. again) exit
      call simulate()
   end do
   call lig_instance_free(instance)

contains

   ! One pass: from a plate that is cold everywhere to t_max.
   subroutine simulate()
      real(c_double), allocatable, target :: u(:, :), heating(:, :)
      type(lig_send_options) :: at
      real(c_double) :: dt, t_max, conductivity
      integer(c_int64_t) :: n_x, n_y
      integer :: step, steps

      call check(lig_get_setting_int(instance, 'n_x' // c_null_char, n_x, error))
      call check(lig_get_setting_int(instance, 'n_y' // c_null_char, n_y, error))
      call check(lig_get_setting_float(instance, 'dt' // c_null_char, dt, error))
      call check(lig_get_setting_float(instance, 't_max' // c_null_char, t_max, error))
      call check(lig_get_setting_float(instance, 'conductivity' // c_null_char, conductivity, error))
      if (conductivity * dt > 0.25d0) then
         call check(lig_error_shutdown(instance, &
            'dt is too long a step for this conductivity; use at most 0.25 / conductivity' // c_null_char, error))
         stop 1
      end if

      allocate (u(n_x, n_y), heating(n_x, n_y))
      u = 0
      steps = nint(t_max / dt)
      at%size = c_sizeof(at)
      do step = 0, steps - 1
         at%timestamp = step * dt
         at%next_timestamp = at%timestamp + dt
         at%has_next_timestamp = logical(step + 1 < steps, c_bool)
         call check(lig_send_array(instance, 'temperature' // c_null_char, at, described(u), error))
         call check(lig_receive_into(instance, 'heating' // c_null_char, c_null_ptr, described(heating), &
            c_null_ptr, error))
         u = u + dt * (conductivity * laplacian(u) + heating)
      end do
      call write_down(u)
   end subroutine

   ! An array of Fortran's, as it lies: the first index runs fastest.
   type(lig_array) function described(array)
      real(c_double), target, contiguous, intent(in) :: array(:, :)
      described%dtype = LIG_FLOAT64
      described%ndim = 2
      described%order = LIG_COLUMN_MAJOR
      described%shape(1:2) = shape(array)
      described%data = c_loc(array)
   end function

   ! The sum of differences to the four neighbours; beyond an edge it is as warm as at the edge.
   function laplacian(u) result(sum)
      real(c_double), intent(in) :: u(:, :)
      real(c_double) :: sum(size(u, 1), size(u, 2))
      integer :: n, m
      n = size(u, 1)
      m = size(u, 2)
      sum = 0
      sum(1:n - 1, :) = sum(1:n - 1, :) + (u(2:n, :) - u(1:n - 1, :))
      sum(2:n, :) = sum(2:n, :) + (u(1:n - 1, :) - u(2:n, :))
      sum(:, 1:m - 1) = sum(:, 1:m - 1) + (u(:, 2:m) - u(:, 1:m - 1))
      sum(:, 2:m) = sum(:, 2:m) + (u(:, 1:m - 1) - u(:, 2:m))
   end function

   ! The temperatures, one row of x a line, beside what else this instance leaves behind.
   subroutine write_down(u)
      real(c_double), intent(in) :: u(:, :)
      integer :: unit, j
      open (newunit=unit, file='temperature.txt', action='write', status='replace')
      do j = 1, size(u, 2)
         write (unit, '(*(es24.16))') u(:, j)
      end do
      close (unit)
   end subroutine

   ! Ends the program with the library's words if a call has failed.
   subroutine check(status)
      integer(c_int32_t), intent(in) :: status
      integer :: length
      if (status == LIG_OK) return
      do length = 0, size(error%message) - 1
         if (error%message(length + 1) == c_null_char) exit
      end do
      write (error_unit, '(*(a))') error%message(:length)
      stop 1
   end subroutine
end program
