! Vector ports joined to vector ports: "dealer" sets the length of its port in each round and sends to the slots
! in descending order; "player" learns the length, sends everything back, and answers on as many slots.
program slots
   use ligament
   use, intrinsic :: iso_fortran_env, only: error_unit, real64
   implicit none
   integer, parameter :: lengths(0:2) = [3, 1, 5]
   type(ligament_instance) :: instance
   type(ligament_message) :: message
   character(len=6) :: role
   character(len=500) :: text = ''
   integer :: round, slot, status

   call get_command_argument(1, role)
   if (role == 'dealer') then
      instance = ligament_instance([ligament_port(LIGAMENT_O_I, 'deal[]'), ligament_port(LIGAMENT_S, 'back[]')])
   else
      instance = ligament_instance([ligament_port(LIGAMENT_S, 'deal[]'), ligament_port(LIGAMENT_O_I, 'back[]')])
   end if
   call holds(instance%is_resizable('deal') .and. instance%get_port_length('deal') == 0, 'no slots yet')
   call holds(instance%reuse_instance(), 'a first pass')
   do round = 0, 2
      if (role == 'dealer') then
         call deal(lengths(round))
      else
         call play(lengths(round))
      end if
   end do
   if (role == 'player') then
      call instance%receive('deal', message, slot=0, ierr=status, errmsg=text)
      call ended(LIGAMENT_ERR_CLOSED, 'dealer.deal')
   end if
   call message%free()
   call instance%free()

contains

   include 'checks.inc'

   subroutine send_number(port, slot)
      character(len=*), intent(in) :: port
      integer, intent(in) :: slot
      type(ligament_loan) :: loan
      real(real64), pointer :: lent(:)
      real(real64) :: number, time
      number = 10 * round + slot
      time = round
      select case (mod(slot, 3))
      case (0)
         call instance%send(port, time, number, slot=slot)
      case (1)
         call instance%send(port, time, [number], slot=slot)
      case default
         call instance%create_loan(loan, lent, [1])
         lent = number
         call instance%send_loan(port, time, loan, slot=slot)
      end select
   end subroutine

   subroutine expect_number(port, slot)
      character(len=*), intent(in) :: port
      integer, intent(in) :: slot
      real(real64) :: number
      real(real64), pointer :: view(:)
      call instance%receive(port, message, slot)
      if (mod(slot, 3) == 0) then
         call message%get(number)
      else
         call message%view(view)
         number = view(1)
      end if
      call holds(number == 10 * round + slot, 'the number of the slot')
      call holds(message%timestamp() == round, 'the time of the round')
   end subroutine

   subroutine deal(length)
      integer, intent(in) :: length
      call instance%set_port_length('deal', length)
      call holds(instance%get_port_length('deal') == length, 'the length that was set')
      call instance%send('deal', 0d0, 0d0, slot=length, ierr=status, errmsg=text)
      call ended(LIGAMENT_ERR_USAGE, 'set_port_length')
      do slot = length - 1, 0, -1
         call send_number('deal', slot)
      end do
      call holds(instance%wait_any(['back', 'back'], [0, 1]) == 1, 'the first slot')
      do slot = 0, length - 1
         call expect_number('back', slot)
      end do
      call holds(instance%get_port_length('back') == length, 'the length that came')
   end subroutine

   subroutine play(length)
      integer, intent(in) :: length
      call expect_number('deal', 0)
      call holds(instance%get_port_length('deal') == length, 'the length that came')
      do slot = 1, length - 1
         call holds(instance%poll('deal', slot), 'the others are there')
         call expect_number('deal', slot)
      end do
      call instance%set_port_length('back', length)
      do slot = 0, length - 1
         call send_number('back', slot)
      end do
   end subroutine
end program
