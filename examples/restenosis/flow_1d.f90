! The flow solver in one dimension: Poiseuille's law for each layer of the vessel. One word in the model puts it
! in the place of the one in three dimensions. It is started with the same number of MPI processes, all of which
! compute the same, because there is little to compute.
program flow_1d
   use ligament
   use ligament_mpi
   use mpi
   use, intrinsic :: iso_fortran_env, only: real64
   implicit none
   real(real64), parameter :: PI = acos(-1d0)
   type(ligament_mpi_instance) :: all
   real(real64), allocatable :: lumen(:), section(:, :)
   real(real64) :: time, viscosity, flow_rate, dx
   integer :: length, width, error

   call MPI_Init(error)
   all = ligament_mpi_instance([ligament_port(LIGAMENT_F_INIT, 'lumen'), ligament_port(LIGAMENT_O_F, 'shear'), &
      ligament_port(LIGAMENT_O_F, 'resistance'), ligament_port(LIGAMENT_O_F, 'section')])
   length = nint(setting('nodes_along'))
   width = nint(setting('nodes_across'))
   dx = setting('length') / length
   viscosity = 1d-6 * setting('density') * setting('viscosity')   ! Pa s
   flow_rate = setting('flow_rate')
   allocate (lumen(length), section(length, width))
   do while (all%reuse_instance())
      call all%receive_into('lumen', lumen, timestamp=time)
      if (all%rank() /= 0) cycle
      section = profile(lumen)
      call all%root%send('shear', time, 4 * viscosity * flow_rate / (PI * lumen**3))
      call all%root%send('resistance', time, sum(8 * viscosity * dx / (PI * lumen**4)))
      call all%root%send('section', time, section)
   end do
   call all%free()
   call MPI_Finalize(error)

contains

   ! Returns the velocities in a plane through the axis.
   function profile(radius)
      real(real64), intent(in) :: radius(:)
      real(real64) :: profile(length, width)
      real(real64) :: x
      integer :: j
      do j = 1, width
         x = dx * (j - (width + 1) / 2d0)
         profile(:, j) = 2 * flow_rate / (PI * radius**2) * max(0d0, 1 - (x / radius)**2)
      end do
   end function

   ! Gives all ranks a setting, which rank 0 has.
   real(real64) function setting(name)
      character(len=*), intent(in) :: name
      integer :: error
      if (all%rank() == 0) call all%root%get_setting(name, setting)
      call MPI_Bcast(setting, 1, MPI_DOUBLE_PRECISION, 0, all%comm(), error)
   end function
end program
