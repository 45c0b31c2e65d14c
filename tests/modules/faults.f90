! Functions that break their declarations. Each test chooses one function and its declaration.
module faults
   use ligament_modules
   implicit none
   character, parameter :: nl = new_line('a')
contains
   function declaration() bind(c, name='ligament_module') result(text)
      type(c_ptr) :: text
      text = module_text('name: faults'//nl//'parameters: {size: {default: 1.0}}'//nl// &
         'fields: {u: {order: column-major}, v: {order: column-major}}'//nl//'functions:'//nl// &
         '  begin: {bin: initial, writes: {u: interior, v: interior}}'//nl// &
         '  @DECLARATION@'//nl)
   end function

   integer(c_int) function begin(block) bind(c)
      type(lig_block), intent(inout), target :: block
      real(c_double), pointer :: u(:, :), v(:, :)
      call block_field(block, 'u', u)
      call block_field(block, 'v', v)
      u(1:ubound(u, 1) - 1, 1:ubound(u, 2) - 1) = 1.0d0
      v(1:ubound(u, 1) - 1, 1:ubound(u, 2) - 1) = 1.0d0
      begin = 0
   end function

   integer(c_int) function neighbours(block) bind(c)
      type(lig_block), intent(inout), target :: block
      real(c_double), pointer :: u(:, :), v(:, :)
      integer :: i, j
      call block_field(block, 'u', u)
      call block_field(block, 'v', v)
      do j = 1, ubound(u, 2) - 1
         do i = 1, ubound(u, 1) - 1
            v(i, j) = 0.5d0*(u(i - 1, j) + u(i + 1, j))
         end do
      end do
      neighbours = 0
   end function

   integer(c_int) function gap(block) bind(c)
      type(lig_block), intent(inout), target :: block
      real(c_double), pointer :: v(:, :)
      integer :: i, j
      call block_field(block, 'v', v)
      do j = 1, ubound(v, 2) - 1
         do i = 1, ubound(v, 1) - 1
            if (i /= 3 .or. j /= 4) v(i, j) = 2.0d0
         end do
      end do
      gap = 0
   end function

   integer(c_int) function update(block) bind(c)
      type(lig_block), intent(inout), target :: block
      real(c_double), pointer :: u(:, :), v(:, :)
      integer :: i, j
      call block_field(block, 'u', u)
      call block_field(block, 'v', v)
      do j = ubound(u, 2) - 1, 1, -1
         do i = ubound(u, 1) - 1, 1, -1
            v(i, j) = u(i, j)
            if (i == 3) v(i, j) = v(i, j) + v(2, 2)
         end do
      end do
      update = 0
   end function

   integer(c_int) function beyond(block) bind(c)
      type(lig_block), intent(inout), target :: block
      real(c_double), pointer :: v(:, :)
      call block_field(block, 'v', v)
      v(1:ubound(v, 1) - 1, 1:ubound(v, 2) - 1) = 2.0d0
      v(0, 4) = 2.0d0
      beyond = 0
   end function

   integer(c_int) function change(block) bind(c)
      type(lig_block), intent(inout), target :: block
      real(c_double), pointer :: u(:, :), v(:, :)
      call block_field(block, 'u', u)
      call block_field(block, 'v', v)
      v(1:ubound(v, 1) - 1, 1:ubound(v, 2) - 1) = u(1:ubound(v, 1) - 1, 1:ubound(v, 2) - 1)
      u(3, 4) = 3.0d0
      change = 0
   end function

   integer(c_int) function total(block) bind(c)
      type(lig_block), intent(inout), target :: block
      real(c_double), pointer :: u(:, :)
      real(c_double) :: sum
      integer :: ierr
      call block_field(block, 'u', u)
      call block_sum(block, u(0:0, 3), sum, ierr)
      total = int(ierr, c_int)
   end function

   integer(c_int) function other(block) bind(c)
      type(lig_block), intent(inout), target :: block
      real(c_double), pointer :: v(:, :)
      call block_field(block, 'v', v)
      other = merge(0, 1, associated(v))
   end function

   integer(c_int) function parameter(block) bind(c)
      type(lig_block), intent(inout), target :: block
      parameter = merge(0, 1, block_real(block, 'length') > 0)
   end function

   integer(c_int) function refuse(block) bind(c)
      type(lig_block), intent(inout), target :: block
      call block_fail(block, 'the height is below the ground')
      refuse = 1
   end function

   integer(c_int) function crash(block) bind(c)
      type(lig_block), intent(inout), target :: block
      interface
         subroutine c_abort() bind(c, name='abort')
         end subroutine
      end interface
      if (block%ndim > 0) call c_abort()
      crash = 0
   end function
end module
