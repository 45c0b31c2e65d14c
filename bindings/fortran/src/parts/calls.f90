! The C side of the binding as Fortran sees it (ligament_descriptors.c), and the handling of errors. Not for
! users.
module ligament_calls
   use, intrinsic :: iso_c_binding
   use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64
   implicit none
   public

   integer(c_int64_t), parameter :: no_slot = -huge(0_c_int64_t) - 1

   type, bind(c) :: lf_ref
      integer(c_int64_t) :: key = 0
      type(c_ptr) :: value = c_null_ptr
      integer(c_int64_t) :: slot = no_slot
      integer(c_int32_t) :: edition = -1, reserved = 0
      character(kind=c_char) :: port(64) = ' '
   end type

   type, bind(c) :: lf_sending
      type(c_ptr) :: settings = c_null_ptr
      integer(c_int64_t) :: instance = 0, slot = no_slot
      real(c_double) :: timestamp = 0, next_timestamp = 0
      integer(c_size_t) :: port_length = 0, name_length = 0, name_count = 0, unit_length = 0
      integer(c_int32_t) :: order = -1
      logical(c_bool) :: has_next_timestamp = .false., is_unsigned = .false.
   end type

   type, bind(c) :: lf_receiving
      integer(c_int64_t) :: instance = 0, slot = no_slot
      real(c_double) :: timeout = 0
      integer(c_size_t) :: port_length = 0
      logical(c_bool) :: has_timeout = .false., is_unsigned = .false.
   end type

   type, bind(c) :: lf_scalar
      integer(c_int32_t) :: kind = 0, reserved = 0
      integer(c_int64_t) :: integer = 0
      real(c_double) :: real = 0, imaginary = 0
   end type

   type, bind(c) :: lig_times
      real(c_double) :: timestamp = 0, next_timestamp = 0
      logical(c_bool) :: has_next_timestamp = .false.
      integer(c_int8_t) :: reserved(7) = 0
   end type

   type, bind(c) :: lig_string
      type(c_ptr) :: data = c_null_ptr
      integer(c_size_t) :: size = 0
   end type

   type, bind(c) :: lig_array_view
      integer(c_int32_t) :: dtype = 0, ndim = 0, order = 0
      logical(c_bool) :: contiguous = .false.
      integer(c_int8_t) :: reserved(3) = 0
      integer(c_int64_t) :: length = 0, shape(8) = 0, strides(8) = 0
      type(c_ptr) :: data = c_null_ptr
   end type

   type, bind(c) :: lig_submodel
      integer(c_size_t) :: size = 0
      type(c_funptr) :: initialise, is_done, observe, solve, observe_final
      type(c_ptr) :: user = c_null_ptr
      type(c_funptr) :: save = c_null_funptr, restore = c_null_funptr, model_time = c_null_funptr
   end type

   interface
      ! ---- errors
      integer(c_size_t) function lf_fault(text) bind(c)
         import
         type(c_ptr), intent(out) :: text
      end function

      subroutine lf_set_fault(text, length) bind(c)
         import
         character(kind=c_char), intent(in) :: text(*)
         integer(c_size_t), value :: length
      end subroutine

      subroutine lf_last_words(status) bind(c)
         import
         integer(c_int32_t), value :: status
      end subroutine

      subroutine lf_write_error(error, text, length) bind(c)
         import
         type(c_ptr), value :: error
         character(kind=c_char), intent(in) :: text(*)
         integer(c_size_t), value :: length
      end subroutine

      type(c_ptr) function lig_version() bind(c)
         import
      end function

      type(c_ptr) function lig_status_name(status) bind(c)
         import
         integer(c_int32_t), value :: status
      end function

      type(c_ptr) function lig_kind_name(kind) bind(c)
         import
         integer(c_int32_t), value :: kind
      end function

      type(c_ptr) function lig_dtype_name(dtype) bind(c)
         import
         integer(c_int32_t), value :: dtype
      end function

      integer(c_size_t) function lf_length(text) bind(c, name='strlen')
         import
         type(c_ptr), value :: text
      end function

      ! ---- sending
      integer(c_int32_t) function lf_send_array(how, port, data, names, unit) bind(c)
         import
         type(lf_sending), intent(in) :: how
         character(kind=c_char), intent(in) :: port(*)
         type(*), dimension(..), intent(in) :: data
         character(kind=c_char), intent(in), optional :: names(*), unit(*)
      end function

      integer(c_int32_t) function lf_send_scalar(how, port, scalar) bind(c)
         import
         type(lf_sending), intent(in) :: how
         character(kind=c_char), intent(in) :: port(*)
         type(lf_scalar), intent(in) :: scalar
      end function

      integer(c_int32_t) function lf_send_text(how, port, text, length) bind(c)
         import
         type(lf_sending), intent(in) :: how
         character(kind=c_char), intent(in) :: port(*), text(*)
         integer(c_size_t), value :: length
      end function

      integer(c_int32_t) function lf_send_value(how, port, ref) bind(c)
         import
         type(lf_sending), intent(in) :: how
         character(kind=c_char), intent(in) :: port(*)
         type(lf_ref), intent(in) :: ref
      end function

      integer(c_int32_t) function lf_send_none(how, port) bind(c)
         import
         type(lf_sending), intent(in) :: how
         character(kind=c_char), intent(in) :: port(*)
      end function

      integer(c_int32_t) function lf_send_loan(how, port, loan) bind(c)
         import
         type(lf_sending), intent(in) :: how
         character(kind=c_char), intent(in) :: port(*)
         integer(c_int64_t), intent(inout) :: loan
      end function

      subroutine lf_free_loan(instance, loan) bind(c)
         import
         integer(c_int64_t), value :: instance
         integer(c_int64_t), intent(inout) :: loan
      end subroutine

      ! ---- receiving
      integer(c_int32_t) function lf_receive(how, port, ref, times) bind(c)
         import
         type(lf_receiving), intent(in) :: how
         character(kind=c_char), intent(in) :: port(*)
         type(lf_ref), intent(inout) :: ref
         type(lig_times), intent(inout) :: times
      end function

      integer(c_int32_t) function lf_receive_with_settings(how, port, ref, times) bind(c)
         import
         type(lf_receiving), intent(in) :: how
         character(kind=c_char), intent(in) :: port(*)
         type(lf_ref), intent(inout) :: ref
         type(lig_times), intent(inout) :: times
      end function

      integer(c_int32_t) function lf_receive_if_connected(how, port, ref, times, connected) bind(c)
         import
         type(lf_receiving), intent(in) :: how
         character(kind=c_char), intent(in) :: port(*)
         type(lf_ref), intent(inout) :: ref
         type(lig_times), intent(inout) :: times
         logical(c_bool), intent(out) :: connected
      end function

      integer(c_int32_t) function lf_receive_into(how, port, into, times) bind(c)
         import
         type(lf_receiving), intent(in) :: how
         character(kind=c_char), intent(in) :: port(*)
         type(*), dimension(..), intent(inout) :: into
         type(lig_times), intent(inout) :: times
      end function

      integer(c_int32_t) function lf_poll(how, port, ready) bind(c)
         import
         type(lf_receiving), intent(in) :: how
         character(kind=c_char), intent(in) :: port(*)
         logical(c_bool), intent(inout) :: ready
      end function

      integer(c_int32_t) function lf_has_next(how, port, more) bind(c)
         import
         type(lf_receiving), intent(in) :: how
         character(kind=c_char), intent(in) :: port(*)
         logical(c_bool), intent(inout) :: more
      end function

      integer(c_int32_t) function lf_wait_any(how, ports, count, slots, which) bind(c)
         import
         type(lf_receiving), intent(in) :: how
         character(kind=c_char), intent(in) :: ports(*)
         integer(c_size_t), value :: count
         integer(c_int64_t), intent(in) :: slots(*)
         integer(c_int64_t), intent(out) :: which
      end function

      integer(c_int32_t) function lf_receive_any(how, ports, count, slots, ref, times, which) bind(c)
         import
         type(lf_receiving), intent(in) :: how
         character(kind=c_char), intent(in) :: ports(*)
         integer(c_size_t), value :: count
         integer(c_int64_t), intent(in) :: slots(*)
         type(lf_ref), intent(inout) :: ref
         type(lig_times), intent(inout) :: times
         integer(c_int64_t), intent(out) :: which
      end function

      subroutine lf_free_message(ref) bind(c)
         import
         type(lf_ref), intent(inout) :: ref
      end subroutine

      integer(c_int32_t) function lf_message_settings(ref, made) bind(c)
         import
         type(lf_ref), intent(in) :: ref
         type(lf_ref), intent(out) :: made
      end function

      ! ---- values
      integer(c_int32_t) function lf_kind(ref) bind(c)
         import
         type(lf_ref), intent(in) :: ref
      end function

      integer(c_int32_t) function lf_get(ref, is_unsigned, to) bind(c)
         import
         type(lf_ref), intent(in) :: ref
         logical(c_bool), value :: is_unsigned
         type(*), dimension(..), intent(inout) :: to
      end function

      integer(c_int32_t) function lf_view_bytes(ref, pointer) bind(c)
         import
         type(lf_ref), intent(in) :: ref
         integer(c_int8_t), pointer, intent(out) :: pointer(..)
      end function

      integer(c_int32_t) function lf_text(ref, text) bind(c)
         import
         type(lf_ref), intent(in) :: ref
         type(lig_string), intent(out) :: text
      end function

      integer(c_int32_t) function lf_count(ref, count) bind(c)
         import
         type(lf_ref), intent(in) :: ref
         integer(c_int64_t), intent(inout) :: count
      end function

      integer(c_int32_t) function lf_at(ref, index, made) bind(c)
         import
         type(lf_ref), intent(in) :: ref
         integer(c_int64_t), value :: index
         type(lf_ref), intent(out) :: made
      end function

      integer(c_int32_t) function lf_key(ref, index, key) bind(c)
         import
         type(lf_ref), intent(in) :: ref
         integer(c_int64_t), value :: index
         type(lig_string), intent(out) :: key
      end function

      integer(c_int32_t) function lf_find(ref, key, length, must, made) bind(c)
         import
         type(lf_ref), intent(in) :: ref
         character(kind=c_char), intent(in) :: key(*)
         integer(c_size_t), value :: length
         logical(c_bool), value :: must
         type(lf_ref), intent(out) :: made
      end function

      integer(c_int32_t) function lf_array(ref, view) bind(c)
         import
         type(lf_ref), intent(in) :: ref
         type(lig_array_view), intent(out) :: view
      end function

      integer(c_int32_t) function lf_array_name(ref, dimension, text) bind(c)
         import
         type(lf_ref), intent(in) :: ref
         integer(c_int32_t), value :: dimension
         type(lig_string), intent(out) :: text
      end function

      integer(c_int32_t) function lf_array_unit(ref, text) bind(c)
         import
         type(lf_ref), intent(in) :: ref
         type(lig_string), intent(out) :: text
      end function

      integer(c_int32_t) function lf_new_scalar(scalar, made) bind(c)
         import
         type(lf_scalar), intent(in) :: scalar
         type(lf_ref), intent(out) :: made
      end function

      integer(c_int32_t) function lf_new_text(text, length, made) bind(c)
         import
         character(kind=c_char), intent(in) :: text(*)
         integer(c_size_t), value :: length
         type(lf_ref), intent(out) :: made
      end function

      integer(c_int32_t) function lf_new_array(how, data, names, unit, made) bind(c)
         import
         type(lf_sending), intent(in) :: how
         type(*), dimension(..), intent(in) :: data
         character(kind=c_char), intent(in), optional :: names(*), unit(*)
         type(lf_ref), intent(out) :: made
      end function

      integer(c_int32_t) function lf_new_bytes(data, size, made) bind(c)
         import
         integer(c_int8_t), intent(in) :: data(*)
         integer(c_size_t), value :: size
         type(lf_ref), intent(out) :: made
      end function

      integer(c_int32_t) function lf_new_list(of_pairs, made) bind(c)
         import
         logical(c_bool), value :: of_pairs
         type(lf_ref), intent(out) :: made
      end function

      integer(c_int32_t) function lf_new_none(made) bind(c)
         import
         type(lf_ref), intent(out) :: made
      end function

      integer(c_int32_t) function lf_new_settings(ref, made) bind(c)
         import
         type(lf_ref), intent(in) :: ref
         type(lf_ref), intent(out) :: made
      end function

      integer(c_int32_t) function lf_settings_map(ref, made) bind(c)
         import
         type(lf_ref), intent(in) :: ref
         type(lf_ref), intent(out) :: made
      end function

      integer(c_int32_t) function lf_copy(ref, made) bind(c)
         import
         type(lf_ref), intent(in) :: ref
         type(lf_ref), intent(out) :: made
      end function

      subroutine lf_free_value(ref) bind(c)
         import
         type(lf_ref), intent(inout) :: ref
      end subroutine

      integer(c_int32_t) function lf_put_value(ref, key, length, item) bind(c)
         import
         type(lf_ref), intent(in) :: ref, item
         character(kind=c_char), intent(in), optional :: key(*)
         integer(c_size_t), value :: length
      end function

      integer(c_int32_t) function lf_put_scalar(ref, key, length, item) bind(c)
         import
         type(lf_ref), intent(in) :: ref
         type(lf_scalar), intent(in) :: item
         character(kind=c_char), intent(in), optional :: key(*)
         integer(c_size_t), value :: length
      end function

      integer(c_int32_t) function lf_put_text(ref, key, length, item, size) bind(c)
         import
         type(lf_ref), intent(in) :: ref
         character(kind=c_char), intent(in), optional :: key(*)
         integer(c_size_t), value :: length, size
         character(kind=c_char), intent(in) :: item(*)
      end function

      ! ---- instances
      integer(c_int32_t) function lf_create(operators, names, length, count, flags, ranks, threads, &
         instance) bind(c)
         import
         integer(c_int32_t), intent(in) :: operators(*)
         character(kind=c_char), intent(in) :: names(*)
         integer(c_size_t), value :: length
         integer(c_int64_t), value :: count, flags, ranks, threads
         integer(c_int64_t), intent(out) :: instance
      end function

      subroutine lf_free(instance) bind(c)
         import
         integer(c_int64_t), intent(inout) :: instance
      end subroutine

      integer(c_int32_t) function lf_reuse(instance, again) bind(c)
         import
         integer(c_int64_t), value :: instance
         logical(c_bool), intent(inout) :: again
      end function

      integer(c_int32_t) function lf_steer(instance, time, changed) bind(c)
         import
         integer(c_int64_t), value :: instance
         real(c_double), value :: time
         logical(c_bool), intent(inout) :: changed
      end function

      ! The answer to a question about checkpoints, which `question` numbers. The time counts for one of them.
      integer(c_int32_t) function lf_checkpoint(instance, question, time, answer) bind(c)
         import
         integer(c_int64_t), value :: instance
         integer(c_int32_t), value :: question
         real(c_double), value :: time
         logical(c_bool), intent(inout) :: answer
      end function

      integer(c_int32_t) function lf_load(instance, ref, times) bind(c)
         import
         integer(c_int64_t), value :: instance
         type(lf_ref), intent(inout) :: ref
         type(lig_times), intent(inout) :: times
      end function

      integer(c_int32_t) function lf_save(instance, times, ref, is_final) bind(c)
         import
         integer(c_int64_t), value :: instance
         type(lig_times), intent(in) :: times
         type(lf_ref), intent(in) :: ref
         logical(c_bool), value :: is_final
      end function

      integer(c_int32_t) function lf_save_array(instance, times, data, is_final) bind(c)
         import
         integer(c_int64_t), value :: instance
         type(lig_times), intent(in) :: times
         type(*), dimension(..), intent(in) :: data
         logical(c_bool), value :: is_final
      end function

      integer(c_int32_t) function lf_snapshot_directory(instance, text) bind(c)
         import
         integer(c_int64_t), value :: instance
         type(lig_string), intent(out) :: text
      end function

      integer(c_int32_t) function lf_declare_steerable(instance, setting, length, bounded, range, unit, &
         unit_length, &
         restart) bind(c)
         import
         integer(c_int64_t), value :: instance
         character(kind=c_char), intent(in) :: setting(*), unit(*)
         integer(c_size_t), value :: length, unit_length
         logical(c_bool), intent(in) :: bounded(2)
         real(c_double), intent(in) :: range(2)
         logical(c_bool), value :: restart
      end function

      integer(c_int32_t) function lf_finish(instance) bind(c)
         import
         integer(c_int64_t), value :: instance
      end function

      integer(c_int32_t) function lf_shutdown(instance, why, length) bind(c)
         import
         integer(c_int64_t), value :: instance
         character(kind=c_char), intent(in) :: why(*)
         integer(c_size_t), value :: length
      end function

      integer(c_int32_t) function lf_log(instance, level, text, length) bind(c)
         import
         integer(c_int64_t), value :: instance
         integer(c_int32_t), value :: level
         character(kind=c_char), intent(in) :: text(*)
         integer(c_size_t), value :: length
      end function

      integer(c_int32_t) function lf_check(instance, check, user) bind(c)
         import
         integer(c_int64_t), value :: instance
         type(c_funptr), value :: check
         type(c_ptr), value :: user
      end function

      integer(c_size_t) function lf_name(instance, of_run, text) bind(c)
         import
         integer(c_int64_t), value :: instance
         logical(c_bool), value :: of_run
         type(c_ptr), intent(out) :: text
      end function

      integer(c_size_t) function lf_index(instance, index, size) bind(c)
         import
         integer(c_int64_t), value :: instance
         integer(c_int32_t), intent(inout) :: index(*)
         integer(c_size_t), value :: size
      end function

      integer(c_int32_t) function lf_rank(instance, of_all) bind(c)
         import
         integer(c_int64_t), value :: instance
         logical(c_bool), value :: of_all
      end function

      integer(c_int32_t) function lf_names(instance, operator, names, count, longest) bind(c)
         import
         integer(c_int64_t), value :: instance
         integer(c_int32_t), value :: operator
         type(c_ptr), intent(out) :: names
         integer(c_int64_t), intent(inout) :: count, longest
      end function

      subroutine lf_take_names(names, to, longest) bind(c)
         import
         type(c_ptr), value :: names
         character(kind=c_char), intent(inout) :: to(*)
         integer(c_size_t), value :: longest
      end subroutine

      integer(c_int32_t) function lf_port(instance, port, length, what, answer) bind(c)
         import
         integer(c_int64_t), value :: instance
         character(kind=c_char), intent(in) :: port(*)
         integer(c_size_t), value :: length
         integer(c_int32_t), value :: what
         integer(c_int64_t), intent(inout) :: answer
      end function

      integer(c_int32_t) function lf_map_block(instance, port, length, start, start_count, shape, &
                                               shape_count) bind(c)
         import
         integer(c_int64_t), value :: instance
         character(kind=c_char), intent(in) :: port(*)
         integer(c_size_t), value :: length
         integer(c_int64_t), intent(in) :: start(*), shape(*)
         integer(c_int64_t), value :: start_count, shape_count
      end function

      integer(c_int32_t) function lf_map_range(instance, port, length, first, last) bind(c)
         import
         integer(c_int64_t), value :: instance
         character(kind=c_char), intent(in) :: port(*)
         integer(c_size_t), value :: length
         integer(c_int64_t), value :: first, last
      end function

      integer(c_int32_t) function lf_map_list(instance, port, length, numbers, count) bind(c)
         import
         integer(c_int64_t), value :: instance
         character(kind=c_char), intent(in) :: port(*)
         integer(c_size_t), value :: length
         integer(c_int64_t), intent(in) :: numbers(*)
         integer(c_int64_t), value :: count
      end function

      integer(c_int32_t) function lf_array_shape(instance, port, length, lengths, count) bind(c)
         import
         integer(c_int64_t), value :: instance
         character(kind=c_char), intent(in) :: port(*)
         integer(c_size_t), value :: length
         integer(c_int64_t), intent(out) :: lengths(*)
         integer(c_int64_t), intent(out) :: count
      end function

      integer(c_int32_t) function lf_time(instance, time) bind(c)
         import
         integer(c_int64_t), value :: instance
         real(c_double), intent(out) :: time
      end function

      integer(c_int32_t) function lf_tick(instance, changed) bind(c)
         import
         integer(c_int64_t), value :: instance
         logical(c_bool), intent(inout) :: changed
      end function

      integer(c_int32_t) function lf_insert_events(instance, port, length, times, time_count, ids, &
                                                   id_count) bind(c)
         import
         integer(c_int64_t), value :: instance
         character(kind=c_char), intent(in) :: port(*)
         integer(c_size_t), value :: length
         real(c_double), intent(in) :: times(*)
         integer(c_int32_t), intent(in) :: ids(*)
         integer(c_int64_t), value :: time_count, id_count
      end function

      integer(c_int32_t) function lf_events(instance, port, length, count, times, ids) bind(c)
         import
         integer(c_int64_t), value :: instance
         character(kind=c_char), intent(in) :: port(*)
         integer(c_size_t), value :: length
         integer(c_int64_t), intent(out) :: count
         type(c_ptr), intent(out) :: times, ids
      end function

      integer(c_int32_t) function lf_set_port_length(instance, port, length, slots) bind(c)
         import
         integer(c_int64_t), value :: instance
         character(kind=c_char), intent(in) :: port(*)
         integer(c_size_t), value :: length
         integer(c_int64_t), value :: slots
      end function

      ! ---- settings
      integer(c_int32_t) function lf_setting_type(instance, setting, length, type) bind(c)
         import
         integer(c_int64_t), value :: instance
         character(kind=c_char), intent(in) :: setting(*)
         integer(c_size_t), value :: length
         integer(c_int32_t), intent(inout) :: type
      end function

      integer(c_int32_t) function lf_setting_bool(instance, setting, length, value) bind(c)
         import
         integer(c_int64_t), value :: instance
         character(kind=c_char), intent(in) :: setting(*)
         integer(c_size_t), value :: length
         logical(c_bool), intent(inout) :: value
      end function

      integer(c_int32_t) function lf_setting_int(instance, setting, length, least, most, value) bind(c)
         import
         integer(c_int64_t), value :: instance, least, most
         character(kind=c_char), intent(in) :: setting(*)
         integer(c_size_t), value :: length
         integer(c_int64_t), intent(inout) :: value
      end function

      integer(c_int32_t) function lf_setting_float(instance, setting, length, value) bind(c)
         import
         integer(c_int64_t), value :: instance
         character(kind=c_char), intent(in) :: setting(*)
         integer(c_size_t), value :: length
         real(c_double), intent(inout) :: value
      end function

      integer(c_int32_t) function lf_setting_text(instance, setting, length, value) bind(c)
         import
         integer(c_int64_t), value :: instance
         character(kind=c_char), intent(in) :: setting(*)
         integer(c_size_t), value :: length
         type(lig_string), intent(inout) :: value
      end function

      integer(c_int32_t) function lf_setting_ints(instance, setting, length, least, most, values, count) bind(c)
         import
         integer(c_int64_t), value :: instance, least, most
         character(kind=c_char), intent(in) :: setting(*)
         integer(c_size_t), value :: length
         type(c_ptr), intent(inout) :: values
         integer(c_size_t), intent(inout) :: count
      end function

      integer(c_int32_t) function lf_setting_floats(instance, setting, length, values, count) bind(c)
         import
         integer(c_int64_t), value :: instance
         character(kind=c_char), intent(in) :: setting(*)
         integer(c_size_t), value :: length
         type(c_ptr), intent(inout) :: values
         integer(c_size_t), intent(inout) :: count
      end function

      integer(c_int32_t) function lf_setting_grid(instance, setting, length, rows, count, columns) bind(c)
         import
         integer(c_int64_t), value :: instance
         character(kind=c_char), intent(in) :: setting(*)
         integer(c_size_t), value :: length
         type(c_ptr), intent(inout) :: rows
         integer(c_size_t), intent(inout) :: count, columns
      end function

      subroutine lf_take_grid(rows, count, to) bind(c)
         import
         type(c_ptr), value :: rows
         integer(c_size_t), value :: count
         real(c_double), intent(inout) :: to(*)
      end subroutine

      integer(c_int32_t) function lf_setting_value(instance, setting, length, made) bind(c)
         import
         integer(c_int64_t), value :: instance
         character(kind=c_char), intent(in) :: setting(*)
         integer(c_size_t), value :: length
         type(lf_ref), intent(out) :: made
      end function

      ! ---- submodels
      integer(c_int32_t) function lf_run_submodel(instance, submodel) bind(c)
         import
         integer(c_int64_t), value :: instance
         type(lig_submodel), intent(in) :: submodel
      end function

      integer(c_int32_t) function lf_run_light(submodel, make, release, context, flags) bind(c)
         import
         type(lig_submodel), intent(in) :: submodel
         type(c_funptr), value :: make, release
         type(c_ptr), value :: context
         integer(c_int64_t), value :: flags
      end function

      integer(c_int64_t) function lf_keep_instance(instance) bind(c)
         import
         type(c_ptr), value :: instance
      end function

      subroutine lf_let_go(key) bind(c)
         import
         integer(c_int64_t), value :: key
      end subroutine

      subroutine lf_enter(key) bind(c)
         import
         integer(c_int64_t), value :: key
      end subroutine
   end interface

contains

   ! Ends every call: returns the status if the caller asked for it; otherwise stops the program after an error.
   subroutine settle(status, ierr, errmsg)
      integer(c_int32_t), intent(in) :: status
      integer, intent(out), optional :: ierr
      character(len=*), intent(inout), optional :: errmsg
      if (present(ierr)) ierr = abs(status - merge(1, 0, status < 0))   ! -1 is a misuse, too
      if (status == 0) return
      if (present(errmsg) .and. status > 0) errmsg = fault_text()
      if (present(ierr)) return
      call lf_last_words(status)
      stop 1, quiet=.true.
   end subroutine

   ! An error that the binding finds itself.
   integer(c_int32_t) function misuse(text)
      character(len=*), intent(in) :: text
      call lf_set_fault(text, len(text, c_size_t))
      misuse = 2
   end function

   function fault_text() result(text)
      character(len=:), allocatable :: text
      type(c_ptr) :: place
      integer(c_size_t) :: length
      length = lf_fault(place)
      text = text_at(place, length)
   end function

   ! A copy of a C string.
   function text_at(place, length) result(text)
      type(c_ptr), intent(in) :: place
      integer(c_size_t), intent(in) :: length
      character(len=:), allocatable :: text
      character(kind=c_char), pointer :: letters(:)
      integer(c_size_t) :: i
      allocate (character(len=length) :: text)
      if (length == 0) return
      call c_f_pointer(place, letters, [length])
      do i = 1, length
         text(i:i) = letters(i)
      end do
   end function

   pure integer(c_int64_t) function slot_of(slot)
      integer, intent(in), optional :: slot
      slot_of = no_slot
      if (present(slot)) slot_of = slot
   end function

   pure logical(c_bool) function told(flag)
      logical, intent(in), optional :: flag
      told = .false.
      if (present(flag)) told = logical(flag, c_bool)
   end function

   pure integer(c_int32_t) function order_of(order)
      integer, intent(in), optional :: order
      order_of = -1
      if (present(order)) order_of = int(order, c_int32_t)
   end function

   ! A number or truth value for C; kind 0 for any other type. The kinds are those of lig_kind.
   type(lf_scalar) function scalar_of(item, unsigned)
      class(*), intent(in) :: item
      logical, intent(in), optional :: unsigned
      integer(c_int64_t) :: bits
      bits = 64
      select type (item)
      type is (integer(int8)); scalar_of = lf_scalar(2, 0, item, 0, 0); bits = 8
      type is (integer(int16)); scalar_of = lf_scalar(2, 0, item, 0, 0); bits = 16
      type is (integer(int32)); scalar_of = lf_scalar(2, 0, item, 0, 0); bits = 32
      type is (integer(int64)); scalar_of = lf_scalar(2, 0, item, 0, 0)
      type is (real(real32)); scalar_of = lf_scalar(4, 0, 0, real(item, real64), 0)
      type is (real(real64)); scalar_of = lf_scalar(4, 0, 0, item, 0)
      type is (complex(real32))
         scalar_of = lf_scalar(5, 0, 0, real(item, real64), real(aimag(item), real64))
      type is (complex(real64)); scalar_of = lf_scalar(5, 0, 0, real(item), aimag(item))
      type is (logical(int8)); scalar_of = lf_scalar(1, 0, merge(1, 0, item), 0, 0)
      type is (logical(int16)); scalar_of = lf_scalar(1, 0, merge(1, 0, item), 0, 0)
      type is (logical(int32)); scalar_of = lf_scalar(1, 0, merge(1, 0, item), 0, 0)
      type is (logical(int64)); scalar_of = lf_scalar(1, 0, merge(1, 0, item), 0, 0)
      end select
      if (scalar_of%kind /= 2 .or. .not. told(unsigned)) return
      scalar_of%kind = 3
      if (bits < 64) scalar_of%integer = iand(scalar_of%integer, shiftl(1_c_int64_t, bits) - 1)
   end function
end module
