! Gives tasks to three workers (worker.f90, or worker.c of the C face), and tests the operations of ports
! meanwhile.
program boss
   use ligament
   use, intrinsic :: iso_c_binding, only: c_associated, c_bool, c_ptr
   use, intrinsic :: iso_fortran_env, only: error_unit, int32, int64, real32, real64
   implicit none
   type(ligament_instance) :: instance, none
   type(ligament_message) :: message
   real(real64), pointer :: view(:, :) => null(), row(:) => null()
   integer(int32) :: table(4, 4)
   integer(int64) :: total
   real(real64) :: doubles(5), time, next
   real(real32) :: four(4), five(5)
   integer :: i, j, which, left(3), status
   logical :: more
   character(len=500) :: text = ''

   instance = ligament_instance([ligament_port(LIGAMENT_O_I, 'tasks[]'), ligament_port(LIGAMENT_O_I, 'spare'), &
      ligament_port(LIGAMENT_S, 'results[]'), ligament_port(LIGAMENT_S, 'nowhere')], ranks=2, threads=3)
   call holds(instance%reuse_instance(), 'a first pass')
   call check_ports()
   call check_settings()
   call instance%log(LIGAMENT_WARNING, 'the boss begins')

   ! The workers have no task yet, so no message comes.
   call instance%receive('results', message, slot=0, timeout=0.02d0, ierr=status, errmsg=text)
   call ended(LIGAMENT_ERR_TIMED_OUT, 'results[0]')
   which = instance%wait_any(['results', 'results'], [0, 1], timeout=0.02d0, ierr=status, errmsg=text)
   call ended(LIGAMENT_ERR_TIMED_OUT, '')
   call holds(which == 0, 'none of them')
   which = instance%receive_any(['results', 'results'], message, [0, 1], timeout=0.02d0, ierr=status, &
      errmsg=text)
   call ended(LIGAMENT_ERR_TIMED_OUT, '')
   which = instance%receive_any(['results', 'results'], message, [0], ierr=status, errmsg=text)
   call ended(LIGAMENT_ERR_USAGE, 'as many slots as ports')
   call holds(which == 0, 'received from none of them')
   more = .true.
   call instance%receive('nowhere', message, connected=more)
   call holds(.not. more, 'nothing is connected, and that is no error')
   call instance%receive('spare', message, connected=more, ierr=status, errmsg=text)
   call ended(LIGAMENT_ERR_USAGE, 'sends')
   call holds(.not. instance%poll('results', 2), 'nothing is there')
   call instance%set_interrupt_check(weary)
   call instance%receive('results', message, slot=0, ierr=status, errmsg=text)
   call ended(LIGAMENT_ERR_INTERRUPTED, '')
   call instance%set_interrupt_check()

   ! One task for each; the answers come as loans, in any order.
   do i = 0, 2
      call instance%send('tasks', 1d0, 10 * i, slot=i)
   end do
   left = [0, 1, 2]
   do i = 3, 1, -1
      if (i == 3) then
         which = instance%wait_any(spread('results', 1, i), left(:i))
         call instance%receive('results', message, slot=left(which), connected=more)
         call holds(more, 'the workers are connected')
      else
         which = instance%receive_any(spread('results', 1, i), message, left(:i))
      end if
      call message%view(view)
      call message%view(row, ierr=status, errmsg=text)
      call holds(index(text, from_worker(left(which))) > 0, 'where it came from')
      call ended(LIGAMENT_ERR_UNEXPECTED, 'an array of float64 with 1 dimension was expected')
      call message%get(total, ierr=status, errmsg=text)
      call ended(LIGAMENT_ERR_UNEXPECTED, 'an array of int64 with shape [] was expected')
      call holds(all(shape(view) == [40, 50]), 'the shape of a loan')
      call holds(all(view(3, :) == [(10 * left(which) + 100 + j, j=0, 49)]), 'a row')
      call holds(view(40, 50) == 10 * left(which) + 1999, 'the last element')
      left(which:2) = left(which + 1:)
   end do

   ! Every second column of a table, and, for another, every second row backwards.
   do i = 1, 4
      table(i, :) = [(4 * (i - 1) + j, j=0, 3)]
   end do
   do i = 0, 2
      call instance%send('tasks', 2d0, table(:, ::2), slot=i)
   end do
   do i = 0, 2
      call instance%receive('results', message, slot=i)
      call message%get(total)
      call holds(total == 0 + 2 + 4 + 6 + 8 + 10 + 12 + 14, 'the sum')
      call message%view(view, ierr=status, errmsg=text)
      call holds(index(text, from_worker(i)) > 0, 'from whom the integer came')
      call ended(LIGAMENT_ERR_UNEXPECTED, 'an integer')
      call holds(.not. associated(view), 'no view')
      call message%get(more, ierr=status, errmsg=text)
      call ended(LIGAMENT_ERR_UNEXPECTED, 'in the message on ' // from_worker(i) // ': the value is an integer')
   end do

   ! Arrays with a wrong shape and with a wrong type; then the conduits end.
   four = -1
   doubles = -1
   call instance%receive_into('results', four, slot=0, ierr=status, errmsg=text)
   call holds(index(text, from_worker(0)) > 0, 'from whom the array came')
   call ended(LIGAMENT_ERR_UNEXPECTED, '[5]')
   call instance%receive_into('results', doubles, slot=1, ierr=status, errmsg=text)
   call ended(LIGAMENT_ERR_UNEXPECTED, 'float64')
   call holds(all(four == -1) .and. all(doubles == -1), 'nothing was written')
   call instance%receive_into('results', five, time, next, more, slot=2)
   call holds(time == 3 .and. .not. more .and. next == huge(next), 'the times')
   call holds(all(five == [0, 1, 2, 3, 4]), 'the numbers')
   call instance%receive('results', message, slot=1, ierr=status, errmsg=text)
   call ended(LIGAMENT_ERR_CLOSED, 'results[1]')
   call holds(instance%poll('results', 1), 'an end is something')
   which = instance%receive_any(spread('results', 1, 3), message, [0, 1, 2], ierr=status, errmsg=text)
   call ended(LIGAMENT_ERR_CLOSED, 'have ended')

   call holds(.not. instance%reuse_instance(), 'one pass')
   call instance%send('spare', 0d0, 1, ierr=status, errmsg=text)
   call ended(LIGAMENT_ERR_USAGE, 'is over')
   call instance%finish()
   none = instance
   call instance%free()
   call instance%free()
   call none%send('spare', 0d0, 1, ierr=status, errmsg=text)
   call ended(LIGAMENT_ERR_USAGE, 'there is no instance')
   call none%free()

contains

   include 'checks.inc'

   function weary(user) bind(c)
      type(c_ptr), value :: user
      logical(c_bool) :: weary
      weary = .not. c_associated(user)
   end function

   ! Errors name the port from which a worker's value came.
   function from_worker(slot) result(words)
      integer, intent(in) :: slot
      character(len=:), allocatable :: words
      words = 'port "results[' // achar(iachar('0') + slot) // &
         ']" from worker[' // achar(iachar('0') + slot) // '].out'
   end function

   subroutine check_ports()
      character(len=:), allocatable :: names(:)
      call instance%list_ports(LIGAMENT_O_I, names)
      call holds(size(names) == 2 .and. all(names == ['tasks', 'spare']), 'ports that send')
      call instance%list_ports(LIGAMENT_F_INIT, names)
      call holds(size(names) == 0, 'no F_INIT ports')
      call holds(instance%is_connected('tasks') .and. .not. instance%is_connected('spare '), 'connected')
      call holds(instance%is_vector_port('results') .and. instance%get_port_length('results') == 3, &
         'three slots')
      call holds(instance%name() == 'boss' .and. size(instance%index()) == 0 &
         .and. len(instance%run_name()) > 0, 'names')
      i = instance%get_port_length('spare', ierr=status, errmsg=text)
      call ended(LIGAMENT_ERR_USAGE, 'not a vector port')
      call instance%send_none('taks', 0d0, ierr=status, errmsg=text)
      call ended(LIGAMENT_ERR_USAGE, 'no port "taks"')
      call instance%send('results', 0d0, 1, slot=0, ierr=status, errmsg=text)
      call ended(LIGAMENT_ERR_USAGE, 'receives')
      call instance%send('tasks', 0d0, 1, ierr=status, errmsg=text)
      call ended(LIGAMENT_ERR_USAGE, 'which slot')
      call instance%send('tasks', 0d0, [1, 2], slot=3, ierr=status, errmsg=text)
      call ended(LIGAMENT_ERR_USAGE, 'no slot 3')
      call instance%send('tasks', 0d0, 1, slot=-1, ierr=status, errmsg=text)
      call ended(LIGAMENT_ERR_USAGE, 'no slot -1')
      call instance%receive('tasks', message, ierr=status, errmsg=text)
      call ended(LIGAMENT_ERR_USAGE, 'sends')
      call instance%receive('nowhere', message, ierr=status, errmsg=text)
      call ended(LIGAMENT_ERR_USAGE, 'nothing is connected')
      call instance%send('spare', 0d0, [1d0, 2d0])
      call instance%send(repeat('x', 300), 0d0, 1, ierr=status, errmsg=text)
      call ended(LIGAMENT_ERR_USAGE, 'too long')
   end subroutine

   subroutine check_settings()
      logical :: flag
      integer :: count
      integer(int64) :: wide
      real(real32) :: single
      real(real64) :: ratio
      character(len=:), allocatable :: title, names(:)
      integer, allocatable :: integers(:)
      integer(int64), allocatable :: wides(:)
      real(real64), allocatable :: numbers(:), grid(:, :)
      type(ligament_value) :: value, row
      call instance%get_setting('flag', flag)
      call instance%get_setting('count', count)
      call instance%get_setting('count', wide)
      call instance%get_setting('count', ratio)
      call holds(flag .and. count == 3 .and. wide == 3 .and. ratio == 3, 'simple settings')
      call instance%get_setting('ratio', ratio)
      call instance%get_setting('ratio', single)
      call instance%get_setting('title', title)
      call holds(ratio == 0.25d0 .and. single == 0.25 .and. title == 'a title' .and. len(title) == 7, 'a text')
      call instance%get_setting('integers', integers)
      call instance%get_setting('integers', wides)
      call instance%get_setting('integers', numbers)
      call holds(all(integers == [1, -2]) .and. all(wides == [1, -2]) .and. all(numbers == [1, -2]), 'integers')
      call instance%get_setting('numbers', numbers)
      call instance%get_setting('grid', grid)
      call holds(all(numbers == [0.5d0, 1.5d0]), 'numbers')
      call holds(all(shape(grid) == 2) .and. all(grid == reshape([1, 3, 2, 4], [2, 2])), 'row i is grid(i, :)')
      call holds(instance%get_setting_type('grid') == LIGAMENT_SETTING_FLOAT_GRID, 'the type of a setting')
      call instance%list_settings(names)
      call holds(size(names) == 7, 'seven settings')
      value = instance%get_setting_as_value('grid')
      row = value%at(2)
      row = row%at(1)
      call row%get(ratio)
      call holds(ratio == 3, 'a setting as a value')
      call value%free()
      call instance%get_setting('title', count, ierr=status, errmsg=text)
      call ended(LIGAMENT_ERR_SETTING_TYPE, 'title')
      count = -7
      call instance%get_setting('absent', count, ierr=status, errmsg=text)
      call ended(LIGAMENT_ERR_SETTING_UNSET, 'absent')
      call holds(count == -7, 'untouched')
      call instance%get_setting('absent', count, 5)
      call holds(count == 5, 'a default')
      call instance%get_setting('count', count, default=5)
      call holds(count == 3, 'no default')
      call instance%get_setting('absent', title, 'text')
      call instance%get_setting('absent', numbers, [1d0])
      call holds(title == 'text' .and. all(numbers == [1d0]), 'more defaults')
      call instance%get_setting('title', count, 5, ierr=status, errmsg=text)
      call ended(LIGAMENT_ERR_SETTING_TYPE, 'title')
   end subroutine
end program
