! A code in Fortran that sends to itself: each call of MUSCLE 2 in Fortran.
program ring
    implicit none
    character(32) :: name, text
    integer :: found, stopped, count, steps
    double precision :: level(4)
    external :: muscle_init, muscle_finalize, muscle_kernel_name, muscle_get_property, muscle_has_property
    external :: muscle_will_stop, muscle_send, muscle_receive
    call muscle_init(0, "")
    call muscle_kernel_name(name)
    call muscle_get_property("colour", text)
    call muscle_has_property("nothing", found)
    print "(a, 1x, a, 1x, i0)", trim(name), trim(text), found
    steps = 0
    level = [1d0, 2d0, 3d0, 4d0]
    do
        call muscle_will_stop(stopped)
        if (stopped /= 0) exit
        call muscle_send("out", level, 3, 0)
        count = 4
        call muscle_receive("in", level, count, 0)
        steps = steps + 1
        level = level * 2d0
    end do
    print "(i0, 1x, i0, 1x, f4.1)", steps, count, level(3)
    text = "green and blue"
    call muscle_send("text", text, len(text), 4)
    name = "x"
    count = len(name)
    call muscle_receive("read", name, count, 4)
    print "(i0, 1x, a)", count, trim(name)
    call muscle_finalize()
end program
