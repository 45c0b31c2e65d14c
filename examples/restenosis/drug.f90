! The drug of a stent. It receives the radius of the lumen, computes the diffusion of the drug for one slow
! step, and sends the concentrations. This file is the coupling; diffusion.f90 is the physics. Lengths in mm,
! times in days; a concentration of 1 stops a cell.
program drug
   use ligament
   use diffusion, only: drug_field
   use, intrinsic :: iso_fortran_env, only: real64
   implicit none
   type(ligament_instance) :: instance
   type(drug_field) :: field
   real(real64), allocatable :: lumen(:)
   real(real64) :: time, dt, dose, release_time, thickness
   integer :: substeps, substep

   instance = ligament_instance([ &
      ligament_port(LIGAMENT_F_INIT, 'lumen'), ligament_port(LIGAMENT_O_F, 'concentration')])
   call set_up()
   do while (instance%reuse_instance())
      call instance%receive_into('lumen', lumen, timestamp=time)
      do substep = 1, substeps
         call field%step(dt, released(time + substep * dt), along_cells(lumen))
      end do
      call instance%send('concentration', time, field%concentration)
   end do
   call instance%free()

contains

   subroutine set_up()
      real(real64), allocatable :: struts(:)
      real(real64) :: h, radius, wall, z
      integer :: along, i, j
      substeps = nint(setting('substeps'))
      dt = setting('dt') / substeps
      dose = setting('dose')
      release_time = setting('release_time')
      radius = setting('radius')
      wall = setting('wall')
      thickness = setting('strut')
      call instance%get_setting('struts', struts)
      along = nint(setting('cells_along'))
      h = setting('length') / along
      allocate (lumen(nint(setting('nodes_along'))))

      call field%create(nint(setting('cells_across')), along, h, radius + wall)
      field%diffusivity = setting('diffusivity')
      field%decay = setting('decay')
      if (dt > field%longest_step()) then
         call instance%error_shutdown('the step of the drug is too long for its diffusivity; set more substeps')
         stop 1
      end if
      do j = 1, along
         z = (j - 0.5d0) * h
         do i = 1, size(field%r)
            if (any(abs(z - struts) < thickness / 2) &
                .and. abs(field%r(i) - radius - thickness / 2) < thickness / 2) field%source(i, j) = 1
         end do
      end do
   end subroutine

   ! Returns the drug that the struts release in the step that ends at a time. The drug that is left in them
   ! falls exponentially.
   real(real64) function released(until)
      real(real64), intent(in) :: until
      released = dose * (exp(-(until - dt) / release_time) - exp(-until / release_time))
   end function

   ! Returns the lumen at each column of cells, which are finer than the nodes of the flow: that of the nearest
   ! node.
   function along_cells(radius) result(fine)
      real(real64), intent(in) :: radius(:)
      real(real64), allocatable :: fine(:)
      integer :: j, along
      along = size(field%concentration, 2)
      fine = [(radius((j - 1) * size(radius) / along + 1), j = 1, along)]
   end function

   real(real64) function setting(name)
      character(len=*), intent(in) :: name
      call instance%get_setting(name, setting)
   end function
end program
