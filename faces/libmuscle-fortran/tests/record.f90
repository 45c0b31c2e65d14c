! The record of an instance, as faces/libmuscle-python/tests/programs/record.py writes it: values as Python
! shows them. The order of a grid's elements is left out, since a program in Fortran does not see it.
module record
    use ymmsl
    use libmuscle
    implicit none
    integer, parameter :: int4 = LIBMUSCLE_int4, int8 = LIBMUSCLE_int8, sz = LIBMUSCLE_size
    integer, parameter :: real4 = LIBMUSCLE_real4, real8 = LIBMUSCLE_real8
    integer :: unit

    type line
        character(:), allocatable :: text
    end type line

    interface repr
        procedure repr_logical, repr_int, repr_real, repr_text, repr_ints, repr_reals, repr_table, repr_settings
        procedure repr_data
    end interface repr
contains
    subroutine open_record(folder)
        character(len=*), intent(in) :: folder
        character(len=80) :: instance
        call get_environment_variable('LIGAMENT_INSTANCE', instance)
        open (newunit=unit, file=folder//'/'//trim(instance)//'.record', action='write')
    end subroutine open_record

    subroutine note(text)
        character(len=*), intent(in) :: text
        write (unit, '(a)') text
        flush (unit)
    end subroutine note

    ! Notes a message; a negative slot is none.
    subroutine note_message(what, port, slot, message)
        character(len=*), intent(in) :: what, port
        integer, intent(in) :: slot
        type(LIBMUSCLE_Message), intent(in) :: message
        type(LIBMUSCLE_DataConstRef) :: data
        type(YMMSL_Settings) :: settings
        character(:), allocatable :: text

        text = what//' '//port
        if (slot < 0) text = text//' None'
        if (slot >= 0) text = text//' '//repr(int(slot, int8))
        text = text//' '//repr(message%timestamp())
        if (message%has_next_timestamp()) then
            text = text//' '//repr(message%next_timestamp())
        else
            text = text//' None'
        end if
        data = message%get_data()
        text = text//' '//repr(data)
        call LIBMUSCLE_DataConstRef_free(data)
        if (message%has_settings()) then
            settings = message%get_settings()
            text = text//' '//repr(settings)
            call YMMSL_Settings_free(settings)
        end if
        call note(text)
    end subroutine note_message

    function repr_logical(value) result(text)
        logical, intent(in) :: value
        character(:), allocatable :: text
        text = trim(merge('True ', 'False', value))
    end function repr_logical

    function repr_int(value) result(text)
        integer(int8), intent(in) :: value
        character(:), allocatable :: text
        character(len=40) :: buffer
        write (buffer, '(i0)') value
        text = trim(buffer)
    end function repr_int

    function repr_text(value) result(text)
        character(len=*), intent(in) :: value
        character(:), allocatable :: text
        text = "'"//value//"'"
    end function repr_text

    ! With the fewest digits that give the number back; for numbers from 1e-4 to 1e16.
    function repr_real(value) result(text)
        real(real8), intent(in) :: value
        character(:), allocatable :: text
        character(len=40) :: buffer, form
        real(real8) :: back
        integer :: decimals
        if (value > huge(value)) then
            text = 'inf'
        else if (value == anint(value)) then
            text = repr(nint(value, int8))//'.0'
        else
            do decimals = 1, 20
                write (form, '(a, i0, a)') '(f0.', decimals, ')'
                write (buffer, form) value
                read (buffer, *) back
                if (back == value) exit
            end do
            text = trim(buffer)
            if (text(1:1) == '.') text = '0'//text
        end if
    end function repr_real

    function repr_ints(values) result(text)
        integer(int8), intent(in) :: values(:)
        character(:), allocatable :: text
        integer :: i
        text = ''
        do i = 1, size(values)
            call add(text, repr(values(i)))
        end do
        text = '['//text//']'
    end function repr_ints

    function repr_reals(values) result(text)
        real(real8), intent(in) :: values(:)
        character(:), allocatable :: text
        integer :: i
        text = ''
        do i = 1, size(values)
            call add(text, repr(values(i)))
        end do
        text = '['//text//']'
    end function repr_reals

    function repr_table(values) result(text)
        real(real8), intent(in) :: values(:, :)
        character(:), allocatable :: text
        integer :: i
        text = ''
        do i = 1, size(values, 1)
            call add(text, repr(values(i, :)))
        end do
        text = '['//text//']'
    end function repr_table

    ! Adds an item to a row of items.
    subroutine add(text, item)
        character(:), allocatable, intent(inout) :: text
        character(len=*), intent(in) :: item
        if (text /= '') text = text//', '
        text = text//item
    end subroutine add

    function joined(items, first, last) result(text)
        type(line), intent(in) :: items(:)
        character(len=*), intent(in) :: first, last
        character(:), allocatable :: text
        integer :: i
        text = ''
        do i = 1, size(items)
            call add(text, items(i)%text)
        end do
        text = first//text//last
    end function joined

    subroutine sort(items)
        type(line), intent(inout) :: items(:)
        type(line) :: item
        integer :: i, j
        do i = 2, size(items)
            item = items(i)
            do j = i - 1, 1, -1
                if (items(j)%text <= item%text) exit
                items(j + 1) = items(j)
            end do
            items(j + 1) = item
        end do
    end subroutine sort

    function repr_settings(settings) result(text)
        type(YMMSL_Settings), intent(in) :: settings
        character(:), allocatable :: text, key, value
        type(line), allocatable :: items(:)
        real(real8) :: reals(2)
        integer(sz) :: i
        allocate (items(settings%size()))
        do i = 1, settings%size()
            key = settings%key(i)
            if (settings%is_a_int8(key)) then
                value = repr(settings%get_as_int8(key))
            else if (settings%is_a_real8(key)) then
                value = repr(settings%get_as_real8(key))
            else
                call settings%get_as_real8array(key, reals)
                value = repr(reals)
            end if
            items(i)%text = '('//repr(key)//', '//value//')'
        end do
        call sort(items)
        text = joined(items, 'Settings([', '])')
    end function repr_settings

    recursive function repr_data(data) result(text)
        type(LIBMUSCLE_DataConstRef), intent(in) :: data
        character(:), allocatable :: text
        type(YMMSL_Settings) :: settings
        character(len=1), allocatable :: bytes(:)
        if (data%is_nil()) then
            text = 'None'
        else if (data%is_a_logical()) then
            text = repr(data%as_logical())
        else if (data%is_a_int8()) then
            text = repr(data%as_int8())
        else if (data%is_a_real8()) then
            text = repr(data%as_real8())
        else if (data%is_a_character()) then
            text = repr(data%as_character())
        else if (data%is_a_settings()) then
            settings = data%as_settings()
            text = repr(settings)
            call YMMSL_Settings_free(settings)
        else if (data%is_a_byte_array()) then
            allocate (bytes(data%size()))
            call data%as_byte_array(bytes)
            text = "b'"//transfer(bytes, repeat(' ', size(bytes)))//"'"
        else if (data%is_a_list()) then
            text = repr_list(data)
        else if (data%is_a_dict()) then
            text = repr_dict(data)
        else
            text = repr_grid(data)
        end if
    end function repr_data

    recursive function repr_list(data) result(text)
        type(LIBMUSCLE_DataConstRef), intent(in) :: data
        character(:), allocatable :: text
        type(LIBMUSCLE_DataConstRef) :: item
        type(line), allocatable :: items(:)
        integer(sz) :: i
        allocate (items(data%size()))
        do i = 1, data%size()
            item = data%get_item(i)
            items(i)%text = repr_data(item)
            call LIBMUSCLE_DataConstRef_free(item)
        end do
        text = joined(items, '[', ']')
    end function repr_list

    ! The dicts of the test have these keys: data that is only read has no calls for its keys.
    recursive function repr_dict(data) result(text)
        type(LIBMUSCLE_DataConstRef), intent(in) :: data
        character(:), allocatable :: text
        character(len=*), parameter :: KEYS(4) = ['grid', 'k   ', 'list', 'n   ']
        type(LIBMUSCLE_DataConstRef) :: item
        integer :: i, err_code
        integer(sz) :: count
        text = ''
        count = 0
        do i = 1, size(KEYS)
            item = data%get_item(trim(KEYS(i)), err_code)
            if (err_code == LIBMUSCLE_out_of_range) cycle
            call add(text, trim(KEYS(i))//': '//repr_data(item))
            count = count + 1
            call LIBMUSCLE_DataConstRef_free(item)
        end do
        if (count /= data%size()) error stop 'a dict has a key that the test does not know'
        text = '{'//text//'}'
    end function repr_dict

    function repr_grid(data) result(text)
        type(LIBMUSCLE_DataConstRef), intent(in) :: data
        character(:), allocatable :: text, names
        integer(sz) :: shp(2), i
        shp = 1
        call data%shape(shp)
        if (data%num_dims() == 1) then
            text = '('//repr(shp(1))//',)'
        else
            text = '('//repr(shp(1))//', '//repr(shp(2))//')'
        end if
        names = 'None'
        if (data%has_indexes()) then
            names = ''
            do i = 1, data%num_dims()
                call add(names, repr(data%index(i)))
            end do
            names = '['//names//']'
        end if
        if (data%num_dims() == 1) text = type_name(data)//' '//text//' '//repr_line(data, shp(1))
        if (shp(2) > 1) text = type_name(data)//' '//text//' '//repr_plane(data, shp)
        text = 'Grid('//text//' '//names//')'
    end function repr_grid

    function type_name(data) result(text)
        type(LIBMUSCLE_DataConstRef), intent(in) :: data
        character(:), allocatable :: text
        if (data%is_a_grid_of_logical()) text = 'bool'
        if (data%is_a_grid_of_int4()) text = 'int32'
        if (data%is_a_grid_of_int8()) text = 'int64'
        if (data%is_a_grid_of_real4()) text = 'float32'
        if (data%is_a_grid_of_real8()) text = 'float64'
    end function type_name

    function repr_line(data, count) result(text)
        type(LIBMUSCLE_DataConstRef), intent(in) :: data
        integer(sz), intent(in) :: count
        character(:), allocatable :: text
        logical :: truths(count)
        integer(int4) :: smalls(count)
        integer(int8) :: wholes(count)
        integer :: i
        if (data%is_a_grid_of_logical()) then
            call data%elements(truths)
            text = ''
            do i = 1, size(truths)
                call add(text, repr(truths(i)))
            end do
            text = '['//text//']'
        else if (data%is_a_grid_of_int4()) then
            call data%elements(smalls)
            text = repr(int(smalls, int8))
        else
            call data%elements(wholes)
            text = repr(wholes)
        end if
    end function repr_line

    function repr_plane(data, shp) result(text)
        type(LIBMUSCLE_DataConstRef), intent(in) :: data
        integer(sz), intent(in) :: shp(2)
        character(:), allocatable :: text
        real(real4) :: singles(shp(1), shp(2))
        real(real8) :: doubles(shp(1), shp(2))
        if (data%is_a_grid_of_real4()) then
            call data%elements(singles)
            text = repr(real(singles, real8))
        else
            call data%elements(doubles)
            text = repr(doubles)
        end if
    end function repr_plane
end module record
