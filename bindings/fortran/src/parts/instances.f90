! Messages, loans, and the instance: its types, joining a run and the reuse loop. The procedures for ports,
! settings, sending, loans, receiving, messages and checkpoints are in files of their own, which are included
! below.
module ligament_instances
   use ligament_calls
   use ligament_values
   implicit none
   private
   public :: ligament_instance, ligament_message, ligament_loan, ligament_port, ligament_interrupt_check

   ! The operators: the moment of the execution loop in which a port is used.
   integer, parameter, public :: LIGAMENT_F_INIT = 1   ! receives before the first step
   integer, parameter, public :: LIGAMENT_O_I = 2      ! sends during the steps
   integer, parameter, public :: LIGAMENT_S = 3        ! receives during the steps
   integer, parameter, public :: LIGAMENT_O_F = 4      ! sends after the last step

   ! The levels of lines in the run's log.
   integer, parameter, public :: LIGAMENT_DEBUG = 0, LIGAMENT_INFO = 1, LIGAMENT_WARNING = 2, LIGAMENT_ERROR = 3
   integer, parameter, public :: LIGAMENT_CRITICAL = 4

   ! The types of settings.
   integer, parameter, public :: LIGAMENT_SETTING_BOOL = 1, LIGAMENT_SETTING_INT = 2, LIGAMENT_SETTING_FLOAT = 3
   integer, parameter, public :: LIGAMENT_SETTING_STRING = 4, LIGAMENT_SETTING_INT_LIST = 5
   integer, parameter, public :: LIGAMENT_SETTING_FLOAT_LIST = 6, LIGAMENT_SETTING_FLOAT_GRID = 7

   integer(c_int32_t), parameter :: unset = 5

   ! The questions about checkpoints, as lf_checkpoint numbers them.
   integer(c_int32_t), parameter :: ask_resuming = 1, ask_init = 2, ask_save = 3, ask_save_final = 4

   ! A port of a code: its operator, and its name; "name[]" for a vector port.
   type :: ligament_port
      integer :: operator = 0
      character(len=128) :: name = ' '
   end type

   ! A message that was received: a value, and its times. Free it after use; receiving into it again frees it,
   ! too.
   type, extends(ligament_value) :: ligament_message
      type(lig_times) :: times   ! not for users
   contains
      procedure :: timestamp
      procedure :: next_timestamp
      procedure :: has_next_timestamp
      procedure :: settings
      procedure :: free => free_message
   end type

   ! Memory for an array. The receiver will read it in place.
   type :: ligament_loan
      integer(c_int64_t) :: key = 0   ! not for users
   end type

   ! An instance of a component in a running model. One thread at a time may use it.
   type :: ligament_instance
      integer(c_int64_t) :: key = 0   ! not for users
   contains
      procedure :: name => instance_name
      procedure :: run_name
      procedure :: index => instance_index
      procedure :: rank => instance_rank
      procedure :: ranks => instance_ranks
      procedure :: reuse_instance
      procedure :: steer
      procedure :: declare_steerable
      procedure :: resuming
      procedure :: load_snapshot
      procedure :: should_init
      procedure :: should_save_snapshot
      generic :: save_snapshot => save_value, save_1, save_2, save_3, save_4, save_5, save_6, save_7, save_8
      procedure :: should_save_final_snapshot
      generic :: save_final_snapshot => save_final_value, save_final_1, save_final_2, save_final_3, &
         save_final_4, save_final_5, save_final_6, save_final_7, save_final_8
      procedure :: snapshot_directory
      procedure :: finish
      procedure :: error_shutdown
      procedure :: free => free_instance
      procedure :: log => log_line
      procedure :: set_interrupt_check
      procedure :: list_ports
      procedure :: is_connected
      procedure :: is_vector_port
      procedure :: is_resizable
      procedure :: get_port_length
      procedure :: set_port_length
      procedure :: map_block
      procedure :: map_range
      procedure :: map_list
      procedure :: array_shape
      procedure :: time => clock_time
      procedure :: tick
      procedure :: insert_event
      procedure :: insert_events
      procedure :: events
      procedure :: list_settings
      procedure :: get_setting_type
      procedure :: get_setting_as_value
      generic :: get_setting => setting_logical, setting_int32, setting_int64, setting_real32, setting_real64, &
         setting_text, setting_int32_list, setting_int64_list, setting_real64_list, setting_real64_grid
      generic :: send => send_scalar, send_message, send_1, send_2, send_3, send_4, send_5, send_6, send_7, &
         send_8
      procedure :: send_none
      generic :: create_loan => loan_int8, loan_int16, loan_int32, loan_int64, loan_real32, &
         loan_real64, loan_complex32, loan_complex64, loan_logical8
      procedure :: send_loan
      procedure :: free_loan
      procedure :: receive
      procedure :: receive_with_settings
      procedure :: receive_into
      procedure :: poll
      procedure :: has_next
      procedure :: wait_any
      procedure :: receive_any
      procedure, private :: setting_logical, setting_int32, setting_int64, setting_real32, setting_real64, &
         setting_text, setting_int32_list, setting_int64_list, setting_real64_list, setting_real64_grid
      procedure, private :: send_scalar, send_message, send_1, send_2, send_3, send_4, send_5, send_6, &
         send_7, send_8
      procedure, private :: save_value, save_1, save_2, save_3, save_4, save_5, save_6, save_7, save_8
      procedure, private :: save_final_value, save_final_1, save_final_2, save_final_3, save_final_4, &
         save_final_5, save_final_6, save_final_7, save_final_8
      procedure, private :: loan_int8, loan_int16, loan_int32, loan_int64, loan_real32, &
         loan_real64, loan_complex32, loan_complex64, loan_logical8
   end type

   ! Joins the run that started this program.
   interface ligament_instance
      procedure :: create
   end interface

   abstract interface
      ! Returns true to stop waiting.
      function ligament_interrupt_check(user) bind(c) result(give_up)
         import
         type(c_ptr), value :: user
         logical(c_bool) :: give_up
      end function
   end interface

   interface
      integer(c_int32_t) function lf_loan_int8(how, shape, names, unit, loan, pointer) bind(c, name='lf_loan')
         import
         type(lf_sending), intent(in) :: how
         type(*), dimension(..), intent(in) :: shape
         character(kind=c_char), intent(in), optional :: names(*), unit(*)
         integer(c_int64_t), intent(out) :: loan
         integer(c_int8_t), pointer, intent(out) :: pointer(..)
      end function

      integer(c_int32_t) function lf_loan_int16(how, shape, names, unit, loan, pointer) bind(c, name='lf_loan')
         import
         type(lf_sending), intent(in) :: how
         type(*), dimension(..), intent(in) :: shape
         character(kind=c_char), intent(in), optional :: names(*), unit(*)
         integer(c_int64_t), intent(out) :: loan
         integer(c_int16_t), pointer, intent(out) :: pointer(..)
      end function

      integer(c_int32_t) function lf_loan_int32(how, shape, names, unit, loan, pointer) bind(c, name='lf_loan')
         import
         type(lf_sending), intent(in) :: how
         type(*), dimension(..), intent(in) :: shape
         character(kind=c_char), intent(in), optional :: names(*), unit(*)
         integer(c_int64_t), intent(out) :: loan
         integer(c_int32_t), pointer, intent(out) :: pointer(..)
      end function

      integer(c_int32_t) function lf_loan_int64(how, shape, names, unit, loan, pointer) bind(c, name='lf_loan')
         import
         type(lf_sending), intent(in) :: how
         type(*), dimension(..), intent(in) :: shape
         character(kind=c_char), intent(in), optional :: names(*), unit(*)
         integer(c_int64_t), intent(out) :: loan
         integer(c_int64_t), pointer, intent(out) :: pointer(..)
      end function

      integer(c_int32_t) function lf_loan_real32(how, shape, names, unit, loan, pointer) bind(c, name='lf_loan')
         import
         type(lf_sending), intent(in) :: how
         type(*), dimension(..), intent(in) :: shape
         character(kind=c_char), intent(in), optional :: names(*), unit(*)
         integer(c_int64_t), intent(out) :: loan
         real(c_float), pointer, intent(out) :: pointer(..)
      end function

      integer(c_int32_t) function lf_loan_real64(how, shape, names, unit, loan, pointer) bind(c, name='lf_loan')
         import
         type(lf_sending), intent(in) :: how
         type(*), dimension(..), intent(in) :: shape
         character(kind=c_char), intent(in), optional :: names(*), unit(*)
         integer(c_int64_t), intent(out) :: loan
         real(c_double), pointer, intent(out) :: pointer(..)
      end function

      integer(c_int32_t) function lf_loan_complex32(how, shape, names, unit, loan, pointer) &
            bind(c, name='lf_loan')
         import
         type(lf_sending), intent(in) :: how
         type(*), dimension(..), intent(in) :: shape
         character(kind=c_char), intent(in), optional :: names(*), unit(*)
         integer(c_int64_t), intent(out) :: loan
         complex(c_float_complex), pointer, intent(out) :: pointer(..)
      end function

      integer(c_int32_t) function lf_loan_complex64(how, shape, names, unit, loan, pointer) &
            bind(c, name='lf_loan')
         import
         type(lf_sending), intent(in) :: how
         type(*), dimension(..), intent(in) :: shape
         character(kind=c_char), intent(in), optional :: names(*), unit(*)
         integer(c_int64_t), intent(out) :: loan
         complex(c_double_complex), pointer, intent(out) :: pointer(..)
      end function

      integer(c_int32_t) function lf_loan_logical8(how, shape, names, unit, loan, pointer) &
            bind(c, name='lf_loan')
         import
         type(lf_sending), intent(in) :: how
         type(*), dimension(..), intent(in) :: shape
         character(kind=c_char), intent(in), optional :: names(*), unit(*)
         integer(c_int64_t), intent(out) :: loan
         logical(c_bool), pointer, intent(out) :: pointer(..)
      end function
   end interface

contains

   ! ---- life

   ! Joins the run with the ports of this code, or, if it gives none, with those of the model. A program does
   ! this once. With dont_apply_overlay=.true., overlays of settings come with messages and are not applied.
   ! `ranks` is the number of processes of the instance, and `threads` the number of threads of each; both are
   ! recorded, and change nothing yet. The last three flags are for checkpoints: the code saves its state by
   ! save_snapshot; it keeps nothing from one pass to the next; or it can do without what it keeps.
   type(ligament_instance) function create(ports, dont_apply_overlay, ranks, threads, uses_checkpoint_api, &
         keeps_no_state_for_next_use, state_not_required_for_next_use, ierr, errmsg)
      type(ligament_port), intent(in), optional :: ports(:)
      logical, intent(in), optional :: dont_apply_overlay
      integer, intent(in), optional :: ranks, threads
      logical, intent(in), optional :: uses_checkpoint_api, keeps_no_state_for_next_use
      logical, intent(in), optional :: state_not_required_for_next_use
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      character(len=128), allocatable :: names(:)
      integer(c_int32_t), allocatable :: operators(:)
      integer(c_int64_t) :: count, flags, processes, of_each
      integer(c_int32_t) :: status
      count = -1
      if (present(ports)) count = size(ports)
      allocate (names(max(count, 0_c_int64_t)), operators(max(count, 0_c_int64_t)))
      if (present(ports)) then
         names = ports%name
         operators = int(ports%operator, c_int32_t)
      end if
      flags = 0
      if (told(dont_apply_overlay)) flags = 1
      if (told(uses_checkpoint_api)) flags = flags + 2
      if (told(keeps_no_state_for_next_use)) flags = flags + 4
      if (told(state_not_required_for_next_use)) flags = flags + 8
      processes = 0
      of_each = 0
      if (present(ranks)) processes = ranks
      if (present(threads)) of_each = threads
      status = lf_create(operators, names, len(names, c_size_t), count, flags, processes, of_each, create%key)
      call settle(status, ierr, errmsg)
   end function

   ! Ends the instance cleanly, if it has not ended yet, and frees it.
   subroutine free_instance(self)
      class(ligament_instance), intent(inout) :: self
      call lf_free(self%key)
   end subroutine

   ! True to begin a pass of the execution loop: waits for a message on each connected F_INIT port. After it has
   ! returned false, the instance is over.
   logical function reuse_instance(self, ierr, errmsg)
      class(ligament_instance), intent(in) :: self
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      logical(c_bool) :: again
      integer(c_int32_t) :: status
      again = .false.
      status = lf_reuse(self%key, again)
      reuse_instance = again
      call settle(status, ierr, errmsg)
   end function

   ! A code calls this once in each step with its model time, in s. True if settings have changed, so the code
   ! must read them again. All instances that a change concerns apply it in their first step at or after the
   ! same model time. Waits while a change is being agreed on, and while the run is paused.
   logical function steer(self, time, ierr, errmsg)
      class(ligament_instance), intent(in) :: self
      real(real64), intent(in) :: time
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      logical(c_bool) :: changed
      integer(c_int32_t) :: status
      changed = .false.
      status = lf_steer(self%key, time, changed)
      steer = changed
      call settle(status, ierr, errmsg)
   end function

   ! Declares that a setting can be steered, within a range if one is given. With restart, the code reads the
   ! setting once a pass.
   subroutine declare_steerable(self, setting, minimum, maximum, unit, restart, ierr, errmsg)
      class(ligament_instance), intent(in) :: self
      character(len=*), intent(in) :: setting
      real(real64), intent(in), optional :: minimum, maximum
      character(len=*), intent(in), optional :: unit
      logical, intent(in), optional :: restart
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      real(real64) :: range(2)
      logical(c_bool) :: once, bounded(2)
      integer(c_int32_t) :: status
      range = 0
      bounded = [logical(present(minimum), c_bool), logical(present(maximum), c_bool)]
      if (present(minimum)) range(1) = minimum
      if (present(maximum)) range(2) = maximum
      once = .false.
      if (present(restart)) once = logical(restart, c_bool)
      if (present(unit)) then
         status = lf_declare_steerable(self%key, setting, len(setting, c_size_t), bounded, range, unit, &
            len(unit, c_size_t), once)
      else
         status = lf_declare_steerable(self%key, setting, len(setting, c_size_t), bounded, range, '', &
            0_c_size_t, once)
      end if
      call settle(status, ierr, errmsg)
   end subroutine

   ! Ends all conduits that this instance sends on, and signs off.
   subroutine finish(self, ierr, errmsg)
      class(ligament_instance), intent(in) :: self
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      call settle(lf_finish(self%key), ierr, errmsg)
   end subroutine

   ! Ends the whole run because of an error in this code. The user sees `why`. Stop the program afterwards.
   subroutine error_shutdown(self, why, ierr, errmsg)
      class(ligament_instance), intent(in) :: self
      character(len=*), intent(in) :: why
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      call settle(lf_shutdown(self%key, why, len(why, c_size_t)), ierr, errmsg)
   end subroutine

   ! The instance's name, such as "micro[3]".
   function instance_name(self) result(name)
      class(ligament_instance), intent(in) :: self
      character(len=:), allocatable :: name
      type(c_ptr) :: place
      integer(c_size_t) :: length
      length = lf_name(self%key, .false._c_bool, place)
      name = text_at(place, length)
   end function

   ! The name of the run.
   function run_name(self) result(name)
      class(ligament_instance), intent(in) :: self
      character(len=:), allocatable :: name
      type(c_ptr) :: place
      integer(c_size_t) :: length
      length = lf_name(self%key, .true._c_bool, place)
      name = text_at(place, length)
   end function

   ! The instance's index, as in its name, counted from 0: one number for each dimension of the multiplicity.
   function instance_index(self) result(index)
      class(ligament_instance), intent(in) :: self
      integer, allocatable :: index(:)
      integer(c_int32_t) :: numbers(16)
      integer :: count
      count = int(lf_index(self%key, numbers, size(numbers, kind=c_size_t)))
      index = numbers(:min(count, size(numbers)))
   end function

   ! The number of this rank in its instance, from 0, if the model has `ranks` for the component; otherwise 0.
   integer function instance_rank(self)
      class(ligament_instance), intent(in) :: self
      instance_rank = lf_rank(self%key, .false._c_bool)
   end function

   ! The number of the instance's ranks, if the model has `ranks` for the component; otherwise 1.
   integer function instance_ranks(self)
      class(ligament_instance), intent(in) :: self
      instance_ranks = lf_rank(self%key, .true._c_bool)
   end function

   ! Writes a line to the run's log.
   subroutine log_line(self, level, text, ierr, errmsg)
      class(ligament_instance), intent(in) :: self
      integer, intent(in) :: level
      character(len=*), intent(in) :: text
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      call settle(lf_log(self%key, int(level, c_int32_t), text, len(text, c_size_t)), ierr, errmsg)
   end subroutine

   ! Sets a function that the library calls at least once a second while it waits. If `check` returns true, the
   ! library stops waiting. Without `check`, no function is called.
   subroutine set_interrupt_check(self, check, user, ierr, errmsg)
      class(ligament_instance), intent(in) :: self
      procedure(ligament_interrupt_check), optional :: check
      type(c_ptr), intent(in), optional :: user
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      type(c_ptr) :: given
      type(c_funptr) :: asked
      given = c_null_ptr
      asked = c_null_funptr
      if (present(user)) given = user
      if (present(check)) asked = c_funloc(check)
      call settle(lf_check(self%key, asked, given), ierr, errmsg)
   end subroutine

   include 'parts/ports.inc'
   include 'parts/settings.inc'
   include 'parts/sending.inc'
   include 'parts/loans.inc'
   include 'parts/receiving.inc'
   include 'parts/messages.inc'
   include 'parts/checkpoints.inc'
end module
