! Messages, loans, and the instance: joining a run, the reuse loop, ports, settings, sending and receiving.
module ligament_instances
   use ligament_calls
   use ligament_values
   implicit none
   private
   public :: ligament_instance, ligament_message, ligament_loan, ligament_port, ligament_interrupt_check

   ! When in the execution loop a port is used.
   integer, parameter, public :: LIGAMENT_F_INIT = 1   ! receives before the first step
   integer, parameter, public :: LIGAMENT_O_I = 2      ! sends during the steps
   integer, parameter, public :: LIGAMENT_S = 3        ! receives during the steps
   integer, parameter, public :: LIGAMENT_O_F = 4      ! sends after the last step

   ! How important a line in the run's log is.
   integer, parameter, public :: LIGAMENT_DEBUG = 0, LIGAMENT_INFO = 1, LIGAMENT_WARNING = 2, LIGAMENT_ERROR = 3
   integer, parameter, public :: LIGAMENT_CRITICAL = 4

   ! What a setting is.
   integer, parameter, public :: LIGAMENT_SETTING_BOOL = 1, LIGAMENT_SETTING_INT = 2, LIGAMENT_SETTING_FLOAT = 3
   integer, parameter, public :: LIGAMENT_SETTING_STRING = 4, LIGAMENT_SETTING_INT_LIST = 5
   integer, parameter, public :: LIGAMENT_SETTING_FLOAT_LIST = 6, LIGAMENT_SETTING_FLOAT_GRID = 7

   integer(c_int32_t), parameter :: unset = 5

   ! A port that a code has: when it is used, and its name; "name[]" for a vector port.
   type :: ligament_port
      integer :: operator = 0
      character(len=128) :: name = ' '
   end type

   ! A message that was received: a value, and the times that it belongs to. Free it when it is no longer needed; to receive
   ! into it again frees it, too.
   type, extends(ligament_value) :: ligament_message
      type(lig_times) :: times   ! not for users
   contains
      procedure :: timestamp
      procedure :: next_timestamp
      procedure :: has_next_timestamp
      procedure :: settings
      procedure :: free => free_message
   end type

   ! Memory for an array that the receiver will read in place.
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
      procedure :: reuse_instance
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
      procedure :: list_settings
      procedure :: get_setting_type
      procedure :: get_setting_as_value
      generic :: get_setting => setting_logical, setting_int32, setting_int64, setting_real32, setting_real64, &
         setting_text, setting_int32_list, setting_int64_list, setting_real64_list, setting_real64_grid
      generic :: send => send_scalar, send_message, send_1, send_2, send_3, send_4, send_5, send_6, send_7, send_8
      procedure :: send_none
      generic :: create_loan => loan_int8, loan_int16, loan_int32, loan_int64, loan_real32, &
         loan_real64, loan_complex32, loan_complex64, loan_logical8
      procedure :: send_loan
      procedure :: free_loan
      procedure :: receive
      procedure :: receive_into
      procedure :: poll
      procedure :: wait_any
      procedure :: receive_any
      procedure, private :: setting_logical, setting_int32, setting_int64, setting_real32, setting_real64, &
         setting_text, setting_int32_list, setting_int64_list, setting_real64_list, setting_real64_grid
      procedure, private :: send_scalar, send_message, send_1, send_2, send_3, send_4, send_5, send_6, send_7, send_8
      procedure, private :: loan_int8, loan_int16, loan_int32, loan_int64, loan_real32, &
         loan_real64, loan_complex32, loan_complex64, loan_logical8
   end type

   ! Joins the run that started this program.
   interface ligament_instance
      procedure :: create
   end interface

   abstract interface
      ! Whether to give up waiting.
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

      integer(c_int32_t) function lf_loan_complex32(how, shape, names, unit, loan, pointer) bind(c, name='lf_loan')
         import
         type(lf_sending), intent(in) :: how
         type(*), dimension(..), intent(in) :: shape
         character(kind=c_char), intent(in), optional :: names(*), unit(*)
         integer(c_int64_t), intent(out) :: loan
         complex(c_float_complex), pointer, intent(out) :: pointer(..)
      end function

      integer(c_int32_t) function lf_loan_complex64(how, shape, names, unit, loan, pointer) bind(c, name='lf_loan')
         import
         type(lf_sending), intent(in) :: how
         type(*), dimension(..), intent(in) :: shape
         character(kind=c_char), intent(in), optional :: names(*), unit(*)
         integer(c_int64_t), intent(out) :: loan
         complex(c_double_complex), pointer, intent(out) :: pointer(..)
      end function

      integer(c_int32_t) function lf_loan_logical8(how, shape, names, unit, loan, pointer) bind(c, name='lf_loan')
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

   ! Joins the run with the ports that this code has, or, without them, those that the model gives it. A program does this
   ! once. dont_apply_overlay=.true. hands overlays of settings over with messages instead of applying them. `ranks` and
   ! `threads` say how many processes the instance is, and how many threads each of them has: that is kept, and changes
   ! nothing yet.
   type(ligament_instance) function create(ports, dont_apply_overlay, ranks, threads, ierr, errmsg)
      type(ligament_port), intent(in), optional :: ports(:)
      logical, intent(in), optional :: dont_apply_overlay
      integer, intent(in), optional :: ranks, threads
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
      processes = 0
      of_each = 0
      if (present(ranks)) processes = ranks
      if (present(threads)) of_each = threads
      status = lf_create(operators, names, len(names, c_size_t), count, flags, processes, of_each, create%key)
      call settle(status, ierr, errmsg)
   end function

   ! Ends the instance cleanly, unless that was done, and frees it.
   subroutine free_instance(self)
      class(ligament_instance), intent(inout) :: self
      call lf_free(self%key)
   end subroutine

   ! Whether to go through the execution loop (again): waits for a message on each connected F_INIT port. When it says no,
   ! the instance is over.
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

   ! Ends all conduits that this instance sends on, and signs off.
   subroutine finish(self, ierr, errmsg)
      class(ligament_instance), intent(in) :: self
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      call settle(lf_finish(self%key), ierr, errmsg)
   end subroutine

   ! Ends the whole run because of an error in this code; `why` is shown to the user. Stop the program afterwards.
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

   ! The instance's index as in its name, from 0: a number for each dimension of the multiplicity.
   function instance_index(self) result(index)
      class(ligament_instance), intent(in) :: self
      integer, allocatable :: index(:)
      integer(c_int32_t) :: numbers(16)
      integer :: count
      count = int(lf_index(self%key, numbers, size(numbers, kind=c_size_t)))
      index = numbers(:min(count, size(numbers)))
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

   ! While the library waits, `check` is asked at least once a second whether to give up; without it nobody is asked.
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

   ! ---- ports

   ! The names of the ports with an operator, in the model's order.
   subroutine list_ports(self, operator, names, ierr, errmsg)
      class(ligament_instance), intent(in) :: self
      integer, intent(in) :: operator
      character(len=:), allocatable, intent(out) :: names(:)
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      call list(self, int(operator, c_int32_t), names, ierr, errmsg)
   end subroutine

   ! The names of the settings that this instance can ask for.
   subroutine list_settings(self, names, ierr, errmsg)
      class(ligament_instance), intent(in) :: self
      character(len=:), allocatable, intent(out) :: names(:)
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      call list(self, 0_c_int32_t, names, ierr, errmsg)
   end subroutine

   subroutine list(self, operator, names, ierr, errmsg)
      class(ligament_instance), intent(in) :: self
      integer(c_int32_t), intent(in) :: operator
      character(len=:), allocatable, intent(out) :: names(:)
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      type(c_ptr) :: found
      integer(c_int64_t) :: count, longest
      integer(c_int32_t) :: status
      count = 0
      longest = 0
      status = lf_names(self%key, operator, found, count, longest)
      allocate (character(len=longest) :: names(count))
      if (status == 0) call lf_take_names(found, names, int(longest, c_size_t))
      call settle(status, ierr, errmsg)
   end subroutine

   ! Whether something is connected to a port.
   logical function is_connected(self, port, ierr, errmsg)
      class(ligament_instance), intent(in) :: self
      character(len=*), intent(in) :: port
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      integer(c_int64_t) :: answer
      integer(c_int32_t) :: status
      status = lf_port(self%key, port, len(port, c_size_t), 1_c_int32_t, answer)
      is_connected = answer /= 0
      call settle(status, ierr, errmsg)
   end function

   ! Whether a port has slots.
   logical function is_vector_port(self, port, ierr, errmsg)
      class(ligament_instance), intent(in) :: self
      character(len=*), intent(in) :: port
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      integer(c_int64_t) :: answer
      integer(c_int32_t) :: status
      status = lf_port(self%key, port, len(port, c_size_t), 2_c_int32_t, answer)
      is_vector_port = answer /= 0
      call settle(status, ierr, errmsg)
   end function

   ! Whether set_port_length can set how many slots a port has.
   logical function is_resizable(self, port, ierr, errmsg)
      class(ligament_instance), intent(in) :: self
      character(len=*), intent(in) :: port
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      integer(c_int64_t) :: answer
      integer(c_int32_t) :: status
      status = lf_port(self%key, port, len(port, c_size_t), 3_c_int32_t, answer)
      is_resizable = answer /= 0
      call settle(status, ierr, errmsg)
   end function

   ! How many slots a vector port has.
   integer function get_port_length(self, port, ierr, errmsg)
      class(ligament_instance), intent(in) :: self
      character(len=*), intent(in) :: port
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      integer(c_int64_t) :: answer
      integer(c_int32_t) :: status
      status = lf_port(self%key, port, len(port, c_size_t), 4_c_int32_t, answer)
      get_port_length = int(answer)
      call settle(status, ierr, errmsg)
   end function

   ! Sets how many slots a resizable port has, which is 0 at first.
   subroutine set_port_length(self, port, length, ierr, errmsg)
      class(ligament_instance), intent(in) :: self
      character(len=*), intent(in) :: port
      integer, intent(in) :: length
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      call settle(lf_set_port_length(self%key, port, len(port, c_size_t), int(length, c_int64_t)), ierr, errmsg)
   end subroutine

   ! ---- settings: get_setting(name, value, default)

   ! What a setting is: LIGAMENT_SETTING_...
   integer function get_setting_type(self, name, ierr, errmsg)
      class(ligament_instance), intent(in) :: self
      character(len=*), intent(in) :: name
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      integer(c_int32_t) :: status, found
      found = 0
      status = lf_setting_type(self%key, name, len(name, c_size_t), found)
      get_setting_type = found
      call settle(status, ierr, errmsg)
   end function

   subroutine setting_logical(self, name, value, default, ierr, errmsg)
      class(ligament_instance), intent(in) :: self
      character(len=*), intent(in) :: name
      logical, intent(inout) :: value
      logical, intent(in), optional :: default
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      logical(c_bool) :: found
      integer(c_int32_t) :: status
      status = lf_setting_bool(self%key, name, len(name, c_size_t), found)
      if (status == 0) value = found
      if (status == unset .and. present(default)) then
         value = default
         status = 0
      end if
      call settle(status, ierr, errmsg)
   end subroutine

   subroutine setting_int32(self, name, value, default, ierr, errmsg)
      class(ligament_instance), intent(in) :: self
      character(len=*), intent(in) :: name
      integer(int32), intent(inout) :: value
      integer(int32), intent(in), optional :: default
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      integer(c_int64_t) :: found, least
      integer(c_int32_t) :: status
      least = -huge(value)
      least = least - 1
      status = lf_setting_int(self%key, name, len(name, c_size_t), least, int(huge(value), c_int64_t), found)
      if (status == 0) value = int(found, int32)
      if (status == unset .and. present(default)) then
         value = default
         status = 0
      end if
      call settle(status, ierr, errmsg)
   end subroutine

   subroutine setting_int64(self, name, value, default, ierr, errmsg)
      class(ligament_instance), intent(in) :: self
      character(len=*), intent(in) :: name
      integer(int64), intent(inout) :: value
      integer(int64), intent(in), optional :: default
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      integer(c_int64_t) :: found, least
      integer(c_int32_t) :: status
      least = -huge(value)
      least = least - 1
      status = lf_setting_int(self%key, name, len(name, c_size_t), least, int(huge(value), c_int64_t), found)
      if (status == 0) value = int(found, int64)
      if (status == unset .and. present(default)) then
         value = default
         status = 0
      end if
      call settle(status, ierr, errmsg)
   end subroutine

   subroutine setting_real32(self, name, value, default, ierr, errmsg)
      class(ligament_instance), intent(in) :: self
      character(len=*), intent(in) :: name
      real(real32), intent(inout) :: value
      real(real32), intent(in), optional :: default
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      real(c_double) :: found
      integer(c_int32_t) :: status
      status = lf_setting_float(self%key, name, len(name, c_size_t), found)
      if (status == 0) value = real(found, real32)
      if (status == unset .and. present(default)) then
         value = default
         status = 0
      end if
      call settle(status, ierr, errmsg)
   end subroutine

   subroutine setting_real64(self, name, value, default, ierr, errmsg)
      class(ligament_instance), intent(in) :: self
      character(len=*), intent(in) :: name
      real(real64), intent(inout) :: value
      real(real64), intent(in), optional :: default
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      real(c_double) :: found
      integer(c_int32_t) :: status
      status = lf_setting_float(self%key, name, len(name, c_size_t), found)
      if (status == 0) value = real(found, real64)
      if (status == unset .and. present(default)) then
         value = default
         status = 0
      end if
      call settle(status, ierr, errmsg)
   end subroutine

   subroutine setting_text(self, name, value, default, ierr, errmsg)
      class(ligament_instance), intent(in) :: self
      character(len=*), intent(in) :: name
      character(len=:), allocatable, intent(inout) :: value
      character(len=*), intent(in), optional :: default
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      type(lig_string) :: found
      integer(c_int32_t) :: status
      status = lf_setting_text(self%key, name, len(name, c_size_t), found)
      if (status == 0) value = text_at(found%data, found%size)
      if (status == unset .and. present(default)) then
         value = default
         status = 0
      end if
      call settle(status, ierr, errmsg)
   end subroutine

   subroutine setting_int32_list(self, name, value, default, ierr, errmsg)
      class(ligament_instance), intent(in) :: self
      character(len=*), intent(in) :: name
      integer(int32), allocatable, intent(inout) :: value(:)
      integer(int32), intent(in), optional :: default(:)
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      integer(c_int64_t), pointer :: found(:)
      type(c_ptr) :: place
      integer(c_size_t) :: count
      integer(c_int64_t) :: least
      integer(c_int32_t) :: status
      least = -huge(0_int32)
      least = least - 1
      status = lf_setting_ints(self%key, name, len(name, c_size_t), least, int(huge(0_int32), c_int64_t), place, count)
      if (status == 0) then
         call c_f_pointer(place, found, [count])
         value = int(found, int32)
      else if (status == unset .and. present(default)) then
         value = default
         status = 0
      end if
      call settle(status, ierr, errmsg)
   end subroutine

   subroutine setting_int64_list(self, name, value, default, ierr, errmsg)
      class(ligament_instance), intent(in) :: self
      character(len=*), intent(in) :: name
      integer(int64), allocatable, intent(inout) :: value(:)
      integer(int64), intent(in), optional :: default(:)
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      integer(c_int64_t), pointer :: found(:)
      type(c_ptr) :: place
      integer(c_size_t) :: count
      integer(c_int64_t) :: least
      integer(c_int32_t) :: status
      least = -huge(0_int64)
      least = least - 1
      status = lf_setting_ints(self%key, name, len(name, c_size_t), least, int(huge(0_int64), c_int64_t), place, count)
      if (status == 0) then
         call c_f_pointer(place, found, [count])
         value = int(found, int64)
      else if (status == unset .and. present(default)) then
         value = default
         status = 0
      end if
      call settle(status, ierr, errmsg)
   end subroutine

   subroutine setting_real64_list(self, name, value, default, ierr, errmsg)
      class(ligament_instance), intent(in) :: self
      character(len=*), intent(in) :: name
      real(real64), allocatable, intent(inout) :: value(:)
      real(real64), intent(in), optional :: default(:)
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      real(c_double), pointer :: found(:)
      type(c_ptr) :: place
      integer(c_size_t) :: count
      integer(c_int32_t) :: status
      status = lf_setting_floats(self%key, name, len(name, c_size_t), place, count)
      if (status == 0) then
         call c_f_pointer(place, found, [count])
         value = found
      else if (status == unset .and. present(default)) then
         value = default
         status = 0
      end if
      call settle(status, ierr, errmsg)
   end subroutine

   subroutine setting_real64_grid(self, name, value, default, ierr, errmsg)
      class(ligament_instance), intent(in) :: self
      character(len=*), intent(in) :: name
      real(real64), allocatable, intent(inout) :: value(:, :)
      real(real64), intent(in), optional :: default(:, :)
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      type(c_ptr) :: place
      integer(c_size_t) :: count, columns
      integer(c_int32_t) :: status
      status = lf_setting_grid(self%key, name, len(name, c_size_t), place, count, columns)
      if (status == 0) then
         if (allocated(value)) deallocate (value)
         allocate (value(count, columns))
         call lf_take_grid(place, count, value)
      else if (status == unset .and. present(default)) then
         value = default
         status = 0
      end if
      call settle(status, ierr, errmsg)
   end subroutine

   ! A setting of any type as a value, to be freed; lists of lists of different lengths, too.
   type(ligament_value) function get_setting_as_value(self, name, ierr, errmsg) result(value)
      class(ligament_instance), intent(in) :: self
      character(len=*), intent(in) :: name
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      call settle(lf_setting_value(self%key, name, len(name, c_size_t), value%ref), ierr, errmsg)
   end function

   ! ---- sending

   ! send: sends data at a time, with the time of the next message on the port if there will be one: a number, truth value,
   ! text, value or an array of any numeric or logical type and stride. The slot (from 0) is for vector ports.
   subroutine send_scalar(self, port, timestamp, data, next_timestamp, slot, settings, unsigned, ierr, errmsg)
      class(ligament_instance), intent(in) :: self
      character(len=*), intent(in) :: port
      real(real64), intent(in) :: timestamp
      class(*), intent(in) :: data
      real(real64), intent(in), optional :: next_timestamp
      integer, intent(in), optional :: slot
      class(ligament_value), intent(in), optional :: settings
      logical, intent(in), optional :: unsigned
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      type(lf_sending) :: how
      type(lf_scalar) :: scalar
      integer(c_int32_t) :: status
      how = sending(self, port, timestamp, next_timestamp, slot, settings)
      select type (data)
      class is (ligament_value)
         status = lf_send_value(how, port, data%ref)
      type is (character(*))
         status = lf_send_text(how, port, data, len(data, c_size_t))
      class default
         scalar = scalar_of(data, unsigned)
         if (scalar%kind == 0) then
            status = misuse(foreign)
         else
            status = lf_send_scalar(how, port, scalar)
         end if
      end select
      call settle(status, ierr, errmsg)
   end subroutine

   ! Sends a message that was received, with its times, and under the settings that came with it if it has some.
   subroutine send_message(self, port, message, slot, ierr, errmsg)
      class(ligament_instance), intent(in) :: self
      character(len=*), intent(in) :: port
      type(ligament_message), intent(in) :: message
      integer, intent(in), optional :: slot
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      type(lf_sending) :: how
      type(ligament_value), target :: overlay
      integer(c_int32_t) :: status
      status = lf_message_settings(message%ref, overlay%ref)
      if (status == 0) then
         how = sending(self, port, message%times%timestamp, slot=slot)
         how%next_timestamp = message%times%next_timestamp
         how%has_next_timestamp = message%times%has_next_timestamp
         if (c_associated(overlay%ref%value)) how%settings = c_loc(overlay%ref)
         status = lf_send_value(how, port, message%ref)
      end if
      call settle(status, ierr, errmsg)
   end subroutine

   subroutine send_1(self, port, timestamp, data, next_timestamp, slot, settings, unsigned, names, unit, order, ierr, errmsg)
      type(*), intent(in) :: data(:)
      include 'parts/send_array.inc'
   end subroutine

   subroutine send_2(self, port, timestamp, data, next_timestamp, slot, settings, unsigned, names, unit, order, ierr, errmsg)
      type(*), intent(in) :: data(:, :)
      include 'parts/send_array.inc'
   end subroutine

   subroutine send_3(self, port, timestamp, data, next_timestamp, slot, settings, unsigned, names, unit, order, ierr, errmsg)
      type(*), intent(in) :: data(:, :, :)
      include 'parts/send_array.inc'
   end subroutine

   subroutine send_4(self, port, timestamp, data, next_timestamp, slot, settings, unsigned, names, unit, order, ierr, errmsg)
      type(*), intent(in) :: data(:, :, :, :)
      include 'parts/send_array.inc'
   end subroutine

   subroutine send_5(self, port, timestamp, data, next_timestamp, slot, settings, unsigned, names, unit, order, ierr, errmsg)
      type(*), intent(in) :: data(:, :, :, :, :)
      include 'parts/send_array.inc'
   end subroutine

   subroutine send_6(self, port, timestamp, data, next_timestamp, slot, settings, unsigned, names, unit, order, ierr, errmsg)
      type(*), intent(in) :: data(:, :, :, :, :, :)
      include 'parts/send_array.inc'
   end subroutine

   subroutine send_7(self, port, timestamp, data, next_timestamp, slot, settings, unsigned, names, unit, order, ierr, errmsg)
      type(*), intent(in) :: data(:, :, :, :, :, :, :)
      include 'parts/send_array.inc'
   end subroutine

   subroutine send_8(self, port, timestamp, data, next_timestamp, slot, settings, unsigned, names, unit, order, ierr, errmsg)
      type(*), intent(in) :: data(:, :, :, :, :, :, :, :)
      include 'parts/send_array.inc'
   end subroutine

   ! Sends nothing but the times.
   subroutine send_none(self, port, timestamp, next_timestamp, slot, settings, ierr, errmsg)
      class(ligament_instance), intent(in) :: self
      character(len=*), intent(in) :: port
      real(real64), intent(in) :: timestamp
      real(real64), intent(in), optional :: next_timestamp
      integer, intent(in), optional :: slot
      class(ligament_value), intent(in), optional :: settings
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      type(lf_sending) :: how
      how = sending(self, port, timestamp, next_timestamp, slot, settings)
      call settle(lf_send_none(how, port), ierr, errmsg)
   end subroutine

   type(lf_sending) function sending(self, port, timestamp, next_timestamp, slot, settings)
      class(ligament_instance), intent(in) :: self
      character(len=*), intent(in) :: port
      real(real64), intent(in) :: timestamp
      real(real64), intent(in), optional :: next_timestamp
      integer, intent(in), optional :: slot
      class(ligament_value), intent(in), optional, target :: settings
      sending%instance = self%key
      sending%port_length = len(port)
      sending%timestamp = timestamp
      sending%slot = slot_of(slot)
      if (present(next_timestamp)) then
         sending%next_timestamp = next_timestamp
         sending%has_next_timestamp = .true.
      end if
      if (present(settings)) sending%settings = c_loc(settings%ref)
   end function

   ! ---- loans

   ! create_loan: lends memory for an array of the pointer's type and rank, and points the pointer there. Fill it, then
   ! send_loan it; do not touch it afterwards.
   subroutine loan_int8(self, loan, pointer, shape, names, unit, unsigned, order, ierr, errmsg)
      class(ligament_instance), intent(in) :: self
      type(ligament_loan), intent(inout) :: loan
      integer(int8), pointer, intent(out) :: pointer(..)
      type(*), intent(in) :: shape(:)
      character(len=*), intent(in), optional :: names(:), unit
      logical, intent(in), optional :: unsigned
      integer, intent(in), optional :: order
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      type(lf_sending) :: how
      how = lending(self, loan, names, unit, unsigned, order)
      call settle(lf_loan_int8(how, shape, names, unit, loan%key, pointer), ierr, errmsg)
   end subroutine

   subroutine loan_int16(self, loan, pointer, shape, names, unit, unsigned, order, ierr, errmsg)
      class(ligament_instance), intent(in) :: self
      type(ligament_loan), intent(inout) :: loan
      integer(int16), pointer, intent(out) :: pointer(..)
      type(*), intent(in) :: shape(:)
      character(len=*), intent(in), optional :: names(:), unit
      logical, intent(in), optional :: unsigned
      integer, intent(in), optional :: order
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      type(lf_sending) :: how
      how = lending(self, loan, names, unit, unsigned, order)
      call settle(lf_loan_int16(how, shape, names, unit, loan%key, pointer), ierr, errmsg)
   end subroutine

   subroutine loan_int32(self, loan, pointer, shape, names, unit, unsigned, order, ierr, errmsg)
      class(ligament_instance), intent(in) :: self
      type(ligament_loan), intent(inout) :: loan
      integer(int32), pointer, intent(out) :: pointer(..)
      type(*), intent(in) :: shape(:)
      character(len=*), intent(in), optional :: names(:), unit
      logical, intent(in), optional :: unsigned
      integer, intent(in), optional :: order
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      type(lf_sending) :: how
      how = lending(self, loan, names, unit, unsigned, order)
      call settle(lf_loan_int32(how, shape, names, unit, loan%key, pointer), ierr, errmsg)
   end subroutine

   subroutine loan_int64(self, loan, pointer, shape, names, unit, unsigned, order, ierr, errmsg)
      class(ligament_instance), intent(in) :: self
      type(ligament_loan), intent(inout) :: loan
      integer(int64), pointer, intent(out) :: pointer(..)
      type(*), intent(in) :: shape(:)
      character(len=*), intent(in), optional :: names(:), unit
      logical, intent(in), optional :: unsigned
      integer, intent(in), optional :: order
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      type(lf_sending) :: how
      how = lending(self, loan, names, unit, unsigned, order)
      call settle(lf_loan_int64(how, shape, names, unit, loan%key, pointer), ierr, errmsg)
   end subroutine

   subroutine loan_real32(self, loan, pointer, shape, names, unit, order, ierr, errmsg)
      class(ligament_instance), intent(in) :: self
      type(ligament_loan), intent(inout) :: loan
      real(real32), pointer, intent(out) :: pointer(..)
      type(*), intent(in) :: shape(:)
      character(len=*), intent(in), optional :: names(:), unit
      integer, intent(in), optional :: order
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      type(lf_sending) :: how
      how = lending(self, loan, names, unit, .false., order)
      call settle(lf_loan_real32(how, shape, names, unit, loan%key, pointer), ierr, errmsg)
   end subroutine

   subroutine loan_real64(self, loan, pointer, shape, names, unit, order, ierr, errmsg)
      class(ligament_instance), intent(in) :: self
      type(ligament_loan), intent(inout) :: loan
      real(real64), pointer, intent(out) :: pointer(..)
      type(*), intent(in) :: shape(:)
      character(len=*), intent(in), optional :: names(:), unit
      integer, intent(in), optional :: order
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      type(lf_sending) :: how
      how = lending(self, loan, names, unit, .false., order)
      call settle(lf_loan_real64(how, shape, names, unit, loan%key, pointer), ierr, errmsg)
   end subroutine

   subroutine loan_complex32(self, loan, pointer, shape, names, unit, order, ierr, errmsg)
      class(ligament_instance), intent(in) :: self
      type(ligament_loan), intent(inout) :: loan
      complex(real32), pointer, intent(out) :: pointer(..)
      type(*), intent(in) :: shape(:)
      character(len=*), intent(in), optional :: names(:), unit
      integer, intent(in), optional :: order
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      type(lf_sending) :: how
      how = lending(self, loan, names, unit, .false., order)
      call settle(lf_loan_complex32(how, shape, names, unit, loan%key, pointer), ierr, errmsg)
   end subroutine

   subroutine loan_complex64(self, loan, pointer, shape, names, unit, order, ierr, errmsg)
      class(ligament_instance), intent(in) :: self
      type(ligament_loan), intent(inout) :: loan
      complex(real64), pointer, intent(out) :: pointer(..)
      type(*), intent(in) :: shape(:)
      character(len=*), intent(in), optional :: names(:), unit
      integer, intent(in), optional :: order
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      type(lf_sending) :: how
      how = lending(self, loan, names, unit, .false., order)
      call settle(lf_loan_complex64(how, shape, names, unit, loan%key, pointer), ierr, errmsg)
   end subroutine

   subroutine loan_logical8(self, loan, pointer, shape, names, unit, order, ierr, errmsg)
      class(ligament_instance), intent(in) :: self
      type(ligament_loan), intent(inout) :: loan
      logical(c_bool), pointer, intent(out) :: pointer(..)
      type(*), intent(in) :: shape(:)
      character(len=*), intent(in), optional :: names(:), unit
      integer, intent(in), optional :: order
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      type(lf_sending) :: how
      how = lending(self, loan, names, unit, .false., order)
      call settle(lf_loan_logical8(how, shape, names, unit, loan%key, pointer), ierr, errmsg)
   end subroutine

   type(lf_sending) function lending(self, loan, names, unit, unsigned, order)
      class(ligament_instance), intent(in) :: self
      type(ligament_loan), intent(inout) :: loan
      character(len=*), intent(in), optional :: names(:), unit
      logical, intent(in), optional :: unsigned
      integer, intent(in), optional :: order
      call lf_free_loan(self%key, loan%key)
      lending%instance = self%key
      lending%is_unsigned = told(unsigned)
      lending%order = order_of(order)
      if (present(unit)) lending%unit_length = len(unit)
      if (present(names)) then
         lending%name_length = len(names)
         lending%name_count = size(names)
      end if
   end function

   ! Sends what a loan holds, without a copy if it has more than 64 KiB. The loan is gone, also after an error.
   subroutine send_loan(self, port, timestamp, loan, next_timestamp, slot, settings, ierr, errmsg)
      class(ligament_instance), intent(in) :: self
      character(len=*), intent(in) :: port
      real(real64), intent(in) :: timestamp
      type(ligament_loan), intent(inout) :: loan
      real(real64), intent(in), optional :: next_timestamp
      integer, intent(in), optional :: slot
      class(ligament_value), intent(in), optional :: settings
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      type(lf_sending) :: how
      how = sending(self, port, timestamp, next_timestamp, slot, settings)
      call settle(lf_send_loan(how, port, loan%key), ierr, errmsg)
   end subroutine

   ! Gives a loan back unsent.
   subroutine free_loan(self, loan)
      class(ligament_instance), intent(in) :: self
      type(ligament_loan), intent(inout) :: loan
      call lf_free_loan(self%key, loan%key)
   end subroutine

   ! ---- receiving

   ! Waits for the next message on a port, for at most `timeout` seconds if that is given. What the variable held before
   ! is freed. Where nothing is connected to the port that is an error, unless `connected` is there to say so: then the
   ! message is empty, and the code takes a value of its own.
   subroutine receive(self, port, message, slot, timeout, connected, ierr, errmsg)
      class(ligament_instance), intent(in) :: self
      character(len=*), intent(in) :: port
      type(ligament_message), intent(inout) :: message
      integer, intent(in), optional :: slot
      real(real64), intent(in), optional :: timeout
      logical, intent(out), optional :: connected
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      type(lf_receiving) :: how
      logical(c_bool) :: is_connected
      integer(c_int32_t) :: status
      how = receiving(self, len(port), slot, timeout)
      if (present(connected)) then
         status = lf_receive_if_connected(how, port, message%ref, message%times, is_connected)
         connected = is_connected
      else
         status = lf_receive(how, port, message%ref, message%times)
      end if
      call settle(status, ierr, errmsg)
   end subroutine

   ! Receives an array into `into`, which says what type and shape must come, or a number or truth value into a scalar. An
   ! array that comes in C's order is rearranged. Without a next message its time is huge.
   subroutine receive_into(self, port, into, timestamp, next_timestamp, has_next_timestamp, slot, timeout, unsigned, &
         ierr, errmsg)
      class(ligament_instance), intent(in) :: self
      character(len=*), intent(in) :: port
      type(*), dimension(..), intent(inout) :: into
      real(real64), intent(out), optional :: timestamp, next_timestamp
      logical, intent(out), optional :: has_next_timestamp
      integer, intent(in), optional :: slot
      real(real64), intent(in), optional :: timeout
      logical, intent(in), optional :: unsigned
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      type(lf_receiving) :: how
      type(lig_times) :: times
      integer(c_int32_t) :: status
      how = receiving(self, len(port), slot, timeout)
      how%is_unsigned = told(unsigned)
      status = lf_receive_into(how, port, into, times)
      if (present(timestamp)) timestamp = times%timestamp
      if (present(next_timestamp)) next_timestamp = merge(times%next_timestamp, huge(timeout), &
         logical(times%has_next_timestamp))
      if (present(has_next_timestamp)) has_next_timestamp = times%has_next_timestamp
      call settle(status, ierr, errmsg)
   end subroutine

   ! Whether a receive would return at once, also because the conduit has ended.
   logical function poll(self, port, slot, ierr, errmsg)
      class(ligament_instance), intent(in) :: self
      character(len=*), intent(in) :: port
      integer, intent(in), optional :: slot
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      logical(c_bool) :: ready
      integer(c_int32_t) :: status
      ready = .false.
      status = lf_poll(receiving(self, len(port), slot), port, ready)
      poll = ready
      call settle(status, ierr, errmsg)
   end function

   ! Waits until one of several ports can be received from, and gives its place among them, from 1. `slots` has a slot for
   ! each, and a number below 0 for a port without slots. 0 after an error.
   integer function wait_any(self, ports, slots, timeout, ierr, errmsg)
      class(ligament_instance), intent(in) :: self
      character(len=*), intent(in) :: ports(:)
      integer, intent(in), optional :: slots(:)
      real(real64), intent(in), optional :: timeout
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      integer(c_int64_t) :: which, chosen(size(ports))
      integer(c_int32_t) :: status
      which = 0
      status = choose('wait_any', slots, chosen)
      if (status == 0) status = lf_wait_any(receiving(self, len(ports), timeout=timeout), ports, &
         size(ports, kind=c_size_t), chosen, which)
      wait_any = int(which)
      call settle(status, ierr, errmsg)
   end function

   ! Receives from whichever of several ports is first, and gives its place among them, from 1. A conduit that ends is passed
   ! over for as long as another one may bring something. `slots` is as in wait_any. 0 after an error.
   integer function receive_any(self, ports, message, slots, timeout, ierr, errmsg)
      class(ligament_instance), intent(in) :: self
      character(len=*), intent(in) :: ports(:)
      type(ligament_message), intent(inout) :: message
      integer, intent(in), optional :: slots(:)
      real(real64), intent(in), optional :: timeout
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      integer(c_int64_t) :: which, chosen(size(ports))
      integer(c_int32_t) :: status
      which = 0
      status = choose('receive_any', slots, chosen)
      if (status == 0) status = lf_receive_any(receiving(self, len(ports), timeout=timeout), ports, &
         size(ports, kind=c_size_t), chosen, message%ref, message%times, which)
      receive_any = int(which)
      call settle(status, ierr, errmsg)
   end function

   ! The slots of several ports: -1 where none is given.
   integer(c_int32_t) function choose(call, slots, chosen)
      character(len=*), intent(in) :: call
      integer, intent(in), optional :: slots(:)
      integer(c_int64_t), intent(out) :: chosen(:)
      choose = 0
      chosen = -1
      if (.not. present(slots)) return
      if (size(slots) /= size(chosen)) then
         choose = misuse(call // ': there must be as many slots as ports')
         return
      end if
      chosen = slots
   end function

   type(lf_receiving) function receiving(self, length, slot, timeout)
      class(ligament_instance), intent(in) :: self
      integer, intent(in) :: length
      integer, intent(in), optional :: slot
      real(real64), intent(in), optional :: timeout
      receiving%instance = self%key
      receiving%port_length = length
      receiving%slot = slot_of(slot)
      if (present(timeout)) then
         receiving%timeout = timeout
         receiving%has_timeout = .true.
      end if
   end function

   ! ---- messages

   ! The model time that a message belongs to, s.
   real(real64) function timestamp(self)
      class(ligament_message), intent(in) :: self
      timestamp = self%times%timestamp
   end function

   ! The model time of the sender's next message, s; huge if there will be none.
   real(real64) function next_timestamp(self)
      class(ligament_message), intent(in) :: self
      next_timestamp = huge(next_timestamp)
      if (self%times%has_next_timestamp) next_timestamp = self%times%next_timestamp
   end function

   ! Whether the sender said when its next message will be.
   logical function has_next_timestamp(self)
      class(ligament_message), intent(in) :: self
      has_next_timestamp = self%times%has_next_timestamp
   end function

   ! The overlay of settings that came with a message, as a map that lives as long: only of an instance that was made with
   ! dont_apply_overlay.
   type(ligament_value) function settings(self, ierr, errmsg)
      class(ligament_message), intent(in) :: self
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      call settle(lf_message_settings(self%ref, settings%ref), ierr, errmsg)
   end function

   ! Frees a message, and gives back the memory that its arrays are in.
   subroutine free_message(self)
      class(ligament_message), intent(inout) :: self
      call lf_free_message(self%ref)
   end subroutine
end module
