! Values: the content of a message, read in place, and trees that a program builds to send them.
module ligament_values
   use ligament_calls
   implicit none
   private
   character(len=*), parameter, public :: foreign = &
      'messages have no counterpart of this type: they have integers &
      &of 1 to 8 bytes, real and complex numbers of 4 or 8 bytes each part, truth values and texts'
   public :: ligament_value, ligament_none, ligament_list, ligament_map, ligament_array, ligament_bytes, &
      ligament_settings
   public :: ligament_kind_name

   ! The kinds of values.
   integer, parameter, public :: LIGAMENT_KIND_NONE = 0, LIGAMENT_KIND_BOOL = 1, LIGAMENT_KIND_INT = 2
   integer, parameter, public :: LIGAMENT_KIND_UINT = 3   ! an integer above huge(0_int64)
   integer, parameter, public :: LIGAMENT_KIND_FLOAT = 4, LIGAMENT_KIND_COMPLEX = 5, LIGAMENT_KIND_STRING = 6
   integer, parameter, public :: LIGAMENT_KIND_BYTES = 7, LIGAMENT_KIND_LIST = 8, LIGAMENT_KIND_MAP = 9
   integer, parameter, public :: LIGAMENT_KIND_ARRAY = 10, LIGAMENT_KIND_SETTINGS = 11

   ! The index that runs fastest in memory.
   integer, parameter, public :: LIGAMENT_ROW_MAJOR = 0, LIGAMENT_COLUMN_MAJOR = 1

   ! A value: that of a message, a part of another value, or one that was built. Copies of the variable refer to
   ! the same value.
   type :: ligament_value
      type(lf_ref) :: ref   ! not for users
   contains
      procedure :: kind => value_kind
      procedure :: get
      procedure :: get_text
      generic :: view => view_int8, view_int16, view_int32, view_int64, view_real32, &
         view_real64, view_complex32, view_complex64, view_logical8
      procedure, private :: view_int8, view_int16, view_int32, view_int64, view_real32
      procedure, private :: view_real64, view_complex32, view_complex64, view_logical8
      procedure :: view_bytes
      procedure :: dtype
      procedure :: rank => value_rank
      procedure :: shape => value_shape
      procedure :: order
      procedure :: dimension_name
      procedure :: unit => value_unit
      procedure :: count => value_count
      procedure :: at
      procedure :: key
      procedure :: find
      procedure :: has
      procedure :: settings_map
      procedure :: set
      procedure :: append
      procedure :: copy
      procedure :: free => free_value
   end type

   ! Makes a value of a number, a truth value or a text.
   interface ligament_value
      procedure :: new_scalar
   end interface

   interface
      integer(c_int32_t) function lf_view_int8(ref, is_unsigned, pointer) bind(c, name='lf_view')
         import
         type(lf_ref), intent(in) :: ref
         logical(c_bool), value :: is_unsigned
         integer(c_int8_t), pointer, intent(out) :: pointer(..)
      end function

      integer(c_int32_t) function lf_view_int16(ref, is_unsigned, pointer) bind(c, name='lf_view')
         import
         type(lf_ref), intent(in) :: ref
         logical(c_bool), value :: is_unsigned
         integer(c_int16_t), pointer, intent(out) :: pointer(..)
      end function

      integer(c_int32_t) function lf_view_int32(ref, is_unsigned, pointer) bind(c, name='lf_view')
         import
         type(lf_ref), intent(in) :: ref
         logical(c_bool), value :: is_unsigned
         integer(c_int32_t), pointer, intent(out) :: pointer(..)
      end function

      integer(c_int32_t) function lf_view_int64(ref, is_unsigned, pointer) bind(c, name='lf_view')
         import
         type(lf_ref), intent(in) :: ref
         logical(c_bool), value :: is_unsigned
         integer(c_int64_t), pointer, intent(out) :: pointer(..)
      end function

      integer(c_int32_t) function lf_view_real32(ref, is_unsigned, pointer) bind(c, name='lf_view')
         import
         type(lf_ref), intent(in) :: ref
         logical(c_bool), value :: is_unsigned
         real(c_float), pointer, intent(out) :: pointer(..)
      end function

      integer(c_int32_t) function lf_view_real64(ref, is_unsigned, pointer) bind(c, name='lf_view')
         import
         type(lf_ref), intent(in) :: ref
         logical(c_bool), value :: is_unsigned
         real(c_double), pointer, intent(out) :: pointer(..)
      end function

      integer(c_int32_t) function lf_view_complex32(ref, is_unsigned, pointer) bind(c, name='lf_view')
         import
         type(lf_ref), intent(in) :: ref
         logical(c_bool), value :: is_unsigned
         complex(c_float_complex), pointer, intent(out) :: pointer(..)
      end function

      integer(c_int32_t) function lf_view_complex64(ref, is_unsigned, pointer) bind(c, name='lf_view')
         import
         type(lf_ref), intent(in) :: ref
         logical(c_bool), value :: is_unsigned
         complex(c_double_complex), pointer, intent(out) :: pointer(..)
      end function

      integer(c_int32_t) function lf_view_logical8(ref, is_unsigned, pointer) bind(c, name='lf_view')
         import
         type(lf_ref), intent(in) :: ref
         logical(c_bool), value :: is_unsigned
         logical(c_bool), pointer, intent(out) :: pointer(..)
      end function
   end interface

contains

   ! ---- reading

   ! The kind of the value: LIGAMENT_KIND_...
   integer function value_kind(self, ierr, errmsg)
      class(ligament_value), intent(in) :: self
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      type(lig_array_view) :: view
      value_kind = lf_kind(self%ref)
      if (value_kind >= 0) then
         call settle(0_c_int32_t, ierr, errmsg)
      else
         call settle(lf_array(self%ref, view), ierr, errmsg)   ! which says why there is none
      end if
   end function

   ! The name of a kind, such as "float".
   function ligament_kind_name(kind) result(name)
      integer, intent(in) :: kind
      character(len=:), allocatable :: name
      type(c_ptr) :: place
      place = lig_kind_name(int(kind, c_int32_t))
      name = text_at(place, lf_length(place))
   end function

   ! Copies a number, a truth value or an array into `into`: any type but character, any rank, any section. An
   ! array must have the type and shape of `into`; a number must fit it. unsigned=.true. gives the bits of an
   ! unsigned integer.
   subroutine get(self, into, unsigned, ierr, errmsg)
      class(ligament_value), intent(in) :: self
      type(*), dimension(..), intent(inout) :: into
      logical, intent(in), optional :: unsigned
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      call settle(lf_get(self%ref, told(unsigned), into), ierr, errmsg)
   end subroutine

   ! The text of a value.
   function get_text(self, ierr, errmsg) result(text)
      class(ligament_value), intent(in) :: self
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      character(len=:), allocatable :: text
      type(lig_string) :: found
      integer(c_int32_t) :: status
      status = lf_text(self%ref, found)
      text = ''
      if (status == 0) text = text_at(found%data, found%size)
      call settle(status, ierr, errmsg)
   end function

   ! view: points `pointer`, of the array's type and rank, to a received array in place. The array is valid as
   ! long as the message lives, and must not be written. After an error, the pointer is null.
   subroutine view_int8(self, pointer, unsigned, ierr, errmsg)
      class(ligament_value), intent(in) :: self
      integer(int8), pointer, intent(out) :: pointer(..)
      logical, intent(in), optional :: unsigned
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      call settle(lf_view_int8(self%ref, told(unsigned), pointer), ierr, errmsg)
   end subroutine

   subroutine view_int16(self, pointer, unsigned, ierr, errmsg)
      class(ligament_value), intent(in) :: self
      integer(int16), pointer, intent(out) :: pointer(..)
      logical, intent(in), optional :: unsigned
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      call settle(lf_view_int16(self%ref, told(unsigned), pointer), ierr, errmsg)
   end subroutine

   subroutine view_int32(self, pointer, unsigned, ierr, errmsg)
      class(ligament_value), intent(in) :: self
      integer(int32), pointer, intent(out) :: pointer(..)
      logical, intent(in), optional :: unsigned
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      call settle(lf_view_int32(self%ref, told(unsigned), pointer), ierr, errmsg)
   end subroutine

   subroutine view_int64(self, pointer, unsigned, ierr, errmsg)
      class(ligament_value), intent(in) :: self
      integer(int64), pointer, intent(out) :: pointer(..)
      logical, intent(in), optional :: unsigned
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      call settle(lf_view_int64(self%ref, told(unsigned), pointer), ierr, errmsg)
   end subroutine

   subroutine view_real32(self, pointer, ierr, errmsg)
      class(ligament_value), intent(in) :: self
      real(real32), pointer, intent(out) :: pointer(..)
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      call settle(lf_view_real32(self%ref, told(), pointer), ierr, errmsg)
   end subroutine

   subroutine view_real64(self, pointer, ierr, errmsg)
      class(ligament_value), intent(in) :: self
      real(real64), pointer, intent(out) :: pointer(..)
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      call settle(lf_view_real64(self%ref, told(), pointer), ierr, errmsg)
   end subroutine

   subroutine view_complex32(self, pointer, ierr, errmsg)
      class(ligament_value), intent(in) :: self
      complex(real32), pointer, intent(out) :: pointer(..)
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      call settle(lf_view_complex32(self%ref, told(), pointer), ierr, errmsg)
   end subroutine

   subroutine view_complex64(self, pointer, ierr, errmsg)
      class(ligament_value), intent(in) :: self
      complex(real64), pointer, intent(out) :: pointer(..)
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      call settle(lf_view_complex64(self%ref, told(), pointer), ierr, errmsg)
   end subroutine

   subroutine view_logical8(self, pointer, ierr, errmsg)
      class(ligament_value), intent(in) :: self
      logical(c_bool), pointer, intent(out) :: pointer(..)
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      call settle(lf_view_logical8(self%ref, told(), pointer), ierr, errmsg)
   end subroutine

   ! Does the same for bytes.
   subroutine view_bytes(self, pointer, ierr, errmsg)
      class(ligament_value), intent(in) :: self
      integer(int8), pointer, intent(out) :: pointer(:)
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      call settle(lf_view_bytes(self%ref, pointer), ierr, errmsg)
   end subroutine

   ! ---- what an array is

   ! The type of an array's elements, as in NumPy: "float64", "bool", ...
   function dtype(self, ierr, errmsg) result(name)
      class(ligament_value), intent(in) :: self
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      character(len=:), allocatable :: name
      type(lig_array_view) :: view
      type(c_ptr) :: place
      integer(c_int32_t) :: status
      status = lf_array(self%ref, view)
      name = ''
      if (status == 0) then
         place = lig_dtype_name(view%dtype)
         name = text_at(place, lf_length(place))
      end if
      call settle(status, ierr, errmsg)
   end function

   ! The number of dimensions that an array has.
   integer function value_rank(self, ierr, errmsg)
      class(ligament_value), intent(in) :: self
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      type(lig_array_view) :: view
      integer(c_int32_t) :: status
      status = lf_array(self%ref, view)
      value_rank = 0
      if (status == 0) value_rank = view%ndim
      call settle(status, ierr, errmsg)
   end function

   ! The extents of an array.
   function value_shape(self, ierr, errmsg) result(extents)
      class(ligament_value), intent(in) :: self
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      integer(int64), allocatable :: extents(:)
      type(lig_array_view) :: view
      integer(c_int32_t) :: status
      status = lf_array(self%ref, view)
      if (status /= 0) view%ndim = 0
      extents = view%shape(:view%ndim)
      call settle(status, ierr, errmsg)
   end function

   ! The index of an array that runs fastest: LIGAMENT_COLUMN_MAJOR or LIGAMENT_ROW_MAJOR.
   integer function order(self, ierr, errmsg)
      class(ligament_value), intent(in) :: self
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      type(lig_array_view) :: view
      integer(c_int32_t) :: status
      status = lf_array(self%ref, view)
      order = LIGAMENT_COLUMN_MAJOR
      if (status == 0) order = view%order
      call settle(status, ierr, errmsg)
   end function

   ! The name of an array's dimension; empty if it has none.
   function dimension_name(self, dimension, ierr, errmsg) result(name)
      class(ligament_value), intent(in) :: self
      integer, intent(in) :: dimension
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      character(len=:), allocatable :: name
      type(lig_string) :: found
      integer(c_int32_t) :: status
      status = lf_array_name(self%ref, int(dimension, c_int32_t), found)
      name = ''
      if (status == 0 .and. c_associated(found%data)) name = text_at(found%data, found%size)
      call settle(status, ierr, errmsg)
   end function

   ! The unit of an array's elements; empty if it has none.
   function value_unit(self, ierr, errmsg) result(unit)
      class(ligament_value), intent(in) :: self
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      character(len=:), allocatable :: unit
      type(lig_string) :: found
      integer(c_int32_t) :: status
      status = lf_array_unit(self%ref, found)
      unit = ''
      if (status == 0 .and. c_associated(found%data)) unit = text_at(found%data, found%size)
      call settle(status, ierr, errmsg)
   end function

   ! ---- lists and maps

   ! The number of items that a list or a map has.
   integer(int64) function value_count(self, ierr, errmsg)
      class(ligament_value), intent(in) :: self
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      integer(c_int32_t) :: status
      value_count = 0
      status = lf_count(self%ref, value_count)
      call settle(status, ierr, errmsg)
   end function

   ! An item of a list or map, counted from 1. It lives as long as the list or map.
   type(ligament_value) function at(self, index, ierr, errmsg)
      class(ligament_value), intent(in) :: self
      integer, intent(in) :: index
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      call settle(lf_at(self%ref, int(index, c_int64_t), at%ref), ierr, errmsg)
   end function

   ! The key of an entry of a map, counted from 1.
   function key(self, index, ierr, errmsg) result(text)
      class(ligament_value), intent(in) :: self
      integer, intent(in) :: index
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      character(len=:), allocatable :: text
      type(lig_string) :: found
      integer(c_int32_t) :: status
      status = lf_key(self%ref, int(index, c_int64_t), found)
      text = ''
      if (status == 0) text = text_at(found%data, found%size)
      call settle(status, ierr, errmsg)
   end function

   ! The value with a key in a map; an error if there is none.
   type(ligament_value) function find(self, key, ierr, errmsg)
      class(ligament_value), intent(in) :: self
      character(len=*), intent(in) :: key
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      call settle(lf_find(self%ref, key, len(key, c_size_t), .true._c_bool, find%ref), ierr, errmsg)
   end function

   ! True if a map has a key.
   logical function has(self, key, ierr, errmsg)
      class(ligament_value), intent(in) :: self
      character(len=*), intent(in) :: key
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      type(lf_ref) :: found
      integer(c_int32_t) :: status
      status = lf_find(self%ref, key, len(key, c_size_t), .false._c_bool, found)
      has = c_associated(found%value)
      call settle(status, ierr, errmsg)
   end function

   ! Settings as a map. The caller frees it.
   type(ligament_value) function settings_map(self, ierr, errmsg)
      class(ligament_value), intent(in) :: self
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      call settle(lf_settings_map(self%ref, settings_map%ref), ierr, errmsg)
   end function

   ! ---- building

   type(ligament_value) function new_scalar(item, unsigned, ierr, errmsg)
      class(*), intent(in) :: item
      logical, intent(in), optional :: unsigned
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      type(lf_scalar) :: scalar
      integer(c_int32_t) :: status
      select type (item)
      type is (character(*))
         status = lf_new_text(item, len(item, c_size_t), new_scalar%ref)
      class default
         scalar = scalar_of(item, unsigned)
         if (scalar%kind == 0) then
            status = misuse(foreign)
         else
            status = lf_new_scalar(scalar, new_scalar%ref)
         end if
      end select
      call settle(status, ierr, errmsg)
   end function

   ! A value of the kind none.
   type(ligament_value) function ligament_none()
      call settle(lf_new_none(ligament_none%ref))
   end function

   ! An empty list.
   type(ligament_value) function ligament_list()
      call settle(lf_new_list(.false._c_bool, ligament_list%ref))
   end function

   ! An empty map.
   type(ligament_value) function ligament_map()
      call settle(lf_new_list(.true._c_bool, ligament_map%ref))
   end function

   ! A copy of an array of any numeric or logical type, rank (0: one element) and stride, with names of its
   ! dimensions and a unit. It travels in Fortran's order unless `order` says otherwise.
   type(ligament_value) function ligament_array(data, names, unit, unsigned, order, ierr, errmsg)
      type(*), dimension(..), intent(in) :: data
      character(len=*), intent(in), optional :: names(:), unit
      logical, intent(in), optional :: unsigned
      integer, intent(in), optional :: order
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      type(lf_sending) :: how
      how%is_unsigned = told(unsigned)
      how%order = order_of(order)
      if (present(unit)) how%unit_length = len(unit)
      if (present(names)) then
         how%name_length = len(names)
         how%name_count = size(names)
      end if
      call settle(lf_new_array(how, data, names, unit, ligament_array%ref), ierr, errmsg)
   end function

   ! Bytes.
   type(ligament_value) function ligament_bytes(data, ierr, errmsg)
      integer(int8), intent(in) :: data(:)
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      call settle(lf_new_bytes(data, size(data, kind=c_size_t), ligament_bytes%ref), ierr, errmsg)
   end function

   ! Settings from a map, for a `muscle_settings_in` port.
   type(ligament_value) function ligament_settings(map, ierr, errmsg)
      class(ligament_value), intent(in) :: map
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      call settle(lf_new_settings(map%ref, ligament_settings%ref), ierr, errmsg)
   end function

   ! Puts an item under a key of a map: a number, a truth value, a text, or a value. A value that was built then
   ! belongs to the map, and its variable is empty; of any other value, the map gets a copy.
   subroutine set(self, key, item, unsigned, ierr, errmsg)
      class(ligament_value), intent(in) :: self
      character(len=*), intent(in) :: key
      class(*), intent(in) :: item
      logical, intent(in), optional :: unsigned
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      call put(self, item, unsigned, key, ierr, errmsg)
   end subroutine

   ! Does the same at the end of a list.
   subroutine append(self, item, unsigned, ierr, errmsg)
      class(ligament_value), intent(in) :: self
      class(*), intent(in) :: item
      logical, intent(in), optional :: unsigned
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      call put(self, item, unsigned, ierr=ierr, errmsg=errmsg)
   end subroutine

   subroutine put(self, item, unsigned, key, ierr, errmsg)
      class(ligament_value), intent(in) :: self
      class(*), intent(in) :: item
      logical, intent(in), optional :: unsigned
      character(len=*), intent(in), optional :: key
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      integer(c_size_t) :: length
      type(lf_scalar) :: scalar
      integer(c_int32_t) :: status
      length = 0
      if (present(key)) length = len(key, c_size_t)
      select type (item)
      class is (ligament_value)
         status = lf_put_value(self%ref, key, length, item%ref)
      type is (character(*))
         status = lf_put_text(self%ref, key, length, item, len(item, c_size_t))
      class default
         scalar = scalar_of(item, unsigned)
         if (scalar%kind == 0) then
            status = misuse(foreign)
         else
            status = lf_put_scalar(self%ref, key, length, scalar)
         end if
      end select
      call settle(status, ierr, errmsg)
   end subroutine

   ! A copy of a value. It can be changed, lives until it is freed, and must be freed. Its arrays share memory
   ! with the original.
   type(ligament_value) function copy(self, ierr, errmsg)
      class(ligament_value), intent(in) :: self
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      call settle(lf_copy(self%ref, copy%ref), ierr, errmsg)
   end function

   ! Frees a built value with all its parts. Has no effect on a part of another value, except that the variable
   ! is empty.
   subroutine free_value(self)
      class(ligament_value), intent(inout) :: self
      call lf_free_value(self%ref)
   end subroutine
end module
