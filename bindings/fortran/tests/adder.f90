! Light components: each adds all numbers that the one before it sends.
module adding
   use ligament
   use, intrinsic :: iso_fortran_env, only: real64
   implicit none

   type, extends(ligament_submodel) :: adder
      integer :: step = 0, steps = 0, total = 0
   contains
      procedure :: initialise
      procedure :: is_done
      procedure :: observe
      procedure :: solve
      procedure :: observe_final
   end type

contains

   subroutine initialise(self, instance)
      class(adder), intent(inout) :: self
      type(ligament_instance), intent(in) :: instance
      call instance%get_setting('steps', self%steps)
      self%step = 0
   end subroutine

   logical function is_done(self)
      class(adder), intent(inout) :: self
      is_done = self%step == self%steps
   end function

   subroutine observe(self, instance)
      class(adder), intent(inout) :: self
      type(ligament_instance), intent(in) :: instance
      character(len=:), allocatable :: fails
      call instance%get_setting('fails', fails, '')
      if (fails == instance%name()) call self%fail('it does not add up')
      call instance%send('out', real(self%step, real64), self%total + 1)
   end subroutine

   subroutine solve(self, instance)
      class(adder), intent(inout) :: self
      type(ligament_instance), intent(in) :: instance
      integer :: came
      call instance%receive_into('in', came)
      self%total = self%total + came
      self%step = self%step + 1
   end subroutine

   subroutine observe_final(self, instance)
      class(adder), intent(inout) :: self
      type(ligament_instance), intent(in) :: instance
      print '(2a, i0)', instance%name(), ': ', self%total
   end subroutine
end module

program adders
   use adding
   implicit none
   call ligament_run_light(adder())
end program
