! A micro model that sends back what it gets, as a message.
program echo
   use ligament
   implicit none
   type(ligament_instance) :: instance
   type(ligament_message) :: message

   instance = ligament_instance([ligament_port(LIGAMENT_F_INIT, 'in'), ligament_port(LIGAMENT_O_F, 'out')])
   do while (instance%reuse_instance())
      call instance%receive('in', message)
      call instance%send('out', message)
   end do
   call message%free()
   call instance%free()
end program
