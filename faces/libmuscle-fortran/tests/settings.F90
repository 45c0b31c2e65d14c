! Settings: each call of the module `ymmsl`, and the mistakes that it refuses.
#define CHECK(x) call check((x), __LINE__)
#define CHECK_ERROR(code, words) call check_error(code, words, __LINE__)
program test_settings
    use ymmsl
    implicit none
    integer, parameter :: int4 = YMMSL_int4, int8 = YMMSL_int8, real8 = YMMSL_real8, sz = YMMSL_size
    integer :: failures = 0, err_code
    character(:), allocatable :: err_msg, text
    type(YMMSL_Settings) :: one, other, nothing
    integer(int8) :: wholes(4)
    real(real8) :: reals(2), table(3, 2), wide(3, 3)
    logical :: truth

    one = YMMSL_Settings_create()
    other = YMMSL_Settings()
    CHECK(YMMSL_Settings_empty(one))
    CHECK(YMMSL_Settings_equals(one, other))
    call YMMSL_Settings_set(one, 'text', 'a value')
    call YMMSL_Settings_set(one, 'small', 7_int4)
    call YMMSL_Settings_set(one, 'large', 7000000000_int8)
    call YMMSL_Settings_set(one, 'real', 0.1_real8)
    call YMMSL_Settings_set(one, 'truth', .true.)
    call YMMSL_Settings_set(one, 'wholes', [1_int8, 2_int8])
    call YMMSL_Settings_set(one, 'reals', [0.5_real8, 1.5_real8])
    call YMMSL_Settings_set(one, 'table', reshape([1, 2, 3, 4, 5, 6] * 1.0_real8, [3, 2]))
    CHECK(.not. one%equals(other) .and. .not. one%empty())
    CHECK(YMMSL_Settings_size(one) == 8_sz)
    CHECK(one%size() == 8_sz)

    CHECK(YMMSL_Settings_is_a_character(one, 'text') .and. .not. one%is_a_character('small'))
    CHECK(YMMSL_Settings_is_a_int4(one, 'small') .and. .not. one%is_a_int4('large'))
    CHECK(YMMSL_Settings_is_a_int8(one, 'small') .and. one%is_a_int8('large'))
    CHECK(YMMSL_Settings_is_a_real8(one, 'real') .and. .not. one%is_a_real8('text'))
    CHECK(YMMSL_Settings_is_a_logical(one, 'truth') .and. .not. one%is_a_logical('text'))
    CHECK(YMMSL_Settings_is_a_int8array(one, 'wholes') .and. .not. one%is_a_int8array('table'))
    CHECK(YMMSL_Settings_is_a_real8array(one, 'reals') .and. .not. one%is_a_real8array('table'))
    CHECK(YMMSL_Settings_is_a_real8array2(one, 'table') .and. .not. one%is_a_real8array2('reals'))

    text = YMMSL_Settings_get_as_character(one, 'text')
    CHECK(text == 'a value' .and. len(text) == 7)
    CHECK(YMMSL_Settings_get_as_int4(one, 'small') == 7)
    CHECK(YMMSL_Settings_get_as_int8(one, 'large') == 7000000000_int8)
    CHECK(YMMSL_Settings_get_as_real8(one, 'real') == 0.1_real8)
    CHECK(one%get_as_real8('small') == 7.0_real8)
    CHECK(YMMSL_Settings_get_as_logical(one, 'truth'))
    wholes = 9
    call YMMSL_Settings_get_as_int8array(one, 'wholes', wholes)
    CHECK(all(wholes == [1, 2, 9, 9]))
    call YMMSL_Settings_get_as_real8array(one, 'reals', reals, err_code)
    CHECK(err_code == YMMSL_success .and. all(reals == [0.5_real8, 1.5_real8]))
    call YMMSL_Settings_get_as_real8array2(one, 'table', table)
    CHECK(all(table == reshape([1, 2, 3, 4, 5, 6] * 1.0_real8, [3, 2])))

    CHECK(YMMSL_Settings_contains(one, 'text') .and. .not. one%contains('none'))
    CHECK(YMMSL_Settings_erase(one, 'text') == 1_sz .and. one%erase('text') == 0_sz)
    call YMMSL_Settings_clear(one)
    CHECK(one%empty())
    call one%set('only', 'value')
    CHECK(YMMSL_Settings_key(one, 1_sz) == 'only')
    call other%set('only', 'value')
    CHECK(one%equals(other))

    ! Mistakes.
    truth = YMMSL_Settings_is_a_logical(one, 'none', err_code, err_msg)
    CHECK_ERROR(YMMSL_out_of_range, 'none')
    text = one%get_as_character('none', err_code, err_msg)
    CHECK_ERROR(YMMSL_out_of_range, 'none')
    CHECK(len(text) == 0)
    truth = one%get_as_logical('only', err_code, err_msg)
    CHECK_ERROR(YMMSL_bad_cast, 'a truth value')
    text = one%key(0_sz, err_code, err_msg)
    CHECK_ERROR(YMMSL_out_of_range, 'has no item 0; it has 1, which count from 1')
    text = one%key(2_sz, err_code, err_msg)
    CHECK_ERROR(YMMSL_out_of_range, 'has no item 2')
    call one%set('long', [1.0_real8, 2.0_real8, 3.0_real8])
    reals = 9.0
    call one%get_as_real8array('long', reals, err_code, err_msg)
    CHECK_ERROR(YMMSL_runtime_error, 'there are 3 values, but the array has room for 2')
    CHECK(all(reals == 9.0))
    call one%set('table', table)
    call one%get_as_real8array2('table', wide, err_code, err_msg)
    CHECK_ERROR(YMMSL_runtime_error, 'the table has the shape (3, 2), but the array has (3, 3)')
    text = nothing%key(1_sz, err_code, err_msg)
    CHECK_ERROR(YMMSL_logic_error, 'the YMMSL_Settings has not been made')
    call YMMSL_Settings_free(nothing)
    call YMMSL_Settings_free(other)
    text = other%key(1_sz, err_code, err_msg)
    CHECK_ERROR(YMMSL_logic_error, 'the YMMSL_Settings has been freed')
    call YMMSL_Settings_free(one)
    call finish()
contains
    include 'check.inc'
end program test_settings
