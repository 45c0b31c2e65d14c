! One mistake, in a call that is not asked for its error: `abort WHICH`.
program abort_by_mistake
    use ymmsl
    use libmuscle
    implicit none
    type(LIBMUSCLE_PortsDescription) :: ports
    type(LIBMUSCLE_Instance) :: instance
    type(LIBMUSCLE_Message) :: message
    character(len=20) :: which
    real(LIBMUSCLE_real8) :: number
    call get_command_argument(1, which)
    if (which == 'operator') call ports%add(YMMSL_Operator_F_INIT, 'in')  ! it was not made
    ports = LIBMUSCLE_PortsDescription()
    call ports%add(YMMSL_Operator_O_I, 'out')
    instance = LIBMUSCLE_Instance(ports)
    message = LIBMUSCLE_Message(0.0_LIBMUSCLE_real8)
    do while (instance%reuse_instance())
        print '(a)', 'this line comes before the error'
        select case (which)
        case ('send')
            call instance%send('nowhere', message)
        case ('receive')
            message = instance%receive('out')
        case ('setting')
            number = instance%get_setting_as_real8('unset')
        case ('next')
            number = message%next_timestamp()
        end select
        print '(a)', 'this line is not reached'
    end do
end program abort_by_mistake
