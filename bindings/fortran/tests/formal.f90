! A formal submodel that counts to three with the help of an echo. With an argument, its third step fails: the
! submodel says so ("fail"), or a call fails whose status the code does not read ("stop").
module counting
   use ligament
   use, intrinsic :: iso_fortran_env, only: real64
   implicit none

   type, extends(ligament_submodel) :: counter
      integer :: step = 0, initialised = 0, observed = 0, finished = 0
      character(len=8) :: fails = ''
   contains
      procedure :: initialise
      procedure :: is_done
      procedure :: observe
      procedure :: solve
      procedure :: observe_final
   end type

contains

   subroutine initialise(self, instance)
      class(counter), intent(inout) :: self
      type(ligament_instance), intent(in) :: instance
      if (instance%name() /= 'macro') call self%fail('this is not macro')
      self%initialised = self%initialised + 1
   end subroutine

   logical function is_done(self)
      class(counter), intent(inout) :: self
      is_done = self%step == 3
   end function

   subroutine observe(self, instance)
      class(counter), intent(inout) :: self
      type(ligament_instance), intent(in) :: instance
      self%observed = self%observed + 1
      call instance%send('out', real(self%step, real64), self%step)
   end subroutine

   subroutine solve(self, instance)
      class(counter), intent(inout) :: self
      type(ligament_instance), intent(in) :: instance
      type(ligament_message) :: message
      real(real64), pointer :: view(:)
      integer :: step
      call instance%receive('in', message)
      call message%get(step)
      if (step /= self%step) call self%fail('another step came')
      if (self%fails == 'fail' .and. step == 2) call self%fail('the third step does not converge')
      if (self%fails == 'stop' .and. step == 2) call message%view(view)
      call message%free()
      self%step = self%step + 1
   end subroutine

   subroutine observe_final(self, instance)
      class(counter), intent(inout) :: self
      type(ligament_instance), intent(in) :: instance
      if (instance%name() /= 'macro') call self%fail('this is not macro')
      self%finished = self%finished + 1
   end subroutine
end module

program formal
   use counting
   implicit none
   type(ligament_instance) :: instance
   type(counter) :: three
   integer :: status
   character(len=100) :: text

   if (command_argument_count() > 0) call get_command_argument(1, three%fails)
   instance = ligament_instance()
   call ligament_run_submodel(instance, three, ierr=status, errmsg=text)
   if (three%fails == 'fail') then
      if (status /= LIGAMENT_ERR_USAGE .or. index(text, 'does not converge') == 0) stop 7
   else if (status /= LIGAMENT_OK .or. three%step /= 3 .or. three%initialised /= 1 .or. three%observed /= 3 &
         .or. three%finished /= 1) then
      stop 8
   end if
   call instance%free()
end program
