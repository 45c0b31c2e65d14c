! The micro model as a submodel that the library drives: with "light" as argument by ligament_run_light,
! otherwise by ligament_run_submodel.
module cells
   use ligament
   use, intrinsic :: iso_fortran_env, only: real64
   implicit none

   type, extends(ligament_submodel_state) :: cell
      ! Sum, passes, first time, step, value.
      real(real64) :: state(5) = 0
   contains
      procedure :: initialise
      procedure :: is_done
      procedure :: observe
      procedure :: solve
      procedure :: observe_final
      procedure :: model_time
      procedure :: save => save_cell
      procedure :: restore
   end type

contains

   subroutine initialise(self, instance)
      class(cell), intent(inout) :: self
      type(ligament_instance), intent(in) :: instance
      type(ligament_message) :: message
      call instance%receive('in', message)
      self%state(3) = message%timestamp()
      self%state(4) = 0
      call message%get(self%state(5))
      call message%free()
   end subroutine

   logical function is_done(self)
      class(cell), intent(inout) :: self
      is_done = self%state(4) >= 5
   end function

   subroutine observe(self, instance)
      class(cell), intent(inout) :: self
      type(ligament_instance), intent(in) :: instance
      if (.false.) print *, self%state, instance%name()
   end subroutine

   subroutine solve(self, instance)
      class(cell), intent(inout) :: self
      type(ligament_instance), intent(in) :: instance
      if (.false.) print *, instance%name()
      self%state(5) = self%state(5)*0.7_real64 + 0.01_real64*self%state(1)
      self%state(4) = self%state(4) + 1
   end subroutine

   subroutine observe_final(self, instance)
      class(cell), intent(inout) :: self
      type(ligament_instance), intent(in) :: instance
      integer :: unit
      self%state(1) = self%state(1) + self%state(5)
      self%state(2) = self%state(2) + 1
      open (newunit=unit, file='end.txt', status='replace')
      write (unit, '(i0, 1x, es24.17)') nint(self%state(2)), self%state(1)
      close (unit)
      call instance%send('out', self%state(3) + 0.5_real64, self%state(5))
   end subroutine

   real(real64) function model_time(self)
      class(cell), intent(inout) :: self
      model_time = self%state(3) + 0.1_real64*self%state(4)
   end function

   subroutine save_cell(self, instance)
      class(cell), intent(inout) :: self
      type(ligament_instance), intent(in) :: instance
      call instance%save_snapshot(self%model_time(), self%state)
   end subroutine

   subroutine restore(self, instance)
      class(cell), intent(inout) :: self
      type(ligament_instance), intent(in) :: instance
      type(ligament_message) :: message
      integer :: unit
      call instance%load_snapshot(message)
      call message%get(self%state)
      call message%free()
      open (newunit=unit, file='resumed.txt')
      write (unit, '(i0)') nint(self%state(4))
      close (unit)
   end subroutine
end module

program driven
   use cells
   implicit none
   type(ligament_instance) :: instance
   type(cell) :: submodel
   character(len=8) :: argument
   call get_command_argument(1, argument)
   if (argument == 'light') then
      call ligament_run_light(submodel, uses_checkpoint_api=.true.)
   else
      instance = ligament_instance([ligament_port(LIGAMENT_F_INIT, 'in'), ligament_port(LIGAMENT_O_F, 'out')], &
         uses_checkpoint_api=.true.)
      call ligament_run_submodel(instance, submodel)
      call instance%free()
   end if
end program
