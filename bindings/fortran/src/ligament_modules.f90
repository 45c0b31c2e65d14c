! Modules of a simulation on a grid, in Fortran: `use ligament_modules`. Compile this file together with the
! module's own, and link nothing: `gfortran -shared -fPIC ligament_modules.f90 damping.f90 -o damping.so`. The
! guide is docs/guides/modules.md.
!
!     integer(c_int) function damp(block) bind(c)
!        type(lig_block), intent(inout), target :: block
!        real(c_double), pointer :: u(:, :)
!        damp = 1
!        call block_field(block, 'u', u)
!        if (.not. associated(u)) return
!        u(1:block%end(1) - block%begin(1), :) = ...
!        damp = 0
!     end function
module ligament_modules
   use, intrinsic :: iso_c_binding
   implicit none
   private
   public :: lig_block, block_field, block_real, block_integer, block_flag, block_sum, block_min, block_max
   public :: block_fail, module_text
   public :: c_int, c_double, c_float, c_ptr

   ! The element types that arrays can have here, as in lig_dtype.
   integer(c_int32_t), parameter :: FLOAT32 = 10, FLOAT64 = 11
   ! The order in memory of a Fortran array, as in lig_order.
   integer(c_int32_t), parameter :: COLUMN_MAJOR = 1

   ! A block during the call of a function. `begin` and `end` count from 0: `end` is the point after the last.
   ! `step` is 0 in the bin `initial`, then from 1; `time` and `time_step` are in s.
   type, bind(c) :: lig_block
      integer(c_size_t) :: size
      integer(c_int32_t) :: ndim
      integer(c_int32_t) :: number
      integer(c_int64_t) :: shape(3)
      integer(c_int64_t) :: begin(3)
      integer(c_int64_t) :: end(3)
      integer(c_int64_t) :: step
      real(c_double) :: time
      real(c_double) :: time_step
      type(c_funptr), private :: field
      type(c_funptr), private :: real_parameter
      type(c_funptr), private :: integer_parameter
      type(c_funptr), private :: flag_parameter
      type(c_funptr), private :: reduce
      type(c_funptr), private :: fail
   end type

   type, bind(c) :: module_field
      integer(c_size_t) :: size
      type(c_ptr) :: data
      type(c_ptr) :: own
      integer(c_int64_t) :: points(3)
      integer(c_int64_t) :: strides(3)
      integer(c_int64_t) :: ghosts
      integer(c_int32_t) :: dtype
      integer(c_int32_t) :: order
   end type

   abstract interface
      function field_call(block, name) bind(c)
         import :: c_ptr, c_char
         type(c_ptr), value :: block
         character(kind=c_char), intent(in) :: name(*)
         type(c_ptr) :: field_call
      end function
      function real_call(block, name) bind(c)
         import :: c_ptr, c_char, c_double
         type(c_ptr), value :: block
         character(kind=c_char), intent(in) :: name(*)
         real(c_double) :: real_call
      end function
      function integer_call(block, name) bind(c)
         import :: c_ptr, c_char, c_int64_t
         type(c_ptr), value :: block
         character(kind=c_char), intent(in) :: name(*)
         integer(c_int64_t) :: integer_call
      end function
      function flag_call(block, name) bind(c)
         import :: c_ptr, c_char, c_int32_t
         type(c_ptr), value :: block
         character(kind=c_char), intent(in) :: name(*)
         integer(c_int32_t) :: flag_call
      end function
      function reduce_call(block, how, numbers, count, total) bind(c)
         import :: c_ptr, c_int, c_int32_t, c_double, c_size_t
         type(c_ptr), value :: block
         integer(c_int32_t), value :: how
         real(c_double), intent(in) :: numbers(*)
         integer(c_size_t), value :: count
         real(c_double), intent(out) :: total
         integer(c_int) :: reduce_call
      end function
      subroutine fail_call(block, why) bind(c)
         import :: c_ptr, c_char
         type(c_ptr), value :: block
         character(kind=c_char), intent(in) :: why(*)
      end subroutine
   end interface

   ! Points an array at a field that the function declares, which has "order: column-major". The block's own
   ! points begin at 1, and ghosts lie before and after them. If there is no such field, the array is not
   ! associated, and the simulation ends after the function has returned.
   interface block_field
      module procedure field_double_1, field_double_2, field_double_3
      module procedure field_single_1, field_single_2, field_single_3
   end interface

   ! The declaration. It stays at one address, since C keeps a pointer to it.
   character(kind=c_char), allocatable, target, save :: declaration(:)

contains

   ! The result of the module's function ligament_module: its declaration, in YAML.
   function module_text(text) result(place)
      character(len=*), intent(in) :: text
      type(c_ptr) :: place
      declaration = c_text(text)
      place = c_loc(declaration)
   end function

   ! The value of a parameter of the type float. A wrong name ends the simulation after the function has
   ! returned; this holds for the two functions below, too.
   function block_real(block, name) result(value)
      type(lig_block), intent(in), target :: block
      character(len=*), intent(in) :: name
      real(c_double) :: value
      procedure(real_call), pointer :: call
      call c_f_procpointer(block%real_parameter, call)
      value = call(c_loc(block), c_text(trim(name)))
   end function

   ! The value of a parameter of the type int.
   function block_integer(block, name) result(value)
      type(lig_block), intent(in), target :: block
      character(len=*), intent(in) :: name
      integer(c_int64_t) :: value
      procedure(integer_call), pointer :: call
      call c_f_procpointer(block%integer_parameter, call)
      value = call(c_loc(block), c_text(trim(name)))
   end function

   ! The value of a parameter of the type bool.
   function block_flag(block, name) result(value)
      type(lig_block), intent(in), target :: block
      character(len=*), intent(in) :: name
      logical :: value
      procedure(flag_call), pointer :: call
      call c_f_procpointer(block%flag_parameter, call)
      value = call(c_loc(block), c_text(trim(name))) /= 0
   end function

   ! The exact sum of the numbers that all blocks give, rounded once. `ierr` is 0 after success.
   subroutine block_sum(block, numbers, total, ierr)
      type(lig_block), intent(in), target :: block
      real(c_double), intent(in) :: numbers(:)
      real(c_double), intent(out) :: total
      integer, intent(out) :: ierr
      call reduced(block, 1_c_int32_t, numbers, total, ierr)
   end subroutine

   ! The smallest of all numbers that all blocks give.
   subroutine block_min(block, numbers, total, ierr)
      type(lig_block), intent(in), target :: block
      real(c_double), intent(in) :: numbers(:)
      real(c_double), intent(out) :: total
      integer, intent(out) :: ierr
      call reduced(block, 2_c_int32_t, numbers, total, ierr)
   end subroutine

   ! The largest of all numbers that all blocks give.
   subroutine block_max(block, numbers, total, ierr)
      type(lig_block), intent(in), target :: block
      real(c_double), intent(in) :: numbers(:)
      real(c_double), intent(out) :: total
      integer, intent(out) :: ierr
      call reduced(block, 3_c_int32_t, numbers, total, ierr)
   end subroutine

   subroutine reduced(block, how, numbers, total, ierr)
      type(lig_block), intent(in), target :: block
      integer(c_int32_t), intent(in) :: how
      real(c_double), intent(in) :: numbers(:)
      real(c_double), intent(out) :: total
      integer, intent(out) :: ierr
      procedure(reduce_call), pointer :: call
      call c_f_procpointer(block%reduce, call)
      ierr = call(c_loc(block), how, numbers, size(numbers, kind=c_size_t), total)
   end subroutine

   ! Ends the simulation with this text, after the function has returned.
   subroutine block_fail(block, why)
      type(lig_block), intent(in), target :: block
      character(len=*), intent(in) :: why
      procedure(fail_call), pointer :: call
      call c_f_procpointer(block%fail, call)
      call call(c_loc(block), c_text(why))
   end subroutine

   subroutine field_double_1(block, name, array)
      type(lig_block), intent(in), target :: block
      character(len=*), intent(in) :: name
      real(c_double), pointer, intent(out) :: array(:)
      real(c_double), pointer :: all(:)
      type(module_field) :: field
      nullify (array)
      if (.not. found(block, name, [1, FLOAT64], field)) return
      call c_f_pointer(field%data, all, lengths(field, 1))
      array(1 - field%ghosts:) => all
   end subroutine

   subroutine field_double_2(block, name, array)
      type(lig_block), intent(in), target :: block
      character(len=*), intent(in) :: name
      real(c_double), pointer, intent(out) :: array(:, :)
      real(c_double), pointer :: all(:, :)
      type(module_field) :: field
      nullify (array)
      if (.not. found(block, name, [2, FLOAT64], field)) return
      call c_f_pointer(field%data, all, lengths(field, 2))
      array(1 - field%ghosts:, 1 - field%ghosts:) => all
   end subroutine

   subroutine field_double_3(block, name, array)
      type(lig_block), intent(in), target :: block
      character(len=*), intent(in) :: name
      real(c_double), pointer, intent(out) :: array(:, :, :)
      real(c_double), pointer :: all(:, :, :)
      type(module_field) :: field
      nullify (array)
      if (.not. found(block, name, [3, FLOAT64], field)) return
      call c_f_pointer(field%data, all, lengths(field, 3))
      array(1 - field%ghosts:, 1 - field%ghosts:, 1 - field%ghosts:) => all
   end subroutine

   subroutine field_single_1(block, name, array)
      type(lig_block), intent(in), target :: block
      character(len=*), intent(in) :: name
      real(c_float), pointer, intent(out) :: array(:)
      real(c_float), pointer :: all(:)
      type(module_field) :: field
      nullify (array)
      if (.not. found(block, name, [1, FLOAT32], field)) return
      call c_f_pointer(field%data, all, lengths(field, 1))
      array(1 - field%ghosts:) => all
   end subroutine

   subroutine field_single_2(block, name, array)
      type(lig_block), intent(in), target :: block
      character(len=*), intent(in) :: name
      real(c_float), pointer, intent(out) :: array(:, :)
      real(c_float), pointer :: all(:, :)
      type(module_field) :: field
      nullify (array)
      if (.not. found(block, name, [2, FLOAT32], field)) return
      call c_f_pointer(field%data, all, lengths(field, 2))
      array(1 - field%ghosts:, 1 - field%ghosts:) => all
   end subroutine

   subroutine field_single_3(block, name, array)
      type(lig_block), intent(in), target :: block
      character(len=*), intent(in) :: name
      real(c_float), pointer, intent(out) :: array(:, :, :)
      real(c_float), pointer :: all(:, :, :)
      type(module_field) :: field
      nullify (array)
      if (.not. found(block, name, [3, FLOAT32], field)) return
      call c_f_pointer(field%data, all, lengths(field, 3))
      array(1 - field%ghosts:, 1 - field%ghosts:, 1 - field%ghosts:) => all
   end subroutine

   ! True if there is a field with this rank and type of elements (`kind`) in Fortran's order.
   function found(block, name, kind, field) result(is_there)
      type(lig_block), intent(in), target :: block
      character(len=*), intent(in) :: name
      integer(c_int32_t), intent(in) :: kind(2)
      type(module_field), intent(out) :: field
      logical :: is_there
      type(module_field), pointer :: place
      procedure(field_call), pointer :: call
      type(c_ptr) :: raw
      call c_f_procpointer(block%field, call)
      raw = call(c_loc(block), c_text(trim(name)))
      is_there = c_associated(raw)
      if (.not. is_there) return
      call c_f_pointer(raw, place)
      field = place
      is_there = .false.
      if (block%ndim /= kind(1)) then
         call block_fail(block, 'the array for the field "'//trim(name)// &
                         '" has another rank than the grid has axes')
      else if (field%dtype /= kind(2)) then
         call block_fail(block, 'the array for the field "'//trim(name)//'" has another type than the field')
      else if (field%order /= COLUMN_MAJOR .and. block%ndim > 1) then
         call block_fail(block, 'the field "'//trim(name)// &
                         '" is row-major; declare "order: column-major" for it')
      else
         is_there = .true.
      end if
   end function

   ! The lengths of a field's array, with the ghosts.
   pure function lengths(field, ndim)
      type(module_field), intent(in) :: field
      integer, intent(in) :: ndim
      integer(c_int64_t) :: lengths(ndim)
      lengths = field%points(:ndim) + 2*field%ghosts
   end function

   ! A text with a NUL at its end. Names are given without the blanks at their end.
   pure function c_text(text) result(characters)
      character(len=*), intent(in) :: text
      character(kind=c_char) :: characters(len(text) + 1)
      integer :: i
      do i = 1, len(text)
         characters(i) = text(i:i)
      end do
      characters(len(text) + 1) = c_null_char
   end function
end module
