! Each block makes mistakes with its domain, and prints the status and the text of each.
program mistakes
   use ligament
   use, intrinsic :: iso_fortran_env, only: real32, real64
   implicit none
   type(ligament_instance) :: instance
   type(ligament_domain) :: domain, copy
   real(real64), target :: u(6, 10), wide(12, 10), total
   real(real32), target :: v(6, 10)
   real(real64), allocatable, target :: nothing(:, :)
   logical, target :: truths(6, 10)
   character(len=3), target :: texts(6, 10)
   integer, target :: numbers(3)
   integer :: field, second, ierr
   character(len=400) :: text

   u = 0
   v = 0
   wide = 0
   truths = .false.
   texts = 'abc'
   numbers = 1
   instance = ligament_instance()
   do while (instance%reuse_instance())
      domain = ligament_domain(instance)
      field = domain%add_field('u', u, ghosts=1, unit='m', ierr=ierr, errmsg=text)
      if (ierr /= LIGAMENT_OK) error stop 'a field cannot be added'
      second = domain%add_field('w', wide(::2, :), ghosts=1, ierr=ierr, errmsg=text)
      call tell('gaps')
      second = domain%add_field('w', wide, ghosts=1, ierr=ierr, errmsg=text)
      call tell('shape')
      second = domain%add_field('w', v, ghosts=-1, ierr=ierr, errmsg=text)
      call tell('ghosts')
      second = domain%add_field('w', u, ghosts=1, ierr=ierr, errmsg=text)
      call tell('memory')
      second = domain%add_field('u', v, ghosts=1, ierr=ierr, errmsg=text)
      call tell('name')
      second = domain%add_field('w', truths, ghosts=1, ierr=ierr, errmsg=text)
      call tell('logical')
      second = domain%add_field('w', nothing, ghosts=1, ierr=ierr, errmsg=text)
      call tell('absent')
      text = 'an array of texts leaves no text'
      second = domain%add_field('w', texts, ghosts=1, ierr=ierr)
      call tell('texts')
      call domain%set_data(field, v, ierr=ierr, errmsg=text)
      call tell('type')
      call domain%set_data(field + 7, v, ierr=ierr, errmsg=text)
      call tell('number')
      call domain%exchange(0.0_real64, [field + 7], ierr=ierr, errmsg=text)
      call tell('unknown')
      call domain%end([field], ierr=ierr, errmsg=text)
      call tell('end')
      call domain%publish(field, ierr=ierr, errmsg=text)
      call tell('publish')
      total = domain%sum(numbers, ierr=ierr, errmsg=text)
      call tell('integers')
      total = domain%sum(2.5_real64)
      if (abs(total - 5) > 0) error stop 'a number of each block has another sum'
      total = domain%max(v(2:5:2, 3))
      if (abs(total) > 0) error stop 'a section has another maximum'
      copy = domain
      call domain%free()
      call copy%exchange(0.0_real64, [field], ierr=ierr, errmsg=text)
      call tell('freed')
      if (size(copy%shape()) /= 0) error stop 'a domain that was freed has a shape'
      domain = ligament_domain(instance)
   end do
   call instance%free()
   total = domain%sum(1.0_real64, ierr=ierr, errmsg=text)
   call tell('instance')
   call domain%free()

contains

   subroutine tell(what)
      character(len=*), intent(in) :: what
      print '(3a, i0, 2a)', what, ': ', 'status ', ierr, ', ', trim(text)
      text = ''
   end subroutine
end program
