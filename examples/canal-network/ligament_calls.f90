! What a Fortran code needs of ligament.h, by hand: structs and functions under their own names; and below them the calls
! that reach.f90 makes, which end the program with the library's words if something is wrong.
module ligament_calls
   use, intrinsic :: iso_c_binding
   use, intrinsic :: iso_fortran_env, only: error_unit
   implicit none

   integer(c_int32_t), parameter :: LIG_OK = 0, LIG_O_I = 2, LIG_S = 3, LIG_O_F = 4
   integer(c_int32_t), parameter :: LIG_FLOAT64 = 11, LIG_COLUMN_MAJOR = 1

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

   type, bind(c) :: lig_times
      real(c_double) :: timestamp = 0, next_timestamp = 0
      logical(c_bool) :: has_next_timestamp = .false.
      integer(c_int8_t) :: reserved(7) = 0
   end type

   type, bind(c) :: lig_send_options
      integer(c_size_t) :: size = 0
      real(c_double) :: timestamp = 0, next_timestamp = 0
      logical(c_bool) :: has_next_timestamp = .false., has_slot = .false.
      integer(c_int32_t) :: slot = 0
      type(c_ptr) :: settings = c_null_ptr
   end type

   type, bind(c) :: lig_receive_options
      integer(c_size_t) :: size = 0
      real(c_double) :: timeout = 0
      logical(c_bool) :: has_timeout = .false., has_slot = .false.
      integer(c_int32_t) :: slot = 0
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

      integer(c_int32_t) function lig_is_connected(instance, port, connected, error) bind(c)
         import
         type(c_ptr), value :: instance
         character(kind=c_char), intent(in) :: port(*)
         logical(c_bool), intent(out) :: connected
         type(lig_error), intent(inout) :: error
      end function

      integer(c_int32_t) function lig_get_port_length(instance, port, length, error) bind(c)
         import
         type(c_ptr), value :: instance
         character(kind=c_char), intent(in) :: port(*)
         integer(c_size_t), intent(out) :: length
         type(lig_error), intent(inout) :: error
      end function

      integer(c_int32_t) function lig_get_setting_float(instance, setting, value, error) bind(c)
         import
         type(c_ptr), value :: instance
         character(kind=c_char), intent(in) :: setting(*)
         real(c_double), intent(out) :: value
         type(lig_error), intent(inout) :: error
      end function

      integer(c_int32_t) function lig_send_float(instance, port, options, value, error) bind(c)
         import
         type(c_ptr), value :: instance
         character(kind=c_char), intent(in) :: port(*)
         type(lig_send_options), intent(in) :: options
         real(c_double), value :: value
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

      integer(c_int32_t) function lig_receive(instance, port, options, message, error) bind(c)
         import
         type(c_ptr), value :: instance
         character(kind=c_char), intent(in) :: port(*)
         type(lig_receive_options), intent(in) :: options
         type(c_ptr), intent(out) :: message
         type(lig_error), intent(inout) :: error
      end function

      integer(c_int32_t) function lig_message_times(message, times, error) bind(c)
         import
         type(c_ptr), value :: message
         type(lig_times), intent(out) :: times
         type(lig_error), intent(inout) :: error
      end function

      type(c_ptr) function lig_message_value(message) bind(c)
         import
         type(c_ptr), value :: message
      end function

      integer(c_int32_t) function lig_value_float(value, number, error) bind(c)
         import
         type(c_ptr), value :: value
         real(c_double), intent(out) :: number
         type(lig_error), intent(inout) :: error
      end function

      subroutine lig_message_free(message) bind(c)
         import
         type(c_ptr), value :: message
      end subroutine
   end interface

   type(c_ptr) :: instance = c_null_ptr   ! This program's: a process is one instance.
   type(lig_error) :: error

contains

   ! Joins the run with these ports.
   subroutine join(operators, names)
      integer(c_int32_t), intent(in) :: operators(:)
      character(len=*), intent(in) :: names(:)
      character(kind=c_char, len=len(names) + 1), target :: ended(size(names))
      character(kind=c_char, len=8), target :: language = 'fortran' // c_null_char
      type(lig_port), target :: ports(size(names))
      type(lig_instance_options) :: options
      integer :: i
      do i = 1, size(names)
         ended(i) = text(names(i))
         ports(i) = lig_port(operators(i), c_loc(ended(i)))
      end do
      options%size = c_sizeof(options)
      options%ports = c_loc(ports)
      options%port_count = size(ports)
      options%language = c_loc(language)
      call check(lig_instance_create(options, instance, error))
   end subroutine

   logical function reuse_instance()
      logical(c_bool) :: again
      call check(lig_reuse_instance(instance, again, error))
      reuse_instance = again
   end function

   real(c_double) function setting(name)
      character(len=*), intent(in) :: name
      call check(lig_get_setting_float(instance, text(name), setting, error))
   end function

   ! How many slots a vector port has; none if nothing is connected to it.
   integer function slots(port)
      character(len=*), intent(in) :: port
      logical(c_bool) :: connected
      integer(c_size_t) :: length
      length = 0
      call check(lig_is_connected(instance, text(port), connected, error))
      if (connected) call check(lig_get_port_length(instance, text(port), length, error))
      slots = int(length)
   end function

   ! The times of a message, and of the next one on its port if there is one more.
   type(lig_send_options) function at(time, next, more)
      real(c_double), intent(in) :: time, next
      logical, intent(in) :: more
      at%size = c_sizeof(at)
      at%timestamp = time
      at%next_timestamp = next
      at%has_next_timestamp = more
   end function

   subroutine send_number(port, when, number)
      character(len=*), intent(in) :: port
      type(lig_send_options), intent(in) :: when
      real(c_double), intent(in) :: number
      call check(lig_send_float(instance, text(port), when, number, error))
   end subroutine

   ! Sends an array as it lies: the first index runs fastest.
   subroutine send_array(port, when, array)
      character(len=*), intent(in) :: port
      type(lig_send_options), intent(in) :: when
      real(c_double), target, contiguous, intent(in) :: array(:, :)
      type(lig_array) :: described
      described%dtype = LIG_FLOAT64
      described%ndim = 2
      described%order = LIG_COLUMN_MAJOR
      described%shape(1:2) = shape(array)
      described%data = c_loc(array)
      call check(lig_send_array(instance, text(port), when, described, error))
   end subroutine

   ! The next number on a slot (counted from 0) of a vector port, and when the one after it is due.
   subroutine receive_number(port, slot, number, next)
      character(len=*), intent(in) :: port
      integer, intent(in) :: slot
      real(c_double), intent(out) :: number, next
      type(lig_receive_options) :: options
      type(lig_times) :: times
      type(c_ptr) :: message
      options%size = c_sizeof(options)
      options%has_slot = .true.
      options%slot = slot
      call check(lig_receive(instance, text(port), options, message, error))
      call check(lig_message_times(message, times, error))
      call check(lig_value_float(lig_message_value(message), number, error))
      call lig_message_free(message)
      next = huge(next)
      if (times%has_next_timestamp) next = times%next_timestamp
   end subroutine

   ! Ends the whole run because of an error in this code.
   subroutine fail(why)
      character(len=*), intent(in) :: why
      call check(lig_error_shutdown(instance, text(why), error))
      write (error_unit, '(a)') why
      stop 1
   end subroutine

   subroutine check(status)
      integer(c_int32_t), intent(in) :: status
      if (status == LIG_OK) return
      write (error_unit, '(*(a))') error%message(:findloc(error%message, c_null_char, 1) - 1)
      stop 1
   end subroutine

   ! As C wants it.
   function text(string)
      character(len=*), intent(in) :: string
      character(kind=c_char, len=len_trim(string) + 1) :: text
      text = trim(string) // c_null_char
   end function
end module
