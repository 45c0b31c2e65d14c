! Ligament for Fortran: `use ligament`. Compile this file and ligament_descriptors.c with your own compilers;
! they take what lies in parts/ by themselves. The guide is docs/guides/fortran.md.
include 'parts/calls.f90'
include 'parts/values.f90'
include 'parts/instances.f90'
include 'parts/submodels.f90'
include 'parts/grids.f90'

module ligament
   use ligament_calls, only: lig_version, lig_status_name, lf_length, text_at
   use ligament_values
   use ligament_instances
   use ligament_submodels
   use ligament_grids
   use, intrinsic :: iso_c_binding, only: c_int32_t, c_ptr
   implicit none
   private :: lig_version, lig_status_name, lf_length, text_at, c_int32_t, c_ptr, foreign

   ! How a call ended (`ierr`).
   integer, parameter :: LIGAMENT_OK = 0
   ! There is no run to take part in, or it refused this instance.
   integer, parameter :: LIGAMENT_ERR_REGISTRATION = 1
   integer, parameter :: LIGAMENT_ERR_USAGE = 2           ! a call that cannot work
   integer, parameter :: LIGAMENT_ERR_UNEXPECTED = 3      ! a message is not what was asked for
   integer, parameter :: LIGAMENT_ERR_CLOSED = 4          ! the conduit has ended
   integer, parameter :: LIGAMENT_ERR_SETTING_UNSET = 5   ! a setting is not set
   integer, parameter :: LIGAMENT_ERR_TIMED_OUT = 6       ! nothing came within the time allowed
   integer, parameter :: LIGAMENT_ERR_INTERRUPTED = 7     ! the interrupt check said to give up
   integer, parameter :: LIGAMENT_ERR_OUT_OF_MEMORY = 8   ! the run has no memory left for the message
   integer, parameter :: LIGAMENT_ERR_RUN_ENDS = 9        ! the run is ending
   integer, parameter :: LIGAMENT_ERR_SYSTEM = 10         ! the system, or data from another process, failed
   integer, parameter :: LIGAMENT_ERR_PANIC = 11          ! a fault in the library
   integer, parameter :: LIGAMENT_ERR_SETTING_TYPE = 12   ! a setting is of another type than was asked for

contains

   ! The version of the library that is loaded.
   function ligament_version() result(version)
      character(len=:), allocatable :: version
      type(c_ptr) :: place
      place = lig_version()
      version = text_at(place, lf_length(place))
   end function

   ! The name of a status, such as "LIG_ERR_CLOSED".
   function ligament_status_name(status) result(name)
      integer, intent(in) :: status
      character(len=:), allocatable :: name
      type(c_ptr) :: place
      place = lig_status_name(int(status, c_int32_t))
      name = text_at(place, lf_length(place))
   end function
end module
