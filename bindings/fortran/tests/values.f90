! Values of every kind, built and read without a run; refused operations and their errors.
program values
   use ligament
   use, intrinsic :: iso_c_binding, only: c_bool
   use, intrinsic :: iso_fortran_env, only: error_unit, int8, int16, int32, int64, real32, real64
   implicit none
   type(ligament_instance) :: instance
   type(ligament_message) :: message
   type(ligament_value) :: map, list, value, stale, copy, inner
   type(ligament_loan) :: loan
   character(len=500) :: text = ''
   integer :: status, number
   integer(int8) :: small
   integer(int64) :: large
   real(real32) :: single
   real(real64) :: double, grid(2, 3), back(2, 3), wide(4, 6)
   complex(real64) :: z
   complex(real32) :: c
   logical :: truth
   logical(int8) :: truths1(3)
   logical(int16) :: truths2(3)
   logical(int64) :: truths8(3)
   integer(int8), pointer :: bytes(:)
   real(real64), pointer :: view(:, :) => null(), line(:)
   logical(c_bool), pointer :: flags(:)
   integer(int64), pointer :: longs(:) => null()
   integer :: i

   call holds(ligament_version() == '0.1.0', 'the version')
   call holds(ligament_status_name(LIGAMENT_ERR_CLOSED) == 'LIG_ERR_CLOSED', 'the name of a status')
   call holds(ligament_kind_name(LIGAMENT_KIND_MAP) == 'map', 'the name of a kind')

   ! Without a run, creating an instance fails.
   instance = ligament_instance(ierr=status, errmsg=text)
   call ended(LIGAMENT_ERR_REGISTRATION, 'LIGAMENT_AGENT')
   instance = ligament_instance([ligament_port(9, 'a')], ierr=status, errmsg=text)
   call ended(LIGAMENT_ERR_USAGE, 'operator 9')
   truth = instance%reuse_instance(ierr=status, errmsg=text)
   call ended(LIGAMENT_ERR_USAGE, 'there is no instance here')
   call holds(.not. truth .and. instance%name() == '', 'nobody')
   call instance%receive('in', message, ierr=status, errmsg=text)
   call ended(LIGAMENT_ERR_USAGE, 'there is no instance here')
   call instance%create_loan(loan, view, [2, 3], ierr=status, errmsg=text)
   call ended(LIGAMENT_ERR_USAGE, 'there is no instance here')
   call holds(.not. associated(view), 'no memory')
   call instance%free_loan(loan)
   call ligament_run_light_refused()

   ! Empty values.
   number = message%kind(ierr=status, errmsg=text)
   call ended(LIGAMENT_ERR_USAGE, 'no value here')
   call message%get(number, ierr=status, errmsg=text)
   call ended(LIGAMENT_ERR_USAGE, 'no value here')
   call message%view(view, ierr=status, errmsg=text)
   call ended(LIGAMENT_ERR_USAGE, 'no value here')
   call message%free()
   call map%append(1, ierr=status, errmsg=text)
   call ended(LIGAMENT_ERR_USAGE, 'no value here')

   ! A map with everything in it.
   map = ligament_map()
   call map%set('none', ligament_none())
   call map%set('truth', .true.)
   call map%set('integer', -5)
   call map%set('small', -1_int8, unsigned=.true.)
   call map%set('large', -1_int64, unsigned=.true.)
   call map%set('single', 0.5)
   call map%set('double', 0.1d0)
   call map%set('complex', (1d0, -2d0))
   call map%set('text', 'Zoë  ')
   call map%set('empty', '')
   call map%set('bytes', ligament_bytes([1_int8, -1_int8]))
   grid = reshape([1, 2, 3, 4, 5, 6], [2, 3])
   wide = 0
   wide(::2, 6:1:-2) = grid
   call map%set('grid', ligament_array(grid, names=['x   ', 'time'], unit='K'))
   call map%set('section', ligament_array(wide(::2, 6:1:-2)))
   call map%set('zero', ligament_array(3.5d0))
   call map%set('unsigned', ligament_array([-1, 2], unsigned=.true.))
   call map%set('none at all', ligament_array(grid(:, 1:0)))
   list = ligament_list()
   call list%append(1)
   call list%append('two')
   inner = ligament_list()
   call inner%append(ligament_map())
   stale = inner
   call list%append(inner)
   call inner%append(1, ierr=status, errmsg=text)
   call ended(LIGAMENT_ERR_USAGE, 'put into another value')
   call stale%free()
   call inner%free()
   call map%set('list', list)
   call holds(map%count() == 17 .and. map%kind() == LIGAMENT_KIND_MAP, 'seventeen entries')
   call holds(map%key(1) == 'none' .and. map%has('text') .and. .not. map%has('texts'), 'keys')

   value = map%find('none')
   call holds(value%kind() == LIGAMENT_KIND_NONE, 'none')
   value = map%find('truth')
   call value%get(truth)
   call holds(truth .and. value%kind() == LIGAMENT_KIND_BOOL, 'a truth value')
   value = map%find('integer')
   call value%get(number)
   call value%get(double)
   call value%get(c)
   call holds(number == -5 .and. double == -5 .and. c == (-5, 0), 'an integer')
   call value%get(number, unsigned=.true., ierr=status, errmsg=text)
   call ended(LIGAMENT_ERR_UNEXPECTED, '')
   call value%get(truth, ierr=status, errmsg=text)
   call ended(LIGAMENT_ERR_UNEXPECTED, 'integer')
   value = map%find('small')
   call value%get(number)
   call value%get(small, unsigned=.true.)
   call holds(number == 255 .and. small == -1, 'unsigned bits of a byte')
   call value%get(small, ierr=status, errmsg=text)
   call ended(LIGAMENT_ERR_UNEXPECTED, '255 does not fit int8')
   value = map%find('large')
   call holds(value%kind() == LIGAMENT_KIND_UINT, 'above int64')
   call value%get(large, unsigned=.true.)
   call holds(large == -1, 'unsigned bits')
   call value%get(large, ierr=status, errmsg=text)
   call ended(LIGAMENT_ERR_UNEXPECTED, '')
   value = map%find('single')
   call value%get(single)
   call holds(single == 0.5, 'a single')
   value = map%find('double')
   call value%get(double)
   call holds(double == 0.1d0, 'a double')
   call value%get(number, ierr=status, errmsg=text)
   call ended(LIGAMENT_ERR_UNEXPECTED, 'number')
   value = map%find('complex')
   call value%get(z)
   call holds(z == (1, -2), 'a complex')
   value = map%find('text')
   call holds(value%get_text() == 'Zoë  ' .and. len(value%get_text()) == len('Zoë  '), 'a text with its blanks')
   call value%get(text, ierr=status, errmsg=text)
   ! gfortran 12 gives the length of the wrong text, so that none is written.
   call ended(LIGAMENT_ERR_USAGE, '')
   value = map%find('empty')
   call holds(len(value%get_text()) == 0, 'an empty text')
   value = map%find('bytes')
   call value%view_bytes(bytes)
   call holds(all(bytes == [1, -1]), 'bytes')
   value = map%find('grid')
   call holds(value%dtype() == 'float64' .and. value%rank() == 2 .and. all(value%shape() == [2, 3]), &
      'what the array is')
   call holds(value%order() == LIGAMENT_COLUMN_MAJOR .and. value%unit() == 'K', 'how the array lies')
   call holds(value%dimension_name(1) == 'x' .and. value%dimension_name(2) == 'time', 'names of dimensions')
   call value%view(view)
   call holds(all(view == grid) .and. is_contiguous(view), 'in place')
   call value%get(back)
   call holds(all(back == grid), 'copied')
   wide = 0
   call value%get(wide(::2, 2::2))
   call holds(all(wide(::2, 2::2) == grid) .and. count(wide /= 0) == 6, 'copied into a section')
   call value%view(line, ierr=status, errmsg=text)
   call ended(LIGAMENT_ERR_UNEXPECTED, &
      'an array of float64 with shape [2, 3], where an array of float64 with 1 dimension was')
   call value%get(wide, ierr=status, errmsg=text)
   call ended(LIGAMENT_ERR_UNEXPECTED, 'with shape [4, 6] was expected')
   value = map%find('section')
   call value%view(view)
   call holds(all(view == grid), 'a section')
   call value%view(longs, ierr=status, errmsg=text)
   call ended(LIGAMENT_ERR_UNEXPECTED, 'an array of int64 with 1 dimension was expected')
   value = map%find('zero')
   call value%get(double)
   call holds(value%kind() == LIGAMENT_KIND_ARRAY .and. double == 3.5d0, 'no dimensions')
   value = map%find('unsigned')
   call holds(value%dtype() == 'uint32', 'unsigned elements')
   call value%view(longs, ierr=status, errmsg=text)
   call ended(LIGAMENT_ERR_UNEXPECTED, 'uint32')
   value = map%find('none at all')
   call value%view(view)
   call holds(all(shape(view) == [2, 0]), 'no elements')

   value = map%find('list')
   value = value%at(3)
   value = value%at(1)
   call holds(value%kind() == LIGAMENT_KIND_MAP .and. value%count() == 0, 'nested')
   value = map%find('list')
   value = value%at(4, ierr=status, errmsg=text)
   call ended(LIGAMENT_ERR_USAGE, 'no item 4 in a list of 3')
   value = map%at(0, ierr=status, errmsg=text)
   call ended(LIGAMENT_ERR_USAGE, 'no item 0')
   value = map%find('texts', ierr=status, errmsg=text)
   call ended(LIGAMENT_ERR_UNEXPECTED, 'no "texts"')
   value = map%find('integer')
   copy = value%at(1, ierr=status, errmsg=text)
   call ended(LIGAMENT_ERR_UNEXPECTED, 'integer')

   ! A part of a value becomes stale when the value is freed or changed; a copy stays valid.
   value = map%find('grid')
   copy = value%copy()
   inner = map%find('list')
   call inner%append(4, ierr=status, errmsg=text)
   call ended(LIGAMENT_ERR_USAGE, 'cannot be changed')
   call map%set('more', 1)
   call value%get(back, ierr=status, errmsg=text)
   call ended(LIGAMENT_ERR_USAGE, 'changed since')
   call map%set('itself', map, ierr=status, errmsg=text)
   call ended(LIGAMENT_ERR_USAGE, 'itself')
   stale = map
   value = map%find('grid')
   call map%free()
   call map%free()
   call holds(.not. stale%has('grid', ierr=status, errmsg=text), 'gone')
   call ended(LIGAMENT_ERR_USAGE, 'freed')
   call stale%free()
   call value%view(view, ierr=status, errmsg=text)
   call ended(LIGAMENT_ERR_USAGE, 'freed')
   call copy%get(back)
   call holds(all(back == grid), 'a copy')
   call copy%free()

   ! Truth values of every kind.
   do i = 1, 4
      select case (i)
      case (1); value = ligament_array([logical(int8) :: .true., .false., .true.])
      case (2); value = ligament_array([logical(int16) :: .true., .false., .true.])
      case (3); value = ligament_array([.true., .false., .true.])
      case (4); value = ligament_array([logical(int64) :: .true., .false., .true.])
      end select
      call holds(value%dtype() == 'bool', 'truth values')
      call value%view(flags)
      call value%get(truths1)
      call value%get(truths2)
      call value%get(truths8)
      call holds(all(flags .eqv. [.true., .false., .true.]) .and. all(flags .eqv. truths1), 'one byte')
      call holds(logical(all(truths2 .eqv. truths1) .and. all(truths8 .eqv. truths1)), 'more bytes')
      call value%free()
   end do

   ! For an array in C's order, element (i, j) of the pointer stays element (i, j).
   value = ligament_array(grid, order=LIGAMENT_ROW_MAJOR)
   call value%view(view)
   call holds(value%order() == LIGAMENT_ROW_MAJOR .and. all(view == grid) .and. .not. is_contiguous(view), &
      'row-major')
   copy = ligament_array(view)
   call holds(copy%order() == LIGAMENT_ROW_MAJOR, 'what lies in C''s order travels so')
   call copy%free()
   call value%free()

   ! Operations that are refused.
   value = ligament_array(['ab', 'cd'], ierr=status, errmsg=text)
   call ended(LIGAMENT_ERR_USAGE, '')
   value = ligament_array([1.0_16], ierr=status, errmsg=text)
   call ended(LIGAMENT_ERR_USAGE, 'real of 16 bytes')
   value = ligament_array(grid, names=['x'], ierr=status, errmsg=text)
   call ended(LIGAMENT_ERR_USAGE, '1 names were given for 2 dimensions')
   value = ligament_value(1.0_16, ierr=status, errmsg=text)
   call ended(LIGAMENT_ERR_USAGE, 'no counterpart')
   number = 255
   value = ligament_value(achar(number), ierr=status, errmsg=text)
   call ended(LIGAMENT_ERR_USAGE, 'UTF-8')
   call assumed(grid, 2)
   value = ligament_array([integer ::])
   call holds(all(value%shape() == [0]), 'an array without elements')
   call value%free()
   nullify (view)
   value = ligament_array(view, ierr=status, errmsg=text)
   call ended(LIGAMENT_ERR_USAGE, 'not associated')
   print '(a)', 'all is as it should be'

contains

   include 'checks.inc'

   subroutine assumed(array, n)
      integer, intent(in) :: n
      real(real64), intent(in) :: array(n, *)
      value = ligament_array(array, ierr=status, errmsg=text)
      call ended(LIGAMENT_ERR_USAGE, 'assumed size')
   end subroutine

   subroutine ligament_run_light_refused()
      call instance%finish(ierr=status, errmsg=text)
      call ended(LIGAMENT_ERR_USAGE, 'there is no instance here')
   end subroutine
end program
