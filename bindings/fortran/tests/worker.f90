! One of three workers: answers each task of boss.f90 or the C face's boss.c.
program worker
   use ligament
   use, intrinsic :: iso_fortran_env, only: error_unit, int32, int64, real32, real64
   implicit none
   type(ligament_instance) :: instance
   type(ligament_message) :: message
   type(ligament_loan) :: loan, copy
   real(real64), pointer :: lent(:, :) => null()
   integer(int32) :: columns(4, 2)
   integer(int64) :: sum_of_all
   integer :: offset, i, j, status
   integer, allocatable :: place(:)
   real(real64) :: time
   character(len=500) :: text = ''

   instance = ligament_instance()
   call holds(instance%reuse_instance(), 'a first pass')
   place = instance%index()
   call holds(size(place) == 1, 'one dimension')
   call instance%receive('in', message)
   call message%get(offset)
   call holds(offset == 10 * place(1), 'the offset is mine')
   deallocate (place)
   call message%free()

   ! A loan that is given back, and one that is sent; row-major, as a code in C would lend it.
   call instance%create_loan(loan, lent, [40, 50])
   call instance%free_loan(loan)
   call instance%create_loan(loan, lent, [40, 50], order=LIGAMENT_ROW_MAJOR)
   do i = 1, 40
      do j = 1, 50
         lent(i, j) = offset + 50 * (i - 1) + (j - 1)
      end do
   end do
   copy = loan
   call instance%send_loan('out', 0d0, loan)
   call instance%send_loan('out', 0d0, loan, ierr=status, errmsg=text)
   call ended(LIGAMENT_ERR_USAGE, 'no loan')
   call instance%send_loan('out', 0d0, copy, ierr=status, errmsg=text)
   call ended(LIGAMENT_ERR_USAGE, 'no loan')

   call instance%receive_into('in', columns, timestamp=time)
   call holds(time == 2, 'the second time')
   sum_of_all = sum(columns)
   call instance%send('out', 0d0, sum_of_all)
   call instance%send('out', 3d0, [0.0_real32, 1.0_real32, 2.0_real32, 3.0_real32, 4.0_real32])
   call instance%free()

contains

   include 'checks.inc'
end program
