! Messages under settings of their sender: "client" sends each request under other settings, "worker" works
! under them, and "server" forwards each message, as it is or under the settings that came with it.
program serve
   use ligament
   use, intrinsic :: iso_fortran_env, only: error_unit, real64
   implicit none
   type(ligament_instance) :: instance
   type(ligament_message) :: message
   type(ligament_value) :: map, overlay, entry
   character(len=6) :: role
   character(len=500) :: text = ''
   integer :: k, request, status, pass
   real(real64) :: number

   call get_command_argument(1, role)
   instance = ligament_instance(dont_apply_overlay=role /= 'worker')
   pass = 0
   do while (instance%reuse_instance())
      select case (role)
      case ('client')
         do request = 0, 3
            call ask()
         end do
      case ('worker')
         call instance%receive('in', message)
         call message%get(number)
         call instance%get_setting('k', k)
         call instance%send('out', message%timestamp(), number + 100 * k)
      case default
         call instance%receive('in', message)
         if (mod(pass, 2) == 0) then
            call instance%send('out', message)
         else
            call message%get(number)
            overlay = message%settings()
            call instance%send('out', message%timestamp(), number, settings=overlay)
         end if
      end select
      pass = pass + 1
   end do
   call message%free()
   call instance%free()

contains

   include 'checks.inc'

   subroutine ask()
      k = 10 + mod(request, 2)
      map = ligament_map()
      call map%set('k', k)
      overlay = map
      if (request >= 2) overlay = ligament_settings(map)
      call instance%send('requests', real(request, real64), real(request, real64), settings=overlay)
      if (request >= 2) call overlay%free()
      call map%free()
      call instance%send('requests', 0d0, 1, settings=map, ierr=status, errmsg=text)
      call ended(LIGAMENT_ERR_USAGE, 'no value here')
      call instance%receive('answers', message)
      overlay = message%settings()
      entry = overlay%find('k')
      call entry%get(status)
      call holds(status == k, 'the settings came along')
      call message%get(number)
      call holds(number == request + 100 * k, 'the answer was made under them')
   end subroutine
end program
