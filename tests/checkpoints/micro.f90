! A micro model that keeps a sum of all of its passes, and saves within and between them.
program micro
   use ligament
   use, intrinsic :: iso_fortran_env, only: real64
   implicit none
   type(ligament_instance) :: instance
   ! The state: sum, passes, first time, step, value.
   real(real64) :: state(5)
   integer :: unit
   state = 0
   instance = ligament_instance([ligament_port(LIGAMENT_F_INIT, 'in'), ligament_port(LIGAMENT_O_F, 'out')], &
      uses_checkpoint_api=.true.)
   do while (instance%reuse_instance())
      if (state(2) < 0.5) call call_out_of_order()
      call pass()
   end do
   open (newunit=unit, file='end.txt')
   write (unit, '(i0, 1x, es24.17)') nint(state(2)), state(1)
   close (unit)
   call instance%free()

contains

   ! Writes the file of the code's own beside its message.
   subroutine write_sum()
      open (newunit=unit, file=instance%snapshot_directory()//'/sum.bin', access='stream', status='replace')
      write (unit) state(1)
      close (unit)
   end subroutine

   subroutine load()
      type(ligament_message) :: message
      real(real64) :: sum
      open (newunit=unit, file=instance%snapshot_directory()//'/sum.bin', access='stream', status='old')
      read (unit) sum
      close (unit)
      call instance%load_snapshot(message)
      call message%get(state)
      call message%free()
      if (sum < state(1) .or. sum > state(1)) error stop 5
      open (newunit=unit, file='resumed.txt')
      write (unit, '(i0)') nint(state(4))
      close (unit)
   end subroutine

   ! A wrong call at the beginning of a pass.
   subroutine call_out_of_order()
      logical :: yes
      integer :: status
      character(len=500) :: text
      yes = instance%should_init(ierr=status, errmsg=text)
      if (yes .or. status /= LIGAMENT_ERR_USAGE) error stop 6
      open (newunit=unit, file='order.txt')
      write (unit, '(a)') trim(text)
      close (unit)
   end subroutine

   subroutine pass()
      type(ligament_message) :: message
      real(real64) :: time
      if (instance%resuming()) call load()
      if (instance%should_init()) then
         call instance%receive('in', message)
         state(3) = message%timestamp()
         state(4) = 0
         call message%get(state(5))
         call message%free()
      end if
      do while (state(4) < 5)
         state(5) = state(5)*0.7_real64 + 0.01_real64*state(1)
         state(4) = state(4) + 1
         time = state(3) + 0.1_real64*state(4)
         if (instance%should_save_snapshot(time)) then
            call write_sum()
            call instance%save_snapshot(time, state)
         end if
      end do
      state(1) = state(1) + state(5)
      state(2) = state(2) + 1
      time = state(3) + 0.5_real64
      call instance%send('out', time, state(5))
      if (instance%should_save_final_snapshot()) call save_final(time)
   end subroutine

   ! Saves the state as a value, not as an array.
   subroutine save_final(time)
      real(real64), intent(in) :: time
      type(ligament_value) :: saved
      call write_sum()
      saved = ligament_array(state)
      call instance%save_final_snapshot(time, saved)
      call saved%free()
   end subroutine
end program
