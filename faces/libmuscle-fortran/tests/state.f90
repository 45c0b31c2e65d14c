! A code that saves its state: `state STEPS FILE`. It makes the calls of checkpoints in the order of a pass, and
! writes where it began and what it knows at the end.
program state
    use ymmsl
    use libmuscle
    implicit none
    integer, parameter :: real8 = LIBMUSCLE_real8
    type(LIBMUSCLE_Instance) :: instance
    type(LIBMUSCLE_Message) :: saved
    type(LIBMUSCLE_DataConstRef) :: data, item
    character(len=300) :: word, file
    integer :: steps, unit
    real(real8) :: time, total, began
    call get_command_argument(1, word)
    call get_command_argument(2, file)
    instance = LIBMUSCLE_Instance(flags=LIBMUSCLE_InstanceFlags(USES_CHECKPOINT_API=.true.))
    do while (instance%reuse_instance())
        read (word, *) steps
        time = -1
        total = -1
        if (instance%resuming()) then
            saved = LIBMUSCLE_Instance_load_snapshot(instance)
            data = saved%get_data()
            item = data%get_item('total')
            time = saved%timestamp()
            total = item%as_real8()
        end if
        if (LIBMUSCLE_Instance_should_init(instance)) then
            time = 0
            total = 0
        end if
        began = time
        do while (time < steps)
            time = time + 1
            total = total + time
            if (LIBMUSCLE_Instance_should_save_snapshot(instance, time)) then
                saved = message()
                call LIBMUSCLE_Instance_save_snapshot(instance, saved)
                call LIBMUSCLE_Message_free(saved)
            end if
        end do
        if (LIBMUSCLE_Instance_should_save_final_snapshot(instance)) then
            call LIBMUSCLE_Instance_save_final_snapshot(instance, message())
        end if
        open (newunit=unit, file=trim(file), action='write')
        write (unit, '(i0, 1x, i0)') nint(began), nint(total)
        close (unit)
    end do
    call LIBMUSCLE_Instance_free(instance)
contains
    function message() result(made)
        type(LIBMUSCLE_Message) :: made
        type(LIBMUSCLE_Data) :: dict
        dict = LIBMUSCLE_Data_create_dict()
        call dict%set_item('total', total)
        made = LIBMUSCLE_Message(time, dict)
        call LIBMUSCLE_Data_free(dict)
    end function message
end program state
