! A module that calls the functions of a block that no other test calls, and compares the results. Its grid has
! two blocks along x, which begin at 0 and 8.
module calls
   use ligament_modules
   implicit none
   character, parameter :: nl = new_line('a')
contains
   function declaration() bind(c, name='ligament_module') result(text)
      type(c_ptr) :: text
      text = module_text('name: calls'//nl// &
         'parameters: {count: {type: int, min: 1}, wanted: {type: bool, default: false}}'//nl// &
         'fields: {u: {ghosts: 0, order: column-major}}'//nl// &
         'functions: {fill: {bin: initial, writes: {u: interior}}, check: {bin: analysis}}'//nl)
   end function

   ! Blanks at the end of a name do not count.
   integer(c_int) function fill(block) bind(c)
      type(lig_block), intent(inout), target :: block
      real(c_double), pointer :: u(:, :)
      fill = 1
      call block_field(block, 'u   ', u)
      if (.not. associated(u)) return
      u = 0
      fill = 0
   end function

   integer(c_int) function check(block) bind(c)
      type(lig_block), intent(inout), target :: block
      real(c_double) :: begin(1), least, most
      integer :: first, second
      check = 1
      if (block_integer(block, 'count   ') /= 3) then
         call block_fail(block, 'the count is another one')
      else if (.not. block_flag(block, 'wanted')) then
         call block_fail(block, 'the flag is not set')
      else
         begin = real(block%begin(1), c_double)
         call block_min(block, begin, least, first)
         call block_max(block, begin, most, second)
         if (first /= 0 .or. second /= 0) return
         if (abs(least) > 0 .or. abs(most - 8) > 0) then
            call block_fail(block, 'least or greatest number is wrong')
         else
            check = 0
         end if
      end if
   end function
end module
