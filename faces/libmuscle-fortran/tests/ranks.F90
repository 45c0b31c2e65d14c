! Three ranks that are one instance, whose root is the last one: `ranks FOLDER`. Each multiplies its part of
! what the root receives by a setting.
#define CHECK(x) call check((x), __LINE__)
#define CHECK_ERROR(code, words) call check_error(code, words, __LINE__)
program ranks
    use mpi
    use ymmsl
    use libmuscle_mpi
    implicit none
    integer, parameter :: int8 = LIBMUSCLE_int8, real8 = LIBMUSCLE_real8
    integer :: failures = 0, err_code, ierr, rank, count, root, unit
    character(:), allocatable :: err_msg
    character(len=300) :: folder
    type(LIBMUSCLE_PortsDescription) :: ports
    type(LIBMUSCLE_Instance) :: instance
    type(LIBMUSCLE_Message) :: got, otherwise, made
    type(LIBMUSCLE_Data) :: data
    type(LIBMUSCLE_DataConstRef) :: grid
    real(real8) :: factors(3), all_parts(3), part(1), table(2, 1)
    integer(int8) :: wholes(2)

    call MPI_Init(ierr)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
    call MPI_Comm_size(MPI_COMM_WORLD, count, ierr)
    root = count - 1
    ports = LIBMUSCLE_PortsDescription()
    call ports%add(YMMSL_Operator_F_INIT, 'in')
    call ports%add(YMMSL_Operator_F_INIT, 'unconnected')
    call ports%add(YMMSL_Operator_O_F, 'out')
    instance = LIBMUSCLE_Instance(ports, communicator=MPI_COMM_WORLD, root=root)
    call LIBMUSCLE_PortsDescription_free(ports)
    data = LIBMUSCLE_Data(1)
    otherwise = LIBMUSCLE_Message(7.0_real8, data)
    do while (instance%reuse_instance())
        call instance%get_setting_as_real8array('factors', factors)
        call instance%get_setting_as_int8array('wholes', wholes)
        call instance%get_setting_as_real8array2('table', table)
        CHECK(instance%get_setting_as_character('text') == 'a text')
        CHECK(instance%get_setting_as_logical('truth'))
        CHECK(instance%get_setting_as_int8('whole') == 3 .and. instance%get_setting_as_real8('real') == 0.5)
        CHECK(wholes(2) == 2 .and. table(2, 1) == 3.0 .and. size(instance%list_settings()) >= 7)
        got = instance%receive('nowhere', err_code, err_msg)  ! on all ranks alike
        CHECK_ERROR(LIBMUSCLE_logic_error, '"nowhere"')
        got = instance%receive('unconnected', otherwise)
        CHECK((got%timestamp() == 7.0) .eqv. rank == root)
        got = instance%receive('in')
        grid = got%get_data()
        if (rank == root) then
            call grid%elements(all_parts)
        else
            CHECK(grid%is_nil())
        end if
        call MPI_Scatter(all_parts, 1, MPI_DOUBLE_PRECISION, part, 1, MPI_DOUBLE_PRECISION, root, &
            MPI_COMM_WORLD, ierr)
        part = part * factors(rank + 1)
        call MPI_Gather(part, 1, MPI_DOUBLE_PRECISION, all_parts, 1, MPI_DOUBLE_PRECISION, root, &
            MPI_COMM_WORLD, ierr)
        data = LIBMUSCLE_Data_create_grid(all_parts)
        made = LIBMUSCLE_Message(got%timestamp(), data)
        call instance%send('out', made)
    end do
    call LIBMUSCLE_Instance_free(instance)
    call get_command_argument(1, folder)
    open (newunit=unit, file=trim(folder)//'/'//achar(iachar('0') + rank), action='write')
    write (unit, '(i0)') failures
    call MPI_Finalize(ierr)
contains
    include 'check.inc'
end program ranks
