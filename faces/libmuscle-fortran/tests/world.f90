! Two ranks that are one instance, with the communicator and the root that hold if none are given:
! `world FOLDER`.
program world
    use mpi
    use ymmsl
    use libmuscle_mpi
    implicit none
    type(LIBMUSCLE_Instance) :: instance
    character(len=300) :: folder
    integer :: ierr, rank, unit, passes = 0
    call MPI_Init(ierr)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
    instance = LIBMUSCLE_Instance_create()
    do while (LIBMUSCLE_Instance_reuse_instance(instance))
        passes = passes + 1
    end do
    call LIBMUSCLE_Instance_free(instance)
    call get_command_argument(1, folder)
    open (newunit=unit, file=trim(folder)//'/world'//achar(iachar('0') + rank), action='write')
    write (unit, '(i0)') passes
    call MPI_Finalize(ierr)
end program world
