! The driver in Fortran. It receives messages, rebuilds them, and sends them on; README.md describes the ways.
! The compiler needs -cpp: driver_rank.inc has the code for arrays once, and is included for each type and rank.
module driving
   use ligament
   use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64
   use, intrinsic :: iso_c_binding, only: c_bool
   implicit none

   type(ligament_instance) :: instance

   ! A message, the way to handle it, and the result.
   type :: a_job
      character(len=:), allocatable :: port, way, unit
      character(len=128), allocatable :: outs(:)
      real(real64) :: time = 0
      real(real64), allocatable :: next   ! not allocated if there is no next timestamp
      logical :: unsigned = .false., named = .false.
      integer :: order = LIGAMENT_ROW_MAJOR
      integer(int64), allocatable :: n(:)   ! extents
      character(len=64), allocatable :: names(:)
      type(ligament_value) :: made
   contains
      procedure :: send_made
   end type

contains

   subroutine send_made(job)
      class(a_job), intent(inout) :: job
      integer :: i
      do i = 1, size(job%outs)
         call instance%send(job%outs(i), job%time, job%made, job%next)
      end do
      call job%made%free()
   end subroutine

#define UNSIGNED , unsigned=job%unsigned
#define T integer(int8)
#define JOIN(name) name/**/_int8
#include "driver_type.inc"
#undef T
#undef JOIN
#define T integer(int16)
#define JOIN(name) name/**/_int16
#include "driver_type.inc"
#undef T
#undef JOIN
#define T integer(int32)
#define JOIN(name) name/**/_int32
#include "driver_type.inc"
#undef T
#undef JOIN
#define T integer(int64)
#define JOIN(name) name/**/_int64
#include "driver_type.inc"
#undef T
#undef JOIN
#undef UNSIGNED
#define UNSIGNED
#define T real(real32)
#define JOIN(name) name/**/_real32
#include "driver_type.inc"
#undef T
#undef JOIN
#define T real(real64)
#define JOIN(name) name/**/_real64
#include "driver_type.inc"
#undef T
#undef JOIN
#define T complex(real32)
#define JOIN(name) name/**/_complex32
#include "driver_type.inc"
#undef T
#undef JOIN
#define T complex(real64)
#define JOIN(name) name/**/_complex64
#include "driver_type.inc"
#undef T
#undef JOIN
#define T logical(c_bool)
#define JOIN(name) name/**/_logical
#include "driver_type.inc"
#undef T
#undef JOIN

   ! Rebuilds an array in the way that the case asks for.
   subroutine rebuild_array(job, value, dtype, rank)
      type(a_job), intent(inout) :: job
      class(ligament_value), intent(in) :: value
      character(len=*), intent(in) :: dtype
      integer, intent(in) :: rank
      job%unsigned = index(dtype, 'uint') == 1
      select case (dtype)
      case ('int8', 'uint8'); call any_int8(job, value, rank)
      case ('int16', 'uint16'); call any_int16(job, value, rank)
      case ('int32', 'uint32'); call any_int32(job, value, rank)
      case ('int64', 'uint64'); call any_int64(job, value, rank)
      case ('float32'); call any_real32(job, value, rank)
      case ('float64'); call any_real64(job, value, rank)
      case ('complex64'); call any_complex32(job, value, rank)
      case ('complex128'); call any_complex64(job, value, rank)
      case ('bool'); call any_logical(job, value, rank)
      end select
   end subroutine

   ! Builds a copy of a value, with the values within it.
   recursive function rebuilt(value) result(made)
      class(ligament_value), intent(in) :: value
      type(ligament_value) :: made
      logical :: truth
      integer(int64) :: number
      real(real64) :: real
      complex(real64) :: complex
      character(len=:), allocatable :: text
      integer(int8), pointer :: bytes(:)
      integer :: i
      type(a_job) :: job
      select case (value%kind())
      case (LIGAMENT_KIND_NONE)
         made = ligament_none()
      case (LIGAMENT_KIND_BOOL)
         call value%get(truth)
         made = ligament_value(truth)
      case (LIGAMENT_KIND_INT)
         call value%get(number)
         made = ligament_value(number)
      case (LIGAMENT_KIND_UINT)
         call value%get(number, unsigned=.true.)
         made = ligament_value(number, unsigned=.true.)
      case (LIGAMENT_KIND_FLOAT)
         call value%get(real)
         made = ligament_value(real)
      case (LIGAMENT_KIND_COMPLEX)
         call value%get(complex)
         made = ligament_value(complex)
      case (LIGAMENT_KIND_STRING)
         ! a variable, because gfortran 12 loses a text that a function returns in an expression
         text = value%get_text()
         made = ligament_value(text)
      case (LIGAMENT_KIND_BYTES)
         call value%view_bytes(bytes)
         made = ligament_bytes(bytes)
      case (LIGAMENT_KIND_LIST)
         made = ligament_list()
         do i = 1, int(value%count())
            call made%append(rebuilt(value%at(i)))
         end do
      case (LIGAMENT_KIND_MAP)
         made = ligament_map()
         do i = 1, int(value%count())
            text = value%key(i)
            call made%set(text, rebuilt(value%at(i)))
         end do
      case (LIGAMENT_KIND_ARRAY)
         job%way = 'value'
         job%order = value%order()
         job%unit = value%unit()
         allocate (job%names(value%rank()))
         do i = 1, value%rank()
            job%names(i) = value%dimension_name(i)
         end do
         job%named = len(job%unit) > 0
         if (size(job%names) > 0) job%named = job%named .or. any(job%names /= '')
         call rebuild_array(job, value, value%dtype(), value%rank())
         made = job%made
      end select
   end function

   ! Reads a setting as the type `type`.
   function setting(name, type) result(made)
      character(len=*), intent(in) :: name, type
      type(ligament_value) :: made
      logical :: truth
      integer(int64) :: number
      real(real64) :: real
      character(len=:), allocatable :: text
      integer(int64), allocatable :: numbers(:)
      real(real64), allocatable :: reals(:)
      integer :: i
      select case (type)
      case ('bool')
         call instance%get_setting(name, truth)
         made = ligament_value(truth)
      case ('int')
         call instance%get_setting(name, number)
         made = ligament_value(number)
      case ('float')
         call instance%get_setting(name, real)
         made = ligament_value(real)
      case ('string')
         call instance%get_setting(name, text)
         made = ligament_value(text)
      case ('int_list')
         call instance%get_setting(name, numbers)
         made = ligament_list()
         do i = 1, size(numbers)
            call made%append(numbers(i))
         end do
      case ('float_list')
         call instance%get_setting(name, reals)
         made = ligament_list()
         do i = 1, size(reals)
            call made%append(reals(i))
         end do
      case default
         made = instance%get_setting_as_value(name)   ! the rows have different lengths
      end select
   end function

   ! Makes the wrong call, and returns the status and the text of the error.
   function mistake(call, port, out) result(made)
      character(len=*), intent(in) :: call, port, out
      type(ligament_value) :: made
      type(ligament_message) :: message
      character(len=:), allocatable :: name
      character(len=1024) :: text
      real(real64) :: number, five(5), four(4)
      integer(int32) :: integers(3)
      integer(int32), pointer :: view(:)
      integer :: status
      status = 0
      text = ''
      select case (call)
      case ('send_unknown_port'); call instance%send('nowhere', 0d0, 1, ierr=status, errmsg=text)
      case ('receive_unknown_port'); call instance%receive('nowhere', message, ierr=status, errmsg=text)
      case ('send_on_receiving_port'); call instance%send(port, 0d0, 1, ierr=status, errmsg=text)
      case ('setting_unset'); call instance%get_setting('absent', number, ierr=status, errmsg=text)
      case ('setting_type'); call instance%get_setting('text', number, ierr=status, errmsg=text)
      case ('into_wrong_shape'); call instance%receive_into(port, five, ierr=status, errmsg=text)
      case ('into_wrong_type'); call instance%receive_into(port, integers, ierr=status, errmsg=text)
      case ('array_wrong_shape')
         call instance%receive(port, message)
         call message%get(four, ierr=status, errmsg=text)
      case ('array_wrong_type')
         call instance%receive(port, message)
         call message%view(view, ierr=status, errmsg=text)
      case ('send_not_a_time')
         number = -huge(number)
         call instance%send_none(out, sqrt(number), ierr=status, errmsg=text)
      end select
      made = ligament_map()
      name = ligament_status_name(status)
      call made%set('status', name)
      call made%set('text', trim(text))
      call message%free()
   end function

   ! Returns a received message together with the default message of a port without a conduit.
   function with_default(message) result(made)
      type(ligament_message), intent(in) :: message
      type(ligament_value) :: made
      type(ligament_message) :: none
      logical :: connected
      made = ligament_map()
      call made%set('came', rebuilt(message))
      call instance%receive('nothing', none, connected=connected)
      if (connected) then
         call made%set('otherwise', rebuilt(none))
      else
         call made%set('otherwise', 'nothing came')
      end if
      call none%free()
   end function

   ! Receives on a port, and sends on each `O_F` port that belongs to this port.
   subroutine pass(how, port, sending)
      type(ligament_message), intent(in) :: how
      character(len=*), intent(in) :: port, sending(:)
      type(ligament_message) :: message
      type(ligament_value) :: shape, item, type
      type(a_job) :: job
      character(len=:), allocatable :: call
      integer :: i
      logical :: connected

      item = how%find('way')
      job%way = item%get_text()
      job%port = port
      job%outs = pack(sending, index(sending, port // '_') == 1)
      call = ''
      if (job%way == 'error') then
         item = how%find('call')
         call = item%get_text()
      end if
      if (job%way /= 'into' .and. index(call, 'into_') /= 1 .and. index(call, 'array_') /= 1) then
         select case (job%way)
         case ('any')
            i = instance%receive_any([port], message)
            if (i /= 1) error stop 'not the first of one'
         case ('default')
            call instance%receive(port, message, connected=connected)
            if (.not. connected) error stop 'nothing is connected'
         case default
            call instance%receive(port, message)
         end select
         job%time = message%timestamp()
         if (message%has_next_timestamp()) job%next = message%next_timestamp()
      end if
      select case (job%way)
      case ('default')
         job%made = with_default(message)
         call job%send_made()
      case ('value', 'any')
         job%made = rebuilt(message)
         call job%send_made()
      case ('setting')
         item = how%find('name')
         type = how%find('type')
         job%made = setting(item%get_text(), type%get_text())
         call job%send_made()
      case ('error')
         job%made = mistake(call, port, trim(job%outs(1)))
         call job%send_made()
      case ('into')
         shape = how%find('shape')
         allocate (job%n(shape%count()))
         do i = 1, size(job%n)
            item = shape%at(i)
            call item%get(job%n(i))
         end do
         item = how%find('order')
         job%order = merge(LIGAMENT_COLUMN_MAJOR, LIGAMENT_ROW_MAJOR, item%get_text() == 'F')
         item = how%find('dtype')
         call rebuild_array(job, message, item%get_text(), size(job%n))
      case default
         job%order = message%order()
         call rebuild_array(job, message, message%dtype(), message%rank())
      end select
      call message%free()
   end subroutine
end module

program driver
   use driving
   implicit none
   character(len=:), allocatable :: receiving(:), sending(:)
   type(ligament_message) :: how
   integer :: i

   instance = ligament_instance()
   call instance%list_ports(LIGAMENT_F_INIT, receiving)
   call instance%list_ports(LIGAMENT_O_F, sending)
   do while (instance%reuse_instance())
      call instance%receive('how', how)
      do i = 1, size(receiving)
         if (receiving(i) /= 'how') call pass(how, trim(receiving(i)), sending)
      end do
   end do
   call how%free()
   call instance%free()
   deallocate (receiving, sending)
end program
