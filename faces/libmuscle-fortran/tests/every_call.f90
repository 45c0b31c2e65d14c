! The components of faces/libmuscle-python/tests/programs/every_call.py in Fortran: `every_call ROLE FOLDER`.
! Each writes what it receives and is told as a record into the folder.
program every_call
    use ymmsl
    use libmuscle
    use record
    implicit none
    integer, parameter :: VALUES_COUNT = 20
    character(len=200) :: role, folder
    call get_command_argument(1, role)
    call get_command_argument(2, folder)
    call open_record(trim(folder))
    select case (role)
    case ('driver')
        call driver()
    case ('worker')
        call worker()
    case ('helper')
        call helper()
    case ('splitter')
        call splitter()
    case default
        call collector()
    end select
contains
    subroutine driver()
        type(LIBMUSCLE_PortsDescription) :: ports
        type(LIBMUSCLE_Instance) :: instance
        type(LIBMUSCLE_Message) :: answer
        integer :: number, slot

        ports = LIBMUSCLE_PortsDescription()
        call ports%add(YMMSL_Operator_O_I, 'settings_out[]')
        call ports%add(YMMSL_Operator_O_I, 'work_out[]')
        call ports%add(YMMSL_Operator_S, 'work_in[]')
        instance = LIBMUSCLE_Instance_create(ports)
        call LIBMUSCLE_PortsDescription_free(ports)
        call describe(instance)
        do while (LIBMUSCLE_Instance_reuse_instance(instance))
            call ask(instance)
            do number = 1, VALUES_COUNT
                do slot = 0, LIBMUSCLE_Instance_get_port_length(instance, 'work_out') - 1
                    call send_work(instance, number, slot)
                end do
                do slot = 0, instance%get_port_length('work_in') - 1
                    answer = LIBMUSCLE_Instance_receive_with_settings_on_slot(instance, 'work_in', slot)
                    call note_message('with settings', 'work_in', slot, answer)
                    call LIBMUSCLE_Message_free(answer)
                end do
            end do
        end do
        call LIBMUSCLE_Instance_free(instance)
    end subroutine driver

    ! Sends a value and an overlay to a slot, and the overlay by itself.
    subroutine send_work(instance, number, slot)
        type(LIBMUSCLE_Instance), intent(in) :: instance
        integer, intent(in) :: number, slot
        type(LIBMUSCLE_Message) :: settings, work
        type(LIBMUSCLE_Data) :: data, alone
        type(YMMSL_Settings) :: overlay
        real(real8) :: time
        time = number - 1
        overlay = YMMSL_Settings_create()
        call YMMSL_Settings_set(overlay, 'amount', number - 1)
        call YMMSL_Settings_set(overlay, 'scale', 10.0_real8 * slot)
        data = value(number)
        alone = LIBMUSCLE_Data(overlay)
        if (number < VALUES_COUNT) then
            settings = LIBMUSCLE_Message(time, time + 1, alone)
            work = LIBMUSCLE_Message(time, time + 1, data, overlay)
        else
            settings = LIBMUSCLE_Message(time, alone)
            work = LIBMUSCLE_Message(time, data, overlay)
        end if
        call LIBMUSCLE_Instance_send(instance, 'settings_out', settings, slot)
        call instance%send('work_out', work, slot)
        call LIBMUSCLE_Message_free(settings)
        call LIBMUSCLE_Message_free(work)
        call LIBMUSCLE_Data_free(data)
        call LIBMUSCLE_Data_free(alone)
        call YMMSL_Settings_free(overlay)
    end subroutine send_work

    function value(number) result(data)
        integer, intent(in) :: number
        type(LIBMUSCLE_Data) :: data, inner
        type(YMMSL_Settings) :: settings
        real(real8) :: zero, plane(2, 3), nothing(0, 3)
        plane = reshape([0, 3, 1, 4, 2, 5] * 1.0_real8, [2, 3])
        zero = 0
        select case (number)
        case (1)
            data = LIBMUSCLE_Data()
        case (2)
            data = LIBMUSCLE_Data(.true.)
        case (3)
            data = LIBMUSCLE_Data(7)
        case (4)
            data = LIBMUSCLE_Data(-4611686018427387904_int8)
        case (5)
            data = LIBMUSCLE_Data(0.1_real8)
        case (6)
            data = LIBMUSCLE_Data(-log(zero))
        case (7)
            data = LIBMUSCLE_Data('a text with ü')
        case (8)
            data = LIBMUSCLE_Data_create_byte_array(['b', 'y', 't', 'e', 's'])
        case (9)
            data = LIBMUSCLE_Data_create_nils(2_sz)
            call data%set_item(1_sz, 1)
            inner = LIBMUSCLE_Data_create_nils(2_sz)
            call inner%set_item(1_sz, 2.5_real8)
            call inner%set_item(2_sz, 'x')
            call put(data, inner)
        case (10)
            data = LIBMUSCLE_Data_create_dict()
            inner = LIBMUSCLE_Data_create_dict()
            call inner%set_item('n', LIBMUSCLE_Data())
            call data%set_item('k', inner)
        case (11)
            data = LIBMUSCLE_Data_create_grid(plane)
        case (12)
            data = LIBMUSCLE_Data_create_grid([0_int4, 1_int4, 2_int4, 3_int4], 'x')
        case (13)
            data = LIBMUSCLE_Data_create_grid([.true., .false.])
        case (14)
            data = LIBMUSCLE_Data_create_grid(real(plane, real4))
        case (15)
            settings = YMMSL_Settings_create()
            call settings%set('a', 1)
            call settings%set('b', [1.0_real8, 2.0_real8])
            data = LIBMUSCLE_Data(settings)
            call YMMSL_Settings_free(settings)
        case (16)
            data = LIBMUSCLE_Data_create_dict()
            plane = 0
            call data%set_item('grid', LIBMUSCLE_Data_create_grid(plane(:, :2), 'x', 'y'))
            inner = LIBMUSCLE_Data_create_nils(1_sz)
            call inner%set_item(1_sz, LIBMUSCLE_Data_create_grid([0_int8, 1_int8, 2_int8]))
            call data%set_item('list', inner)
        case (17)
            data = LIBMUSCLE_Data_create_nils(2_sz)
            call data%set_item(1_sz, 1)
            call data%set_item(2_sz, 2)
        case (18)
            data = LIBMUSCLE_Data_create_list()
        case (19)
            data = LIBMUSCLE_Data_create_dict()
        case default
            data = LIBMUSCLE_Data_create_grid(nothing)
        end select
    end function value

    subroutine put(list, item)
        type(LIBMUSCLE_Data), intent(in) :: list, item
        call list%set_item(list%size(), item)
    end subroutine put

    subroutine describe(instance)
        type(LIBMUSCLE_Instance), intent(in) :: instance
        character(len=*), parameter :: NAMES(4) = ['F_INIT', 'O_F   ', 'O_I   ', 'S     ']
        integer, parameter :: OPERATORS(4) = [YMMSL_Operator_F_INIT, YMMSL_Operator_O_F, YMMSL_Operator_O_I, &
            YMMSL_Operator_S]
        type(LIBMUSCLE_PortsDescription) :: ports
        type(line), allocatable :: found(:)
        character(:), allocatable :: length
        integer :: op
        integer(sz) :: i
        ports = LIBMUSCLE_Instance_list_ports(instance)
        do op = 1, 4
            if (allocated(found)) deallocate (found)
            allocate (found(ports%num_ports(OPERATORS(op))))
            do i = 1, size(found)
                found(i)%text = ports%get(OPERATORS(op), i)
            end do
            call sort(found)
            do i = 1, size(found)
                associate (name => found(i)%text)
                    length = 'None'
                    if (instance%is_vector_port(name) .and. LIBMUSCLE_Instance_is_connected(instance, name) &
                        .and. .not. LIBMUSCLE_Instance_is_resizable(instance, name)) then
                        length = repr(int(instance%get_port_length(name), int8))
                    end if
                    call note('port '//trim(NAMES(op))//' '//name//' '// &
                        repr(instance%is_connected(name))//' '// &
                        repr(LIBMUSCLE_Instance_is_vector_port(instance, name))//' '//length//' '// &
                        repr(instance%is_resizable(name)))
                end associate
            end do
        end do
        call LIBMUSCLE_PortsDescription_free(ports)
    end subroutine describe

    ! Notes settings: as the type that is asked for, and as the type that each is.
    subroutine ask(instance)
        type(LIBMUSCLE_Instance), intent(in) :: instance
        character(:), allocatable :: names(:)
        type(line), allocatable :: found(:)
        integer(int8) :: wholes(2)
        real(real8) :: reals(2), table(2, 2)
        integer :: i
        call setting('text', repr(LIBMUSCLE_Instance_get_setting_as_character(instance, 'text')), &
            LIBMUSCLE_Instance_is_setting_a_character(instance, 'text'))
        call setting('whole', repr(LIBMUSCLE_Instance_get_setting_as_int8(instance, 'whole')), &
            LIBMUSCLE_Instance_is_setting_a_int8(instance, 'whole'))
        call setting('real', repr(LIBMUSCLE_Instance_get_setting_as_real8(instance, 'real')), &
            LIBMUSCLE_Instance_is_setting_a_real8(instance, 'real'))
        call setting('on_or_off', repr(LIBMUSCLE_Instance_get_setting_as_logical(instance, 'on_or_off')), &
            LIBMUSCLE_Instance_is_setting_a_logical(instance, 'on_or_off'))
        call LIBMUSCLE_Instance_get_setting_as_int8array(instance, 'wholes', wholes)
        call setting('wholes', repr(wholes), LIBMUSCLE_Instance_is_setting_a_int8array(instance, 'wholes'))
        call LIBMUSCLE_Instance_get_setting_as_real8array(instance, 'reals', reals)
        call setting('reals', repr(reals), LIBMUSCLE_Instance_is_setting_a_real8array(instance, 'reals'))
        call LIBMUSCLE_Instance_get_setting_as_real8array2(instance, 'table', table)
        call setting('table', repr(table), LIBMUSCLE_Instance_is_setting_a_real8array2(instance, 'table'))
        call note('default '//repr(instance%get_setting_as_int8('unset', 4_int8)))
        names = LIBMUSCLE_Instance_list_settings(instance)
        allocate (found(size(names)))
        do i = 1, size(names)
            found(i)%text = repr(trim(names(i)))
        end do
        call sort(found)
        call note('names '//joined(found, '[', ']'))
    end subroutine ask

    subroutine setting(name, text, is_of_this_type)
        character(len=*), intent(in) :: name, text
        logical, intent(in) :: is_of_this_type
        if (is_of_this_type) call note('setting '//name//' '//text//' '//text)
    end subroutine setting

    subroutine worker()
        type(LIBMUSCLE_Instance) :: instance
        type(LIBMUSCLE_Message) :: work, state, made
        type(LIBMUSCLE_DataConstRef) :: data
        integer(int8) :: step
        instance = LIBMUSCLE_Instance()  ! with the ports of the model
        call describe(instance)
        do while (instance%reuse_instance())
            call note('overlay '//repr(instance%get_setting_as_int8('amount'))//' '// &
                repr(instance%get_setting_as_real8('scale')))
            work = LIBMUSCLE_Instance_receive(instance, 'work_in')
            call note_message('receive', 'work_in', -1, work)
            data = work%get_data()
            do step = 0, instance%get_setting_as_int8('steps') - 1
                made = LIBMUSCLE_Message(work%timestamp() + step)
                call made%set_data(data)
                call LIBMUSCLE_Instance_send(instance, 'state_out', made)
                call LIBMUSCLE_Message_free(made)
                if (step > 0) call LIBMUSCLE_Message_free(state)
                state = instance%receive('state_in')
                call note_message('receive', 'state_in', -1, state)
            end do
            call LIBMUSCLE_DataConstRef_free(data)
            data = state%get_data()
            made = LIBMUSCLE_Message(state%timestamp())
            call made%set_data(data)
            call instance%send('work_out', made)
            call LIBMUSCLE_Message_free(made)
            call LIBMUSCLE_Message_free(work)
            call LIBMUSCLE_Message_free(state)
            call LIBMUSCLE_DataConstRef_free(data)
        end do
        call LIBMUSCLE_Instance_free(instance)
    end subroutine worker

    subroutine helper()
        type(LIBMUSCLE_PortsDescription) :: ports
        type(LIBMUSCLE_Instance) :: instance
        type(LIBMUSCLE_Message) :: state
        ports = LIBMUSCLE_PortsDescription_create()
        call LIBMUSCLE_PortsDescription_add(ports, YMMSL_Operator_F_INIT, 'state_in')
        call LIBMUSCLE_PortsDescription_add(ports, YMMSL_Operator_O_F, 'state_out')
        instance = LIBMUSCLE_Instance(ports, LIBMUSCLE_InstanceFlags(DONT_APPLY_OVERLAY=.true., &
            KEEPS_NO_STATE_FOR_NEXT_USE=.true.))
        call LIBMUSCLE_PortsDescription_free(ports)
        do while (instance%reuse_instance())
            state = LIBMUSCLE_Instance_receive_with_settings(instance, 'state_in')
            call note_message('with settings', 'state_in', -1, state)
            call note('not applied '//repr(instance%get_setting_as_character('amount', 'none')))
            call state%unset_next_timestamp()
            call instance%send('state_out', state)
            call LIBMUSCLE_Message_free(state)
        end do
        call LIBMUSCLE_Instance_free(instance)
    end subroutine helper

    subroutine splitter()
        type(LIBMUSCLE_PortsDescription) :: ports
        type(LIBMUSCLE_Instance) :: instance
        type(LIBMUSCLE_Message) :: message
        type(LIBMUSCLE_Data) :: data
        integer :: slot
        ports = LIBMUSCLE_PortsDescription()
        call ports%add(YMMSL_Operator_O_F, 'parts[]')
        instance = LIBMUSCLE_Instance(ports)
        do while (instance%reuse_instance())
            call LIBMUSCLE_Instance_set_port_length(instance, 'parts', 3)
            do slot = 0, instance%get_port_length('parts') - 1
                data = LIBMUSCLE_Data(slot)
                message = LIBMUSCLE_Message(0.0_real8, data)
                call instance%send('parts', message, slot)
                call LIBMUSCLE_Message_free(message)
                call LIBMUSCLE_Data_free(data)
            end do
        end do
        call LIBMUSCLE_Instance_free(instance)
    end subroutine splitter

    subroutine collector()
        type(LIBMUSCLE_PortsDescription) :: ports
        type(LIBMUSCLE_Instance) :: instance
        type(LIBMUSCLE_Message) :: otherwise, got, alike
        type(LIBMUSCLE_Data) :: data
        type(LIBMUSCLE_DataConstRef) :: text
        integer :: slot
        ports = LIBMUSCLE_PortsDescription()
        call ports%add(YMMSL_Operator_F_INIT, 'parts[]')
        call ports%add(YMMSL_Operator_F_INIT, 'unconnected')
        instance = LIBMUSCLE_Instance(ports)
        data = LIBMUSCLE_Data('default')
        otherwise = LIBMUSCLE_Message(5.0_real8, data)
        do while (instance%reuse_instance())
            text = otherwise%get_data()
            call note('length '//repr(int(instance%get_port_length('parts'), int8))//' '//repr(text))
            do slot = 0, instance%get_port_length('parts') - 1
                if (slot == 0) then
                    got = instance%receive_on_slot('parts', slot, otherwise)
                else
                    got = LIBMUSCLE_Instance_receive_on_slot(instance, 'parts', slot)
                end if
                call note_message('receive', 'parts', slot, got)
            end do
            got = instance%receive('unconnected', otherwise)
            alike = instance%receive_with_settings('unconnected', otherwise)
            text = got%get_data()
            call note('the default '//repr(text%as_character() == 'default' .and. alike%timestamp() == 5.0))
        end do
        call LIBMUSCLE_Instance_free(instance)
    end subroutine collector
end program every_call
