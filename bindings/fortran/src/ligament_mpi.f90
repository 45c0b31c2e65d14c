! One instance for all ranks of an MPI program: `use ligament_mpi`, beside `use ligament`. Compile this file
! with your MPI's Fortran compiler, and ligament_mpi_ranks.c with its C compiler. The guide is
! docs/guides/mpi.md.
!
! Rank 0 speaks for all. The procedures here are collective: all ranks call them together, and all get the same
! status and text. Only rank 0 may do anything else, through the component `root`:
!
!     type(ligament_mpi_instance) :: all
!     all = ligament_mpi_instance([ligament_port(LIGAMENT_F_INIT, 'start'), ligament_port(LIGAMENT_O_F, 'end')])
!     do while (all%reuse_instance())
!        call all%receive_into('start', field, timestamp=t)                ! the elements, on all ranks
!        ...
!        if (all%rank() == 0) call all%root%send('end', t, result)
!     end do
!     call all%free()                                                     ! before MPI_Finalize
module ligament_mpi
   use ligament
   use ligament_calls, only: fault_text, lf_set_fault, lig_string, lig_times, misuse, settle, text_at
   use, intrinsic :: iso_c_binding, only: c_associated, c_bool, c_char, c_int, c_int32_t, c_null_ptr, c_ptr, &
      c_size_t
   use, intrinsic :: iso_fortran_env, only: real64
   implicit none
   private
   public :: ligament_mpi_instance

   ! Maximum length of an error text, in characters.
   integer, parameter :: text_length = 1023
   ! The collective calls, as ligament_mpi.h numbers them.
   integer(c_int32_t), parameter :: call_create = 1, call_reuse = 2, call_receive = 3, call_receive_into = 4, &
      call_finish = 5, call_steer = 9, call_resuming = 10, call_load = 11, call_init = 12, &
      call_should_save = 13, call_save = 14, call_should_save_final = 15, call_save_final = 16, &
      call_directory = 17
   character(len=*), parameter :: each_rank = &
      'the model says under "ranks:" that each rank of this instance speaks for ' // &
      'itself; make an instance of the ordinary kind on every rank, or take it out of "ranks:"'

   type :: ligament_mpi_instance
      type(c_ptr), private :: ranks = c_null_ptr
      ! The instance, for all operations that are not collective; on rank 0 only.
      type(ligament_instance) :: root
   contains
      procedure :: rank => this_rank
      procedure :: comm
      procedure :: reuse_instance
      procedure :: steer
      procedure :: receive
      procedure :: receive_into
      procedure :: resuming
      procedure :: load_snapshot
      procedure :: should_init
      procedure :: should_save_snapshot
      procedure :: save_snapshot
      procedure :: should_save_final_snapshot
      procedure :: save_final_snapshot
      procedure :: snapshot_directory
      procedure :: finish
      procedure :: free => free_instance
      procedure, private :: share
   end type

   interface ligament_mpi_instance
      procedure :: create
   end interface

   interface
      type(c_ptr) function lfm_create(comm) bind(c)
         import
         integer(c_int), intent(in), optional :: comm
      end function

      integer(c_int) function lfm_rank(ranks) bind(c)
         import
         type(c_ptr), value :: ranks
      end function

      integer(c_int) function lfm_comm(ranks) bind(c)
         import
         type(c_ptr), value :: ranks
      end function

      subroutine lfm_enter(ranks, call, port, length, array) bind(c)
         import
         type(c_ptr), value :: ranks
         integer(c_int32_t), value :: call
         character(kind=c_char), intent(in) :: port(*)
         integer(c_size_t), value :: length
         type(*), dimension(..), intent(in), optional :: array
      end subroutine

      integer(c_int32_t) function lfm_share(ranks, status, again, times, text, length) bind(c)
         import
         type(c_ptr), value :: ranks
         integer(c_int32_t), value :: status
         integer(c_int32_t), intent(inout) :: again
         type(lig_times), intent(inout) :: times
         character(kind=c_char), intent(inout) :: text(*)
         integer(c_size_t), value :: length
      end function

      ! `own` is rank 0's directory. `given` belongs to the ranks' data.
      integer(c_int32_t) function lfm_directory(ranks, own, length, given) bind(c)
         import
         type(c_ptr), value :: ranks
         character(kind=c_char), intent(in) :: own(*)
         integer(c_size_t), value :: length
         type(lig_string), intent(out) :: given
      end function

      logical(c_bool) function lfm_give(ranks, array) bind(c)
         import
         type(c_ptr), value :: ranks
         type(*), dimension(..), intent(inout) :: array
      end function

      subroutine lfm_free(ranks) bind(c)
         import
         type(c_ptr), value :: ranks
      end subroutine
   end interface

contains

   ! Joins the run as `ligament_instance` does. `comm` is the communicator of all ranks (that of the module mpi,
   ! or %mpi_val of mpi_f08), MPI_COMM_WORLD if it is not given; it is duplicated.
   type(ligament_mpi_instance) function create(ports, comm, dont_apply_overlay, uses_checkpoint_api, &
         keeps_no_state_for_next_use, state_not_required_for_next_use, ierr, errmsg)
      type(ligament_port), intent(in), optional :: ports(:)
      integer, intent(in), optional :: comm
      logical, intent(in), optional :: dont_apply_overlay, uses_checkpoint_api, keeps_no_state_for_next_use
      logical, intent(in), optional :: state_not_required_for_next_use
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      integer :: status
      status = 0
      create%ranks = lfm_create(comm)
      if (.not. c_associated(create%ranks)) then
         status = misuse('a rank has no memory for an instance')
         call settle(int(LIGAMENT_ERR_OUT_OF_MEMORY, c_int32_t), ierr, errmsg)
         return
      end if
      call lfm_enter(create%ranks, call_create, '', 0_c_size_t)
      if (create%rank() == 0) create%root = ligament_instance(ports, dont_apply_overlay, &
         uses_checkpoint_api=uses_checkpoint_api, keeps_no_state_for_next_use=keeps_no_state_for_next_use, &
         state_not_required_for_next_use=state_not_required_for_next_use, ierr=status)
      if (create%rank() == 0 .and. status == 0) then
         if (create%root%ranks() > 1) then
            call create%root%error_shutdown(each_rank)
            call create%root%free()
            status = misuse(each_rank)
         end if
      end if
      call create%share(status)
      if (status /= 0) then
         call lfm_free(create%ranks)
         create%ranks = c_null_ptr
      end if
      call settle(int(status, c_int32_t), ierr, errmsg)
   end function

   ! This rank.
   integer function this_rank(self)
      class(ligament_mpi_instance), intent(in) :: self
      this_rank = lfm_rank(self%ranks)
   end function

   ! The communicator of all ranks, which is the instance's own.
   integer function comm(self)
      class(ligament_mpi_instance), intent(in) :: self
      comm = lfm_comm(self%ranks)
   end function

   ! True to go through the execution loop (again).
   logical function reuse_instance(self, ierr, errmsg)
      class(ligament_mpi_instance), intent(in) :: self
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      integer :: status
      logical :: again
      status = 0
      again = .false.
      call lfm_enter(self%ranks, call_reuse, '', 0_c_size_t)
      if (self%rank() == 0) again = self%root%reuse_instance(ierr=status)
      call self%share(status, again)
      reuse_instance = again
      call settle(int(status, c_int32_t), ierr, errmsg)
   end function

   ! True if settings have changed, as in `ligament_instance`; all ranks get the same result. The time, in s, is
   ! rank 0's. Rank 0 reads the settings again, and sends the others the ones that they need.
   logical function steer(self, time, ierr, errmsg)
      class(ligament_mpi_instance), intent(in) :: self
      real(real64), intent(in) :: time
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      integer :: status
      logical :: changed
      status = 0
      changed = .false.
      call lfm_enter(self%ranks, call_steer, '', 0_c_size_t)
      if (self%rank() == 0) changed = self%root%steer(time, ierr=status)
      call self%share(status, changed)
      steer = changed
      call settle(int(status, c_int32_t), ierr, errmsg)
   end function

   ! Receives a message. Rank 0 gets the message, and the others get its times.
   subroutine receive(self, port, message, timestamp, next_timestamp, slot, timeout, ierr, errmsg)
      class(ligament_mpi_instance), intent(in) :: self
      character(len=*), intent(in) :: port
      type(ligament_message), intent(inout) :: message
      real(real64), intent(out), optional :: timestamp, next_timestamp
      integer, intent(in), optional :: slot
      real(real64), intent(in), optional :: timeout
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      type(lig_times) :: times
      integer :: status
      status = 0
      call lfm_enter(self%ranks, call_receive, port, len_trim(port, c_size_t))
      if (self%rank() == 0) then
         call self%root%receive(port, message, slot=slot, timeout=timeout, ierr=status)
         if (status == 0) times = message%times
      end if
      call self%share(status, times=times)
      call tell(times, timestamp, next_timestamp)
      call settle(int(status, c_int32_t), ierr, errmsg)
   end subroutine

   ! Receives an array into the array of each rank; all of these have the same type and shape. If there is no
   ! next message, its time is huge.
   subroutine receive_into(self, port, into, timestamp, next_timestamp, slot, timeout, unsigned, ierr, errmsg)
      class(ligament_mpi_instance), intent(in) :: self
      character(len=*), intent(in) :: port
      type(*), dimension(..), intent(inout) :: into
      real(real64), intent(out), optional :: timestamp, next_timestamp
      integer, intent(in), optional :: slot
      real(real64), intent(in), optional :: timeout
      logical, intent(in), optional :: unsigned
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      type(lig_times) :: times
      integer :: status
      real(real64) :: next
      logical :: has_next
      status = 0
      call lfm_enter(self%ranks, call_receive_into, port, len_trim(port, c_size_t), into)
      if (self%rank() == 0) then
         call self%root%receive_into(port, into, timestamp=times%timestamp, next_timestamp=next, &
            has_next_timestamp=has_next, slot=slot, timeout=timeout, unsigned=unsigned, ierr=status)
         times%has_next_timestamp = has_next
         if (has_next) times%next_timestamp = next
      end if
      call self%share(status, times=times)
      if (status == 0) then
         if (.not. lfm_give(self%ranks, into)) then
            status = misuse('a rank has no memory for a section of an array')
            status = LIGAMENT_ERR_OUT_OF_MEMORY
         end if
      end if
      call tell(times, timestamp, next_timestamp)
      call settle(int(status, c_int32_t), ierr, errmsg)
   end subroutine

   ! True on all ranks in the first pass after the run was resumed; see ligament_instance for these calls.
   logical function resuming(self, ierr, errmsg)
      class(ligament_mpi_instance), intent(in) :: self
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      integer :: status
      logical :: yes
      status = 0
      yes = .false.
      call lfm_enter(self%ranks, call_resuming, '', 0_c_size_t)
      if (self%rank() == 0) yes = self%root%resuming(ierr=status)
      call self%share(status, yes)
      resuming = yes
      call settle(int(status, c_int32_t), ierr, errmsg)
   end function

   ! Loads the saved message. Rank 0 gets the message, and the others get its times. Rank 0 gives them what they
   ! need of the state.
   subroutine load_snapshot(self, message, timestamp, next_timestamp, ierr, errmsg)
      class(ligament_mpi_instance), intent(in) :: self
      type(ligament_message), intent(inout) :: message
      real(real64), intent(out), optional :: timestamp, next_timestamp
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      type(lig_times) :: times
      integer :: status
      status = 0
      call lfm_enter(self%ranks, call_load, '', 0_c_size_t)
      if (self%rank() == 0) then
         call self%root%load_snapshot(message, ierr=status)
         if (status == 0) times = message%times
      end if
      call self%share(status, times=times)
      call tell(times, timestamp, next_timestamp)
      call settle(int(status, c_int32_t), ierr, errmsg)
   end subroutine

   ! True on all ranks if the code must set its state from its F_INIT messages.
   logical function should_init(self, ierr, errmsg)
      class(ligament_mpi_instance), intent(in) :: self
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      integer :: status
      logical :: yes
      status = 0
      yes = .false.
      call lfm_enter(self%ranks, call_init, '', 0_c_size_t)
      if (self%rank() == 0) yes = self%root%should_init(ierr=status)
      call self%share(status, yes)
      should_init = yes
      call settle(int(status, c_int32_t), ierr, errmsg)
   end function

   ! True on all ranks if the code must save its state now. The time, in s, is rank 0's.
   logical function should_save_snapshot(self, time, ierr, errmsg)
      class(ligament_mpi_instance), intent(in) :: self
      real(real64), intent(in) :: time
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      integer :: status
      logical :: yes
      status = 0
      yes = .false.
      call lfm_enter(self%ranks, call_should_save, '', 0_c_size_t)
      if (self%rank() == 0) yes = self%root%should_save_snapshot(time, ierr=status)
      call self%share(status, yes)
      should_save_snapshot = yes
      call settle(int(status, c_int32_t), ierr, errmsg)
   end function

   ! Saves rank 0's state; that of the other ranks is not looked at. Rank 0 gathers their parts before, or they
   ! write files of their own in snapshot_directory. The state is a number, truth value, text or value, such as
   ! ligament_array(field).
   subroutine save_snapshot(self, timestamp, state, next_timestamp, ierr, errmsg)
      class(ligament_mpi_instance), intent(in) :: self
      real(real64), intent(in) :: timestamp
      class(*), intent(in) :: state
      real(real64), intent(in), optional :: next_timestamp
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      integer :: status
      status = 0
      call lfm_enter(self%ranks, call_save, '', 0_c_size_t)
      if (self%rank() == 0) call self%root%save_snapshot(timestamp, state, next_timestamp, ierr=status)
      call self%share(status)
      call settle(int(status, c_int32_t), ierr, errmsg)
   end subroutine

   ! True on all ranks if the code must save its state at the end of a pass.
   logical function should_save_final_snapshot(self, ierr, errmsg)
      class(ligament_mpi_instance), intent(in) :: self
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      integer :: status
      logical :: yes
      status = 0
      yes = .false.
      call lfm_enter(self%ranks, call_should_save_final, '', 0_c_size_t)
      if (self%rank() == 0) yes = self%root%should_save_final_snapshot(ierr=status)
      call self%share(status, yes)
      should_save_final_snapshot = yes
      call settle(int(status, c_int32_t), ierr, errmsg)
   end function

   ! Saves rank 0's state at the end of a pass.
   subroutine save_final_snapshot(self, timestamp, state, next_timestamp, ierr, errmsg)
      class(ligament_mpi_instance), intent(in) :: self
      real(real64), intent(in) :: timestamp
      class(*), intent(in) :: state
      real(real64), intent(in), optional :: next_timestamp
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      integer :: status
      status = 0
      call lfm_enter(self%ranks, call_save_final, '', 0_c_size_t)
      if (self%rank() == 0) call self%root%save_final_snapshot(timestamp, state, next_timestamp, ierr=status)
      call self%share(status)
      call settle(int(status, c_int32_t), ierr, errmsg)
   end subroutine

   ! The directory for files of the code's own beside the message of a checkpoint, the same on all ranks.
   function snapshot_directory(self, ierr, errmsg) result(directory)
      class(ligament_mpi_instance), intent(in) :: self
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      character(len=:), allocatable :: directory
      type(lig_string) :: given
      integer :: status
      status = 0
      directory = ''
      call lfm_enter(self%ranks, call_directory, '', 0_c_size_t)
      if (self%rank() == 0) directory = self%root%snapshot_directory(ierr=status)
      call self%share(status)
      if (status == 0) then
         status = lfm_directory(self%ranks, directory, len(directory, c_size_t), given)
         if (status == 0) then
            directory = text_at(given%data, given%size)
         else
            status = misuse('a rank has no memory for the name of a directory')
            status = LIGAMENT_ERR_OUT_OF_MEMORY
         end if
      end if
      call settle(int(status, c_int32_t), ierr, errmsg)
   end function

   ! Ends the instance.
   subroutine finish(self, ierr, errmsg)
      class(ligament_mpi_instance), intent(in) :: self
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      integer :: status
      status = 0
      call lfm_enter(self%ranks, call_finish, '', 0_c_size_t)
      if (self%rank() == 0) call self%root%finish(ierr=status)
      call self%share(status)
      call settle(int(status, c_int32_t), ierr, errmsg)
   end subroutine

   ! Frees the memory that the ranks share, and ends the instance if it has not ended. Call it before
   ! MPI_Finalize.
   subroutine free_instance(self)
      class(ligament_mpi_instance), intent(inout) :: self
      if (.not. c_associated(self%ranks)) return
      if (self%rank() == 0) call self%root%free()
      call lfm_free(self%ranks)
      self%ranks = c_null_ptr
   end subroutine

   ! Sends the result of rank 0's call to all ranks. On the others, the error's text becomes the last error of
   ! this binding.
   subroutine share(self, status, again, times)
      class(ligament_mpi_instance), intent(in) :: self
      integer, intent(inout) :: status
      logical, intent(inout), optional :: again
      type(lig_times), intent(inout), optional :: times
      character(len=text_length) :: text
      integer(c_int32_t) :: more
      type(lig_times) :: of_message
      text = ''
      if (status /= 0) text = fault_text()
      more = 0
      if (present(again)) more = merge(1, 0, again)
      if (present(times)) of_message = times
      status = lfm_share(self%ranks, int(status, c_int32_t), more, of_message, text, len(text, c_size_t))
      if (present(again)) again = more /= 0
      if (present(times)) times = of_message
      if (status /= 0) call lf_set_fault(text, len_trim(text, c_size_t))
   end subroutine

   subroutine tell(times, timestamp, next_timestamp)
      type(lig_times), intent(in) :: times
      real(real64), intent(out), optional :: timestamp, next_timestamp
      if (present(timestamp)) timestamp = times%timestamp
      if (present(next_timestamp)) next_timestamp = merge(times%next_timestamp, huge(next_timestamp), &
         logical(times%has_next_timestamp))
   end subroutine
end module
