! Fortran: does the same as ping.c.
program ping
   use ligament
   use, intrinsic :: iso_fortran_env, only: int64, real64
   implicit none
   type(ligament_instance) :: instance
   type(ligament_message) :: message
   real(real64), allocatable :: values(:)
   real(real64), pointer :: view(:)
   integer(int64), allocatable :: times(:)
   integer(int64) :: began, ended, rate, bytes
   integer :: rounds, i, unit
   logical :: first
   character(len=32) :: word
   character(len=1024) :: file

   call get_command_argument(1, word)
   first = word == 'a'
   call get_command_argument(2, word)
   read (word, *) bytes
   call get_command_argument(3, word)
   read (word, *) rounds
   call get_command_argument(4, file)
   allocate (values(bytes / 8), source=0._real64)
   allocate (times(rounds))
   call system_clock(count_rate=rate)
   instance = ligament_instance()
   if (.not. instance%reuse_instance()) error stop 1
   do i = 1, rounds
      if (first) then
         call system_clock(began)
         call give()
         call take()
         call system_clock(ended)
         times(i) = ended - began
      else
         call take()
         call give()
      end if
   end do
   if (first) then
      open (newunit=unit, file=trim(file), action='write')
      do i = 1, rounds
         write (unit, '(i0)') times(i) * (1000000000_int64 / rate)
      end do
      close (unit)
   end if
   call instance%free()

contains

   subroutine give()
      if (size(values) == 0) then
         call instance%send_none('out', 0._real64)
      else
         call instance%send('out', 0._real64, values)
      end if
   end subroutine

   subroutine take()
      call instance%receive('in', message)
      if (size(values) > 0) then
         call message%view(view)
         if (size(view) /= size(values)) error stop 2
      end if
      call message%free()
   end subroutine
end program
