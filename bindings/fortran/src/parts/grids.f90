! Grids: one structured grid whose blocks are the instances, or the ranks, of a component.
module ligament_grids
   use ligament_calls
   use ligament_instances, only: ligament_instance
   implicit none
   private
   public :: ligament_domain

   ! The numbers by which lf_domain_exchange and lf_domain_reduce know a call, and lf_domain_numbers a property.
   integer(c_int32_t), parameter :: call_exchange = 1, call_begin = 2, call_end = 3
   integer(c_int32_t), parameter :: call_sum = 1, call_min = 2, call_max = 3
   integer(c_int32_t), parameter :: of_shape = 1, of_begin = 2, of_end = 3, of_blocks = 4

   ! The part of a grid that an instance or rank has: one block. In the model, `grids:` has the number of points
   ! and of blocks along each axis.
   type :: ligament_domain
      integer(c_int64_t) :: key = 0   ! not for users
   contains
      procedure :: shape => domain_shape
      procedure :: begin_point
      procedure :: end_point
      procedure :: blocks
      procedure :: block => block_number
      procedure :: add_field
      procedure :: set_data
      procedure :: set_direction
      procedure :: exchange
      procedure :: begin => begin_exchange
      procedure :: end => end_exchange
      procedure :: publish
      procedure :: sum => domain_sum
      procedure :: min => domain_min
      procedure :: max => domain_max
      procedure :: free => free_domain
   end type

   ! Makes the domain of an instance.
   interface ligament_domain
      procedure :: create_domain
   end interface

   interface
      integer(c_int32_t) function lf_domain_create(instance, domain) bind(c)
         import
         integer(c_int64_t), value :: instance
         integer(c_int64_t), intent(out) :: domain
      end function

      subroutine lf_domain_free(domain) bind(c)
         import
         integer(c_int64_t), intent(inout) :: domain
      end subroutine

      integer(c_int64_t) function lf_domain_numbers(domain, which, numbers) bind(c)
         import
         integer(c_int64_t), value :: domain
         integer(c_int32_t), value :: which
         integer(c_int64_t), intent(inout) :: numbers(3)
      end function

      integer(c_int32_t) function lf_domain_block(domain) bind(c)
         import
         integer(c_int64_t), value :: domain
      end function

      integer(c_int32_t) function lf_domain_add_field(domain, name, lengths, array, ghosts, unit, field) bind(c)
         import
         integer(c_int64_t), value :: domain, ghosts
         character(kind=c_char), intent(in) :: name(*)
         integer(c_size_t), intent(in) :: lengths(2)
         type(*), dimension(..), target, intent(inout) :: array
         character(kind=c_char), intent(in), optional :: unit(*)
         integer(c_int32_t), intent(out) :: field
      end function

      integer(c_int32_t) function lf_domain_set_data(domain, field, array) bind(c)
         import
         integer(c_int64_t), value :: domain
         integer(c_int32_t), value :: field
         type(*), dimension(..), target, intent(inout) :: array
      end function

      integer(c_int32_t) function lf_domain_set_direction(domain, field, direction, count) bind(c)
         import
         integer(c_int64_t), value :: domain
         integer(c_int32_t), value :: field
         integer(c_int32_t), intent(in) :: direction(*)
         integer(c_size_t), value :: count
      end function

      integer(c_int32_t) function lf_domain_exchange(domain, call, time, fields, count) bind(c)
         import
         integer(c_int64_t), value :: domain
         integer(c_int32_t), value :: call
         real(c_double), value :: time
         integer(c_int32_t), intent(in) :: fields(*)
         integer(c_size_t), value :: count
      end function

      integer(c_int32_t) function lf_domain_publish(domain, field) bind(c)
         import
         integer(c_int64_t), value :: domain
         integer(c_int32_t), value :: field
      end function

      integer(c_int32_t) function lf_domain_reduce(domain, call, values, reduced) bind(c)
         import
         integer(c_int64_t), value :: domain
         integer(c_int32_t), value :: call
         type(*), dimension(..), intent(in) :: values
         real(c_double), intent(inout) :: reduced
      end function
   end interface

contains

   ! Makes the domain of an instance that is a block of a grid. Free it before the instance.
   type(ligament_domain) function create_domain(instance, ierr, errmsg)
      type(ligament_instance), intent(in) :: instance
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      call settle(lf_domain_create(instance%key, create_domain%key), ierr, errmsg)
   end function

   ! Frees the domain. The arrays of its fields stay.
   subroutine free_domain(self)
      class(ligament_domain), intent(inout) :: self
      call lf_domain_free(self%key)
   end subroutine

   ! The number of points of the whole grid along each axis. If the domain has been freed, the array is empty;
   ! this also holds for the three functions below.
   function domain_shape(self) result(numbers)
      class(ligament_domain), intent(in) :: self
      integer(int64), allocatable :: numbers(:)
      numbers = numbers_of(self, of_shape)
   end function

   ! The block's first point along each axis, counted from 0.
   function begin_point(self) result(numbers)
      class(ligament_domain), intent(in) :: self
      integer(int64), allocatable :: numbers(:)
      numbers = numbers_of(self, of_begin)
   end function

   ! The index after this block's last point along each axis, counted from 0.
   function end_point(self) result(numbers)
      class(ligament_domain), intent(in) :: self
      integer(int64), allocatable :: numbers(:)
      numbers = numbers_of(self, of_end)
   end function

   ! The number of blocks along each axis.
   function blocks(self) result(numbers)
      class(ligament_domain), intent(in) :: self
      integer(int64), allocatable :: numbers(:)
      numbers = numbers_of(self, of_blocks)
   end function

   ! The number of this block, from 0; the last axis runs fastest.
   integer function block_number(self)
      class(ligament_domain), intent(in) :: self
      block_number = lf_domain_block(self%key)
   end function

   ! Adds a field and gives its number. The array has the block's points and `ghosts` more at each side of each
   ! axis. It is a `target` of integers, reals or complex numbers without gaps. It stays where it is until the
   ! domain is freed, or until `set_data`, and shares no memory with another field.
   integer function add_field(self, name, array, ghosts, unit, ierr, errmsg)
      class(ligament_domain), intent(in) :: self
      character(len=*), intent(in) :: name
      type(*), dimension(..), target, intent(inout) :: array
      integer, intent(in) :: ghosts
      character(len=*), intent(in), optional :: unit
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      integer(c_int32_t) :: field, status
      integer(c_size_t) :: lengths(2)
      lengths = [len(name, c_size_t), 0_c_size_t]
      if (present(unit)) lengths(2) = len(unit)
      status = lf_domain_add_field(self%key, name, lengths, array, int(ghosts, c_int64_t), unit, field)
      add_field = field
      call settle(status, ierr, errmsg)
   end function

   ! Gives a field another array of the same type and shape. This is for codes with two arrays for a field,
   ! which exchange one array while they write the other.
   subroutine set_data(self, field, array, ierr, errmsg)
      class(ligament_domain), intent(in) :: self
      integer, intent(in) :: field
      type(*), dimension(..), target, intent(inout) :: array
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      call settle(lf_domain_set_data(self%key, int(field, c_int32_t), array), ierr, errmsg)
   end subroutine

   ! Sets the direction in which the values of a field travel: -1, 0 or 1 along each axis, as in a lattice
   ! Boltzmann code. An exchange then fills only the ghosts from which a value enters the block in this
   ! direction, and does not change other ghosts between blocks. All blocks give the same directions.
   subroutine set_direction(self, field, direction, ierr, errmsg)
      class(ligament_domain), intent(in) :: self
      integer, intent(in) :: field, direction(:)
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      integer(c_int32_t) :: status
      status = lf_domain_set_direction(self%key, int(field, c_int32_t), int(direction, c_int32_t), &
                                       size(direction, kind=c_size_t))
      call settle(status, ierr, errmsg)
   end subroutine

   ! Fills the ghosts of fields with the points of the neighbouring blocks, at corners too. All blocks make the
   ! same calls. Beyond a periodic or mirrored edge of the grid, ghosts are filled too; beyond other edges they
   ! stay as they are. `time` is the model time of the fields, s.
   subroutine exchange(self, time, fields, ierr, errmsg)
      class(ligament_domain), intent(in) :: self
      real(real64), intent(in) :: time
      integer, intent(in) :: fields(:)
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      call settle(exchanged(self, call_exchange, time, fields), ierr, errmsg)
   end subroutine

   ! Begins an exchange: sends, and does not wait while the budgets of the conduits last. Until `end`, the code
   ! can do work that needs no ghosts.
   subroutine begin_exchange(self, time, fields, ierr, errmsg)
      class(ligament_domain), intent(in) :: self
      real(real64), intent(in) :: time
      integer, intent(in) :: fields(:)
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      call settle(exchanged(self, call_begin, time, fields), ierr, errmsg)
   end subroutine

   ! Ends the exchange that `begin` has begun, with the same fields: fills their ghosts.
   subroutine end_exchange(self, fields, ierr, errmsg)
      class(ligament_domain), intent(in) :: self
      integer, intent(in) :: fields(:)
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      call settle(exchanged(self, call_end, 0.0_real64, fields), ierr, errmsg)
   end subroutine

   ! Shows a field to the taps of the port with the field's name (`ligament tap`, the page), at the time of its
   ! last exchange. While nobody looks, nothing is copied or computed. A block calls this after an exchange,
   ! before the points of the field change, so that the ghosts fit them.
   subroutine publish(self, field, ierr, errmsg)
      class(ligament_domain), intent(in) :: self
      integer, intent(in) :: field
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      call settle(lf_domain_publish(self%key, int(field, c_int32_t)), ierr, errmsg)
   end subroutine

   ! The exact sum of all numbers that all blocks give, rounded once, so it does not depend on the blocks. A
   ! block gives a real of 4 or 8 bytes, or an array or section of them, of any rank.
   real(real64) function domain_sum(self, values, ierr, errmsg)
      class(ligament_domain), intent(in) :: self
      type(*), dimension(..), intent(in) :: values
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      domain_sum = 0
      call settle(lf_domain_reduce(self%key, call_sum, values, domain_sum), ierr, errmsg)
   end function

   ! The smallest of all numbers that all blocks give; infinity if they give none, and NaN if one of them is
   ! NaN.
   real(real64) function domain_min(self, values, ierr, errmsg)
      class(ligament_domain), intent(in) :: self
      type(*), dimension(..), intent(in) :: values
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      domain_min = 0
      call settle(lf_domain_reduce(self%key, call_min, values, domain_min), ierr, errmsg)
   end function

   ! The largest of all numbers that all blocks give; minus infinity if they give none, and NaN if one of them
   ! is NaN.
   real(real64) function domain_max(self, values, ierr, errmsg)
      class(ligament_domain), intent(in) :: self
      type(*), dimension(..), intent(in) :: values
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      domain_max = 0
      call settle(lf_domain_reduce(self%key, call_max, values, domain_max), ierr, errmsg)
   end function

   integer(c_int32_t) function exchanged(self, call, time, fields)
      class(ligament_domain), intent(in) :: self
      integer(c_int32_t), intent(in) :: call
      real(real64), intent(in) :: time
      integer, intent(in) :: fields(:)
      exchanged = lf_domain_exchange(self%key, call, time, int(fields, c_int32_t), size(fields, kind=c_size_t))
   end function

   function numbers_of(self, which) result(numbers)
      class(ligament_domain), intent(in) :: self
      integer(c_int32_t), intent(in) :: which
      integer(int64), allocatable :: numbers(:)
      integer(c_int64_t) :: of_axes(3)
      integer(c_int64_t) :: count
      count = lf_domain_numbers(self%key, which, of_axes)
      numbers = of_axes(:count)
   end function
end module
