! The formal submodel, whose procedures the library calls in the order of the execution loop; and light
! components.
module ligament_submodels
   use ligament_calls
   use ligament_instances, only: ligament_instance
   implicit none
   private
   public :: ligament_submodel, ligament_submodel_state, ligament_run_submodel, ligament_run_light

   ! A submodel by its operators and its end condition, for codes that leave the loop to the library.
   type, abstract :: ligament_submodel
      character(len=:), allocatable, private :: failure
   contains
      procedure(operation), deferred :: initialise      ! F_INIT: sets the state, perhaps from messages
      procedure(condition), deferred :: is_done         ! true if this pass is over; called before each step
      procedure(operation), deferred :: observe         ! O_I: shows the state to others
      procedure(operation), deferred :: solve           ! S: advances the state by one step
      procedure(operation), deferred :: observe_final   ! O_F: shows the final state
      procedure :: fail
   end type

   ! A submodel whose state belongs to checkpoints. Its instance has the flag uses_checkpoint_api, and the
   ! library makes the other calls for checkpoints.
   type, abstract, extends(ligament_submodel) :: ligament_submodel_state
   contains
      procedure(moment), deferred :: model_time         ! the model time of the state, s; asked after each step
      procedure(state_operation), deferred :: save      ! saves the state by one call of save_snapshot
      procedure(state_operation), deferred :: restore   ! sets the state from the message of load_snapshot
   end type

   abstract interface
      real(real64) function moment(self)
         import
         class(ligament_submodel_state), intent(inout) :: self
      end function

      subroutine state_operation(self, instance)
         import
         class(ligament_submodel_state), intent(inout) :: self
         type(ligament_instance), intent(in) :: instance
      end subroutine

      subroutine operation(self, instance)
         import
         class(ligament_submodel), intent(inout) :: self
         type(ligament_instance), intent(in) :: instance
      end subroutine

      logical function condition(self)
         import
         class(ligament_submodel), intent(inout) :: self
      end function
   end interface

   ! The submodel, as C passes it back.
   type :: running
      class(ligament_submodel), pointer :: submodel => null()
      type(ligament_instance) :: instance
      logical :: light = .false.
   end type

   ! The initial state of all light components.
   type :: original
      class(ligament_submodel), pointer :: submodel => null()
   end type

contains

   ! A procedure of a submodel calls this on failure: when it returns, the whole run ends with this text.
   subroutine fail(self, why)
      class(ligament_submodel), intent(inout) :: self
      character(len=*), intent(in) :: why
      self%failure = why
   end subroutine

   ! Runs a submodel as long as start messages come. If the instance has the flag uses_checkpoint_api, the state
   ! of a ligament_submodel_state is saved and restored, too.
   subroutine ligament_run_submodel(instance, submodel, ierr, errmsg)
      type(ligament_instance), intent(in) :: instance
      class(ligament_submodel), intent(inout), target :: submodel
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      type(running), target :: one
      type(lig_submodel) :: functions
      one%submodel => submodel
      one%instance = instance
      functions = table(submodel)
      functions%user = c_loc(one)
      call settle(lf_run_submodel(instance%key, functions), ierr, errmsg)
   end subroutine

   ! Runs all instances of this program in this process, if the model calls the component light; each begins as
   ! a copy of `submodel`. Otherwise, runs the one instance of this process. The library calls a procedure when
   ! each connected port of its operator has a message, or its conduit has ended. The flags are those of every
   ! instance.
   subroutine ligament_run_light(submodel, ierr, errmsg, uses_checkpoint_api, keeps_no_state_for_next_use, &
                                 state_not_required_for_next_use)
      class(ligament_submodel), intent(in), target :: submodel
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      logical, intent(in), optional :: uses_checkpoint_api, keeps_no_state_for_next_use
      logical, intent(in), optional :: state_not_required_for_next_use
      integer(c_int64_t) :: flags
      type(original), target :: first
      type(lig_submodel) :: functions
      allocate (first%submodel, source=submodel)
      functions = table(submodel)
      flags = 0
      if (told(uses_checkpoint_api)) flags = 2
      if (told(keeps_no_state_for_next_use)) flags = flags + 4
      if (told(state_not_required_for_next_use)) flags = flags + 8
      call settle(lf_run_light(functions, c_funloc(make), c_funloc(release), c_loc(first), flags), ierr, errmsg)
      deallocate (first%submodel)
   end subroutine

   type(lig_submodel) function table(submodel)
      class(ligament_submodel), intent(in) :: submodel
      table%size = c_sizeof(table)
      table%initialise = c_funloc(initialise)
      table%is_done = c_funloc(is_done)
      table%observe = c_funloc(observe)
      table%solve = c_funloc(solve)
      table%observe_final = c_funloc(observe_final)
      select type (submodel)
      class is (ligament_submodel_state)
         table%save = c_funloc(save_state)
         table%restore = c_funloc(restore_state)
         table%model_time = c_funloc(model_time)
      end select
   end function

   ! ---- what C calls

   integer(c_int32_t) function initialise(instance, user, error) bind(c, name='lf_initialise')
      type(c_ptr), value :: instance, user, error
      type(running), pointer :: one
      one => begun(instance, user)
      call one%submodel%initialise(one%instance)
      initialise = outcome(one, error)
   end function

   logical(c_bool) function is_done(user) bind(c, name='lf_is_done')
      type(c_ptr), value :: user
      type(running), pointer :: one
      call c_f_pointer(user, one)
      is_done = one%submodel%is_done()
      if (allocated(one%submodel%failure)) is_done = .true.   ! observe_final says why
   end function

   integer(c_int32_t) function observe(instance, user, error) bind(c, name='lf_observe')
      type(c_ptr), value :: instance, user, error
      type(running), pointer :: one
      one => begun(instance, user)
      call one%submodel%observe(one%instance)
      observe = outcome(one, error)
   end function

   integer(c_int32_t) function solve(instance, user, error) bind(c, name='lf_solve')
      type(c_ptr), value :: instance, user, error
      type(running), pointer :: one
      one => begun(instance, user)
      call one%submodel%solve(one%instance)
      solve = outcome(one, error)
   end function

   integer(c_int32_t) function observe_final(instance, user, error) bind(c, name='lf_observe_final')
      type(c_ptr), value :: instance, user, error
      type(running), pointer :: one
      one => begun(instance, user)
      if (.not. allocated(one%submodel%failure)) call one%submodel%observe_final(one%instance)
      observe_final = outcome(one, error)
   end function

   integer(c_int32_t) function save_state(instance, user, error) bind(c, name='lf_save_state')
      type(c_ptr), value :: instance, user, error
      type(running), pointer :: one
      one => begun(instance, user)
      select type (submodel => one%submodel)
      class is (ligament_submodel_state)
         call submodel%save(one%instance)
      end select
      save_state = outcome(one, error)
   end function

   integer(c_int32_t) function restore_state(instance, user, error) bind(c, name='lf_restore_state')
      type(c_ptr), value :: instance, user, error
      type(running), pointer :: one
      one => begun(instance, user)
      select type (submodel => one%submodel)
      class is (ligament_submodel_state)
         call submodel%restore(one%instance)
      end select
      restore_state = outcome(one, error)
   end function

   integer(c_int32_t) function model_time(user, time, error) bind(c, name='lf_model_time')
      type(c_ptr), value :: user, error
      real(c_double), intent(out) :: time
      type(running), pointer :: one
      call c_f_pointer(user, one)
      time = 0.0_c_double
      select type (submodel => one%submodel)
      class is (ligament_submodel_state)
         time = submodel%model_time()
      end select
      model_time = outcome(one, error)
   end function

   integer(c_int32_t) function make(instance, context, user, error) bind(c, name='lf_make')
      type(c_ptr), value :: instance, context, error
      type(c_ptr), intent(out) :: user
      type(original), pointer :: first
      type(running), pointer :: one
      call c_f_pointer(context, first)
      allocate (one)
      allocate (one%submodel, source=first%submodel)
      one%light = .true.
      one%instance%key = lf_keep_instance(instance)
      user = c_loc(one)
      make = outcome(one, error)
   end function

   subroutine release(user) bind(c, name='lf_release')
      type(c_ptr), value :: user
      type(running), pointer :: one
      call c_f_pointer(user, one)
      call lf_let_go(one%instance%key)
      deallocate (one%submodel)
      deallocate (one)
   end subroutine

   function begun(instance, user) result(one)
      type(c_ptr), intent(in) :: instance, user
      type(running), pointer :: one
      call c_f_pointer(user, one)
      if (one%light .and. c_associated(instance)) call lf_enter(one%instance%key)
   end function

   integer(c_int32_t) function outcome(one, error)
      type(running), intent(in) :: one
      type(c_ptr), intent(in) :: error
      outcome = 0
      if (one%light) call lf_enter(0_c_int64_t)   ! the library lends the instance for this call only
      if (.not. allocated(one%submodel%failure)) return
      outcome = 2
      call lf_write_error(error, one%submodel%failure, len(one%submodel%failure, c_size_t))
   end function
end module
