! The formal submodel, whose procedures the library calls in the order of the execution loop; and light
! components.
module ligament_submodels
   use ligament_calls
   use ligament_instances, only: ligament_instance
   implicit none
   private
   public :: ligament_submodel, ligament_run_submodel, ligament_run_light

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

   abstract interface
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

   ! Runs a submodel as long as start messages come.
   subroutine ligament_run_submodel(instance, submodel, ierr, errmsg)
      type(ligament_instance), intent(in) :: instance
      class(ligament_submodel), intent(inout), target :: submodel
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      type(running), target :: one
      type(lig_submodel) :: functions
      one%submodel => submodel
      one%instance = instance
      functions = table()
      functions%user = c_loc(one)
      call settle(lf_run_submodel(instance%key, functions), ierr, errmsg)
   end subroutine

   ! Runs all instances of this program in this process, if the model calls the component light; each begins as
   ! a copy of `submodel`. Otherwise, runs the one instance of this process. The library calls a procedure when
   ! each connected port of its operator has a message, or its conduit has ended.
   subroutine ligament_run_light(submodel, ierr, errmsg)
      class(ligament_submodel), intent(in), target :: submodel
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      type(original), target :: first
      type(lig_submodel) :: functions
      allocate (first%submodel, source=submodel)
      functions = table()
      call settle(lf_run_light(functions, c_funloc(make), c_funloc(release), c_loc(first)), ierr, errmsg)
      deallocate (first%submodel)
   end subroutine

   type(lig_submodel) function table()
      table%size = c_sizeof(table)
      table%initialise = c_funloc(initialise)
      table%is_done = c_funloc(is_done)
      table%observe = c_funloc(observe)
      table%solve = c_funloc(solve)
      table%observe_final = c_funloc(observe_final)
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
