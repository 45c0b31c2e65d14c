! Calls the operations that the other driver in Fortran does not use, and prints their results (README.md).
module taking
   use ligament
   use, intrinsic :: iso_fortran_env, only: int32, int64
   implicit none

   ! Receives on two slots, and sends both messages back. Then it sends a third message, and one with an overlay
   ! of its own.
   type, extends(ligament_submodel) :: taker
      logical :: done = .false.
   contains
      procedure :: initialise => nothing
      procedure :: is_done
      procedure :: observe => nothing
      procedure :: solve
      procedure :: observe_final => nothing
   end type

contains

   subroutine nothing(self, instance)
      class(taker), intent(inout) :: self
      type(ligament_instance), intent(in) :: instance
      if (instance%name() == '') self%done = .true.
   end subroutine

   logical function is_done(self)
      class(taker), intent(inout) :: self
      is_done = self%done
   end function

   subroutine solve(self, instance)
      class(taker), intent(inout) :: self
      type(ligament_instance), intent(in) :: instance
      type(ligament_message) :: first, second
      type(ligament_value) :: settings
      self%done = .true.
      call instance%receive('deal', first, slot=0)
      call instance%receive('deal', second, slot=1)
      call instance%set_port_length('back', 2)
      call instance%send('back', 1d0, first, slot=0)
      call instance%send('back', 1d0, second, slot=1)
      call instance%send('back', 2d0, [7_int64], slot=0)
      settings = ligament_map()
      call settings%set('k', 3)
      call instance%send('back', 2d0, 9, slot=1, settings=settings)
      call settings%free()
      call first%free()
      call second%free()
   end subroutine
end module

program operations
   use taking
   use, intrinsic :: iso_c_binding, only: c_associated, c_bool, c_ptr
   use, intrinsic :: iso_fortran_env, only: int32, int64, real64
   implicit none
   type(ligament_instance) :: instance
   type(taker) :: submodel
   character(len=16) :: role
   call get_command_argument(1, role)
   select case (role)
   case ('giver')
      call giver()
   case ('pulse')
      call pulse()
   case ('count')
      call count_events()
   case ('rows')
      call rows()
   case ('part')
      call part()
   case ('taker')
      instance = ligament_instance([ligament_port(LIGAMENT_S, 'deal[]'), ligament_port(LIGAMENT_O_I, 'back[]')])
      call ligament_run_submodel(instance, submodel)
      call instance%free()
   case default
      submodel%done = .true.
      call ligament_run_light(submodel)
   end select

contains

   ! Sends the two rows of the array that this rank has.
   subroutine rows()
      real(real64) :: mine(2, 6)
      integer :: first, step, i, j
      instance = ligament_instance([ligament_port(LIGAMENT_O_I, 'rows')])
      if (.not. instance%reuse_instance()) return
      first = 2 * instance%rank()
      call instance%map_block('rows', [int(first, int64), 0_int64], [2_int64, 6_int64])
      do step = 0, 2
         do j = 1, 6
            do i = 1, 2
               mine(i, j) = 10 * (first + i - 1) + j - 1 + 100 * step
            end do
         end do
         call instance%send('rows', real(step, real64), mine)
      end do
      call instance%free()
   end subroutine

   ! Receives the part of the array that belongs to this rank.
   subroutine part()
      real(real64) :: line(6), block(3, 4)
      integer(int64), allocatable :: whole(:)
      integer :: step, i, count
      instance = ligament_instance([ligament_port(LIGAMENT_S, 'part')])
      if (.not. instance%reuse_instance()) return
      call instance%array_shape('part', whole)
      print '(2(a, i0))', 'array ', whole(1), ' ', whole(2)
      count = 6
      select case (instance%rank())
      case (0)
         call instance%map_range('part', 3_int64, 9_int64)
      case (1)
         count = 3
         call instance%map_list('part', [23_int64, 0_int64, 7_int64])
      case default
         call instance%map_block('part', [1_int64, 2_int64], [3_int64, 4_int64])
      end select
      do step = 0, 2
         if (instance%rank() == 2) then
            call instance%receive_into('part', block)
            ! The block is transposed, because the last index runs fastest in the other languages and the
            ! weights follow that order.
            print '(a, i0)', 'part ', int(sum(reshape(transpose(block), [12]) * [(i, i = 1, 12)]))
         else
            call instance%receive_into('part', line(:count))
            print '(a, i0)', 'part ', int(sum(line(:count) * [(i, i = 1, count)]))
         end if
      end do
      call instance%free()
   end subroutine

   ! Sends three events in each tick.
   subroutine pulse()
      real(real64) :: now
      integer :: step
      integer(int32) :: first
      instance = ligament_instance([ligament_port(LIGAMENT_O_I, 'spikes')])
      if (.not. instance%reuse_instance()) return
      do step = 0, 2
         now = instance%time()
         first = int(10 * step + instance%rank(), int32)
         call instance%insert_event('spikes', now, first)
         call instance%insert_events('spikes', [now + 0.00025_real64, now + 0.0005_real64], &
            [first + 2, first + 4])
         call instance%tick()
      end do
      call instance%free()
   end subroutine

   ! Prints the sum of the events that are delivered in each tick.
   subroutine count_events()
      real(real64), allocatable :: times(:)
      integer(int32), allocatable :: ids(:)
      logical :: changed
      integer :: step
      instance = ligament_instance([ligament_port(LIGAMENT_S, 'input')])
      if (.not. instance%reuse_instance()) return
      do step = 0, 2
         call instance%tick(changed)
         call instance%events('input', times, ids)
         print '(3(a, i0))', 'tick ', nint(1d6 * instance%time()), ' ids ', sum(ids), ' times ', &
            nint(1d6 * sum(times))
      end do
      call instance%free()
   end subroutine

   function never(user) bind(c)
      type(c_ptr), value :: user
      logical(c_bool) :: never
      never = c_associated(user)
   end function

   integer function one(truth)
      logical, intent(in) :: truth
      one = merge(1, 0, truth)
   end function

   subroutine about()
      character(len=:), allocatable :: sending(:), receiving(:), settings(:)
      real(real64) :: ratio
      logical :: before, from
      call instance%set_interrupt_check(never)
      call instance%log(LIGAMENT_WARNING, 'said by the giver')
      call instance%list_ports(LIGAMENT_O_I, sending)
      call instance%list_ports(LIGAMENT_S, receiving)
      print '(2a)', 'name ', instance%name()
      print '(a, i0)', 'index ', size(instance%index())
      print '(2(a, i0))', 'rank ', instance%rank(), ' of ', instance%ranks()
      print '(a, i0)', 'run ', one(len(instance%run_name()) > 0)
      print '(2(a, i0))', 'ports ', size(sending), ' ', size(receiving)
      print '(2(a, i0))', 'connected ', one(instance%is_connected('deal')), ' ', &
         one(instance%is_connected('nothing'))
      print '(2(a, i0))', 'vector ', one(instance%is_vector_port('deal')), ' ', &
         one(instance%is_vector_port('plain'))
      print '(2(a, i0))', 'resizable ', one(instance%is_resizable('deal')), ' ', &
         one(instance%is_resizable('plain'))
      call instance%set_port_length('deal', 2)
      print '(a, i0)', 'length ', instance%get_port_length('deal')
      call instance%get_setting('ratio', ratio)
      call instance%list_settings(settings)
      print '(a, i0)', 'setting ', int(4 * ratio)
      print '(a, i0)', 'settings ', size(settings)
      call instance%declare_steerable('ratio', minimum=0d0, maximum=1d0, unit='m')
      before = instance%steer(0d0)
      from = instance%steer(1d0)
      call instance%get_setting('ratio', ratio)
      print '(a, 2(i0, 1x), i0)', 'steered ', one(before), one(from), int(4 * ratio)
   end subroutine

   subroutine giver()
      type(ligament_message) :: message
      type(ligament_loan) :: loan
      type(ligament_value) :: overlay, entry
      real(real64), pointer :: lent(:)
      integer(int64), pointer :: seven(:)
      real(real64) :: two(2)
      integer :: which, number, status
      logical :: connected
      instance = ligament_instance([ligament_port(LIGAMENT_O_I, 'deal[]'), &
                                     ligament_port(LIGAMENT_O_I, 'plain'), &
         ligament_port(LIGAMENT_S, 'back[]'), ligament_port(LIGAMENT_S, 'nothing')])
      if (.not. instance%reuse_instance()) error stop 'there is no pass'
      call about()
      call instance%send('deal', 1d0, 5, slot=0)
      call instance%create_loan(loan, lent, [2])
      lent = [1d0, 2d0]
      call instance%send_loan('deal', 1d0, loan, slot=1)

      which = instance%wait_any(['back', 'back'], [0, 1])
      print '(2(a, i0))', 'first ', which - 1, ' ', one(instance%poll('back', 0))
      print '(a, i0)', 'more ', one(instance%has_next('back', 0))
      call instance%receive('back', message, slot=0)
      call message%get(number)
      print '(2(a, i0))', 'came ', number, ' ', int(message%timestamp())
      overlay = message%settings()
      number = overlay%kind(ierr=status)
      print '(a, i0)', 'overlay ', one(status == LIGAMENT_OK)
      call instance%receive_into('back', two, slot=1)
      print '(a, i0)', 'into ', int(sum(two))
      call instance%receive('nothing', message, connected=connected)
      print '(a, i0)', 'nothing ', one(connected)
      which = instance%receive_any(['back'], message, [0])
      call message%view(seven)
      print '(2(a, i0))', 'any ', which - 1, ' ', seven(1)
      call instance%receive_with_settings('back', message, slot=1)
      overlay = message%settings()
      entry = overlay%find('k')
      call entry%get(status)
      call message%get(number)
      print '(2(a, i0))', 'under ', status, ' ', number
      print '(a, i0)', 'more ', one(instance%has_next('back', 1))
      call message%free()
      call instance%finish()
      call instance%error_shutdown('it is over, so that nobody hears this')
      call instance%free()
   end subroutine
end program
