! A module of the simulation NAME: a field u that spreads.
module NAME_module
   use ligament_modules
   implicit none
   character, parameter :: nl = new_line('a')
contains
   function declaration() bind(c, name='ligament_module') result(text)
      type(c_ptr) :: text
      text = module_text('name: NAME'//nl// &
         'parameters:'//nl// &
         '  share: {default: 0.1, min: 0, max: 0.25, steerable: true}'//nl// &
         'fields:'//nl// &
         '  u: {ghosts: 1, order: column-major}'//nl// &
         '  change: {ghosts: 0, order: column-major, published: false}'//nl// &
         'functions:'//nl// &
         '  start: {bin: initial, writes: {u: interior}}'//nl// &
         '  spread: {bin: evol, reads: {u: everywhere}, writes: {change: interior}}'//nl// &
         '  add: {bin: evol, reads: {u: interior, change: interior}, writes: {u: interior}}'//nl// &
         '  report: {bin: analysis, reads: {u: interior}}'//nl)
   end function

   integer(c_int) function start(block) bind(c)
      type(lig_block), intent(inout), target :: block
      real(c_double), pointer :: u(:, :)
      integer :: n, m
      start = 1
      call block_field(block, 'u', u)
      if (.not. associated(u)) return
      ! The block's points are u(1:n, 1:m); ghosts lie around them. The grid's points count from 0.
      n = int(block%end(1) - block%begin(1))
      m = int(block%end(2) - block%begin(2))
      u(1:n, 1:m) = 0.0d0
      if (block%begin(1) <= 8 .and. 8 < block%end(1) .and. block%begin(2) <= 8 .and. 8 < block%end(2)) then
         u(9 - block%begin(1), 9 - block%begin(2)) = 1.0d0
      end if
      start = 0
   end function

   integer(c_int) function spread(block) bind(c)
      type(lig_block), intent(inout), target :: block
      real(c_double), pointer :: u(:, :), change(:, :)
      real(c_double) :: share
      integer :: i, j
      spread = 1
      call block_field(block, 'u', u)
      call block_field(block, 'change', change)
      if (.not. associated(u) .or. .not. associated(change)) return
      share = block_real(block, 'share')
      do j = 1, ubound(change, 2)
         do i = 1, ubound(change, 1)
            change(i, j) = share*(u(i - 1, j) + u(i + 1, j) + u(i, j - 1) + u(i, j + 1) - 4.0d0*u(i, j))
         end do
      end do
      spread = 0
   end function

   integer(c_int) function add(block) bind(c)
      type(lig_block), intent(inout), target :: block
      real(c_double), pointer :: u(:, :), change(:, :)
      integer :: i, j
      add = 1
      call block_field(block, 'u', u)
      call block_field(block, 'change', change)
      if (.not. associated(u) .or. .not. associated(change)) return
      do j = 1, ubound(change, 2)
         do i = 1, ubound(change, 1)
            u(i, j) = u(i, j) + change(i, j)
         end do
      end do
      add = 0
   end function

   integer(c_int) function report(block) bind(c)
      type(lig_block), intent(inout), target :: block
      real(c_double), pointer :: u(:, :)
      real(c_double) :: own(1), largest
      integer :: ierr
      report = 1
      call block_field(block, 'u', u)
      if (.not. associated(u)) return
      own = maxval(u(1:int(block%end(1) - block%begin(1)), 1:int(block%end(2) - block%begin(2))))
      call block_max(block, own, largest, ierr)
      if (ierr /= 0) return
      if (block%number == 0) print '(a, i0, a, f8.6)', 'step ', block%step, ': the largest u is ', largest
      report = 0
   end function
end module
