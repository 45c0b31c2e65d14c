! The module "sponge": walls that absorb most of the sound. Near the edges of the room, the rate of change is
! reduced in each step. The loops are those of a program without blocks.
subroutine soak(v, n, first, whole, depth, loss)
   implicit none
   integer, intent(in) :: n(3), first(3), whole(3), depth
   double precision, intent(inout) :: v(n(1), n(2), n(3))
   double precision, intent(in) :: loss
   double precision :: share
   integer :: i, j, k, distance
   do k = 1, n(3)
      do j = 1, n(2)
         do i = 1, n(1)
            distance = min(first(1) + i - 1, whole(1) - first(1) - i + 2, &
               first(2) + j - 1, whole(2) - first(2) - j + 2, &
               first(3) + k - 1, whole(3) - first(3) - k + 2)
            if (distance < depth) then
               share = dble(depth - distance)/dble(depth)
               v(i, j, k) = v(i, j, k)*(1.0d0 - loss*share*share)
            end if
         end do
      end do
   end do
end subroutine

module sponge
   use ligament_modules
   implicit none
   character, parameter :: nl = new_line('a')
contains
   function declaration() bind(c, name='ligament_module') result(text)
      type(c_ptr) :: text
      text = module_text('name: sponge'//nl// &
         'parameters:'//nl// &
         '  depth: {type: int, default: 8, min: 1}'//nl// &
         '  loss: {default: 0.2, min: 0, max: 1, steerable: true}'//nl// &
         'functions: {absorb: {bin: poststep, reads: {v: interior}, writes: {v: interior}}}'//nl)
   end function

   integer(c_int) function absorb(block) bind(c)
      type(lig_block), intent(inout), target :: block
      real(c_double), pointer :: v(:, :, :)
      absorb = 1
      call block_field(block, 'v', v)
      if (.not. associated(v)) return
      call soak(v, int(block%end - block%begin), int(block%begin + 1), int(block%shape), &
         int(block_integer(block, 'depth')), block_real(block, 'loss'))
      absorb = 0
   end function
end module
