! Drug in the wall of a vessel: it is released by the struts of a stent, diffuses through the tissue, decays,
! and is washed away where blood flows. The vessel is round, so that the wall is a plane of r (from the axis)
! and z (along, periodic). OpenMP shares the columns of cells among threads. Nothing here knows of coupling.
! Lengths in mm, times in days.
module diffusion
   use, intrinsic :: iso_fortran_env, only: real64
   implicit none
   private
   public :: drug_field

   type :: drug_field
      real(real64), allocatable :: concentration(:, :)   ! of the cells [r, z]
      real(real64), allocatable :: source(:, :)          ! 1 in the cells of struts, 0 elsewhere
      real(real64), allocatable :: r(:), face(:)         ! the middle of each cell, and its faces
      real(real64) :: h, diffusivity, decay
   contains
      procedure :: create
      procedure :: longest_step
      procedure :: step
   end type

contains

   ! Makes cells of size h from the outer radius inwards, without drug.
   subroutine create(self, across, along, h, outer)
      class(drug_field), intent(out) :: self
      integer, intent(in) :: across, along
      real(real64), intent(in) :: h, outer
      integer :: i
      self%h = h
      self%face = [(outer - (across - i) * h, i = 0, across)]
      self%r = (self%face(1:across) + self%face(2:)) / 2
      allocate (self%concentration(across, along), self%source(across, along), source=0d0)
   end subroutine

   ! Returns the longest stable time step.
   real(real64) function longest_step(self)
      class(drug_field), intent(in) :: self
      longest_step = self%h**2 / (4 * self%diffusivity)
   end function

   ! Makes one explicit step of finite volumes. `released` is added to the struts, and blood flows within the
   ! `lumen` of each column.
   subroutine step(self, dt, released, lumen)
      class(drug_field), intent(inout) :: self
      real(real64), intent(in) :: dt, released, lumen(:)
      real(real64), dimension(size(self%concentration, 1), size(self%concentration, 2)) :: new
      real(real64) :: inwards, outwards, sideways, factor
      integer :: i, j, n, m
      n = size(new, 1)
      m = size(new, 2)
      factor = dt * self%diffusivity / self%h**2
      associate (c => self%concentration, r => self%r, face => self%face)
         !$omp parallel do private(i, inwards, outwards, sideways)
         do j = 1, m
            do i = 1, n
               inwards = 0
               outwards = 0
               if (i > 1) inwards = face(i) / r(i) * (c(i - 1, j) - c(i, j))
               if (i < n) outwards = face(i + 1) / r(i) * (c(i + 1, j) - c(i, j))
               sideways = c(i, modulo(j, m) + 1) + c(i, modulo(j - 2, m) + 1) - 2 * c(i, j)
               new(i, j) = c(i, j) * (1 - dt * self%decay) + factor * (inwards + outwards + sideways) &
                  + released * self%source(i, j)
               if (r(i) < lumen(j)) new(i, j) = 0
            end do
         end do
         !$omp end parallel do
      end associate
      self%concentration = new
   end subroutine
end module
