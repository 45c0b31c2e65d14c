! A module that reduces the height of a wave in each step.
module damping
   use ligament_modules
   implicit none
   character, parameter :: nl = new_line('a')
contains
   function declaration() bind(c, name='ligament_module') result(text)
      type(c_ptr) :: text
      text = module_text('name: damping'//nl// &
         'parameters: {loss: {default: 0.0625, min: 0, max: 1, steerable: true}}'//nl// &
         'functions: {damp: {bin: poststep, reads: {u: interior}, writes: {u: interior}}}'//nl)
   end function

   integer(c_int) function damp(block) bind(c)
      type(lig_block), intent(inout), target :: block
      real(c_double), pointer :: u(:, :)
      real(c_double) :: factor
      integer :: i, j
      damp = 1
      call block_field(block, 'u', u)
      if (.not. associated(u)) return
      factor = 1.0d0 - block_real(block, 'loss')
      do j = 1, int(block%end(2) - block%begin(2))
         do i = 1, int(block%end(1) - block%begin(1))
            u(i, j) = factor*u(i, j)
         end do
      end do
      damp = 0
   end function
end module
