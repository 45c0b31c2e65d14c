! Each call makes a mistake, and the code and the text of the error are looked at.
#define CHECK(x) call check((x), __LINE__)
#define CHECK_ERROR(code, words) call check_error(code, words, __LINE__)
program mistakes
    use ymmsl
    use libmuscle
    implicit none
    integer :: failures = 0, err_code
    integer(LIBMUSCLE_int8) :: whole, wholes(1)
    real(LIBMUSCLE_real8) :: number
    logical :: truth
    character(:), allocatable :: err_msg, text
    type(LIBMUSCLE_PortsDescription) :: ports
    type(LIBMUSCLE_Instance) :: instance, nothing
    type(LIBMUSCLE_Message) :: message, got
    type(LIBMUSCLE_Data) :: data

    ports = LIBMUSCLE_PortsDescription()
    call ports%add(YMMSL_Operator_F_INIT, 'start')
    call ports%add(YMMSL_Operator_O_I, 'out')
    call ports%add(YMMSL_Operator_O_I, 'many[]')
    instance = LIBMUSCLE_Instance(ports)
    data = LIBMUSCLE_Data(1)
    message = LIBMUSCLE_Message(0.0_LIBMUSCLE_real8, data)
    CHECK(instance%reuse_instance())

    got = instance%receive('out', err_code, err_msg)
    CHECK_ERROR(LIBMUSCLE_logic_error, '"out"')
    got = instance%receive('nowhere', message, err_code, err_msg)
    CHECK_ERROR(LIBMUSCLE_logic_error, '"nowhere"')
    got = instance%receive('start', err_code, err_msg)
    CHECK_ERROR(LIBMUSCLE_runtime_error, '"start"')
    CHECK(got%ptr == 0)
    got = instance%receive_with_settings('start', err_code, err_msg)
    CHECK_ERROR(LIBMUSCLE_runtime_error, '"start"')
    got = instance%receive_on_slot('start', 0, err_code, err_msg)
    CHECK_ERROR(LIBMUSCLE_runtime_error, 'no slot 0')
    got = instance%receive_on_slot('nowhere', 0, message, err_code, err_msg)
    CHECK_ERROR(LIBMUSCLE_logic_error, '"nowhere"')
    got = instance%receive_with_settings_on_slot('start', 0, err_code, err_msg)
    CHECK_ERROR(LIBMUSCLE_runtime_error, 'no slot 0')
    got = instance%receive_with_settings_on_slot('nowhere', 0, message, err_code, err_msg)
    CHECK_ERROR(LIBMUSCLE_logic_error, '"nowhere"')
    got = instance%receive_with_settings('start', message, err_code, err_msg)
    CHECK(err_code == LIBMUSCLE_success .and. .not. allocated(err_msg) .and. got%timestamp() == 0.0)

    number = instance%get_setting_as_real8('unset', err_code, err_msg)
    CHECK_ERROR(LIBMUSCLE_out_of_range, '"unset" is not set')
    truth = instance%is_setting_a_logical('unset', err_code, err_msg)
    CHECK_ERROR(LIBMUSCLE_out_of_range, '"unset" is not set')
    number = instance%get_setting_as_real8('text', err_code, err_msg)
    CHECK_ERROR(LIBMUSCLE_bad_cast, 'setting "text"')
    whole = instance%get_setting_as_int8('text', 1_LIBMUSCLE_int8, err_code, err_msg)
    CHECK_ERROR(LIBMUSCLE_bad_cast, 'setting "text"')
    text = instance%get_setting_as_character('whole', err_code, err_msg)
    CHECK_ERROR(LIBMUSCLE_bad_cast, 'setting "whole"')
    wholes = 9
    call instance%get_setting_as_int8array('unset', [1_LIBMUSCLE_int8, 2_LIBMUSCLE_int8], wholes, err_code, &
        err_msg)
    CHECK_ERROR(LIBMUSCLE_runtime_error, 'there are 2 values, but the array has room for 1')
    CHECK(wholes(1) == 9)
    call instance%get_setting_as_int8array('unset', [3_LIBMUSCLE_int8], wholes)
    CHECK(wholes(1) == 3)
    number = instance%get_setting_as_real8('unset', 0.5_LIBMUSCLE_real8)
    CHECK(number == 0.5)
    truth = instance%get_setting_as_logical('unset', .true.)
    CHECK(truth)
    call other_defaults()
    CHECK(instance%get_setting_as_real8('whole') == 3.0)

    got = nothing%receive('start', err_code, err_msg)
    CHECK_ERROR(LIBMUSCLE_logic_error, 'the LIBMUSCLE_Instance has not been made')
    call LIBMUSCLE_Message_free(message)
    got = instance%receive('start', message, err_code, err_msg)
    CHECK_ERROR(LIBMUSCLE_logic_error, 'the LIBMUSCLE_Message has been freed')
    call instance%error_shutdown('these mistakes were made on purpose')
    got = instance%receive('start', err_code, err_msg)
    CHECK(err_code /= LIBMUSCLE_success)
    call LIBMUSCLE_Instance_free(instance)
    call finish()
contains
    include 'check.inc'

    subroutine other_defaults()
        real(LIBMUSCLE_real8) :: reals(2), table(1, 2)
        call instance%get_setting_as_real8array('unset', [1.0_LIBMUSCLE_real8, 2.0_LIBMUSCLE_real8], reals)
        CHECK(all(reals == [1, 2]))
        call instance%get_setting_as_real8array2('unset', reshape(reals, [1, 2]), table)
        CHECK(all(table(1, :) == [1, 2]))
        text = instance%get_setting_as_character('unset', 'a default')
        CHECK(text == 'a default')
    end subroutine other_defaults
end program mistakes
