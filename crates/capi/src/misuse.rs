//! Errors of the arguments of a call of the C ABI.

use ligament_catalogue::errors;
use ligament_instance::{Error, ErrorKind};

errors! {
    /// The reason why an argument cannot be used.
    pub(crate) enum Misuse {
        /// A pointer that must not be NULL is NULL.
        Null { what: String } => NULL_ARGUMENT, "{what} is NULL";
        /// The list of ports is NULL although its length is above 0.
        NoPorts { count: usize } => NULL_ARGUMENT, "ports is NULL, but port_count is {count}";
        /// The item for a list or a map is NULL.
        NoItem => NULL_ARGUMENT,
            "the item is NULL; was it text that is not UTF-8, or too large for the memory?";
        /// A text is not UTF-8.
        NotUtf8 { what: String } => NOT_UTF8, "{what} is not UTF-8";
        /// A name contains a NUL, which a text in C cannot hold.
        NulInName { name: String } => BAD_SETTING_NAME, "there is a NUL in the name {name:?}";
        /// One of several names contains a NUL.
        NulInNames { why: String } => BAD_SETTING_NAME, "there is a NUL in a name: {why}";
        /// The text of a setting contains a NUL, which a text in C cannot hold.
        NulInSetting { name: String } => BAD_SETTING_NAME,
            "there is a NUL in the setting \"{name}\", which no text of C can hold; write it otherwise in the \
             model";
        /// The core gave a setting of another type than the requested one.
        Confused { wanted: String } => BAD_SETTING_VALUE, "a setting came that is not {wanted}";
        /// The value cannot be the value of a setting.
        NoSetting { name: String } => BAD_SETTING_VALUE, "what is under \"{name}\" cannot be a setting";
        /// The value to make settings from is not a map.
        NoMapOfSettings => BAD_SETTING_VALUE, "settings are made from a map";
        /// The overlay is neither settings nor a map.
        NoOverlay => BAD_SETTING_VALUE,
            "the overlay of a message must be settings, or a map with the names of settings as its keys";
        /// A reserved member is not zero.
        Reserved { value: u32 } => RESERVED_MEMBER,
            "the member `reserved` of lig_array is {value}; set all that you do not use to zero, by `lig_array \
             a = {{0}}`";
        /// An array has too many dimensions.
        TooManyDims { most: usize, ndim: u32 } => UNFIT_ARRAY,
            "an array has at most {most} dimensions, not {ndim}";
        /// No memory is large enough for an array of this shape.
        TooLarge { shape: Vec<u64> } => UNFIT_ARRAY, "an array of shape {shape:?} does not fit any memory";
        /// No memory is large enough for an array with these strides.
        TooWide { shape: Vec<u64>, strides: Vec<i64> } => UNFIT_ARRAY,
            "an array of shape {shape:?} with byte strides {strides:?} does not fit any memory";
        /// The array to be borrowed has strides.
        BorrowedStrides => BORROWED_STRIDES,
            "an array with strides cannot be borrowed; use lig_value_new_array";
        /// The array to receive into has strides.
        StridesToReceiveInto => UNFIT_TO_RECEIVE_INTO,
            "an array to receive into has no strides: its elements lie next to each other";
        /// The description of a loan has strides.
        LoanWithStrides => LOAN_USED, "a loan has no strides: its elements lie next to each other";
        /// The array of a field has strides.
        FieldWithStrides { field: String } => BAD_FIELD,
            "the array of the field \"{field}\" was given with strides; its elements lie next to each other: \
             leave the strides NULL";
        /// The array of a field shares memory with that of another field.
        FieldMemory { field: String, other: String } => BAD_FIELD,
            "the array of the field \"{field}\" shares memory with that of the field \"{other}\"; give each \
             field an array of its own";
        /// The loan belongs to another instance.
        LoanOfAnother => LOAN_USED, "this loan is another instance's; send it with the one that lent it";
        /// The loan was already sent or freed.
        LoanUsed => LOAN_USED, "this loan was sent or freed before";
        /// A size is impossible.
        AbsurdSize { size: usize } => ABSURD_SIZE, "{size} bytes do not fit any memory; was the size negative?";
        /// There is not enough memory for a copy.
        NoCopy { length: usize } => ABSURD_SIZE, "there is no memory for a copy of {length} bytes";
        /// The list of ports to wait for is empty.
        NothingToWaitFor => BAD_ARGUMENT, "there are no ports to wait for";
        /// The list of ports to wait for is impossibly long.
        TooManyPorts { count: usize, most: usize } => ABSURD_SIZE,
            "{count} ports are too many to wait for; {most} are the most";
        /// The path is closed or freed.
        PathClosed => PATH_CLOSED, "this path is closed or freed already; no call may follow lig_path_close or \
                                    lig_path_free";
        /// A timeout is impossible, such as NaN.
        Timeout { seconds: f64 } => BAD_ARGUMENT, "a timeout cannot be {seconds} s";
        /// The first member of a struct of options is not its size.
        OptionsSize { name: &'static str, size: usize } => OPTIONS_SIZE,
            "the first member of {name} must be its size; set it to sizeof({name}), it is {size}";
        /// A member that this version does not have is not zero.
        NewerMembers { name: &'static str } => NEWER_HEADER,
            "this program was built for a newer Ligament and sets members of {name} that version {} does not \
             know; use the newer library, or leave them zero (is `size` sizeof({name})?)",
            env!("CARGO_PKG_VERSION");
        /// A flag that this version does not have is set.
        NewerFlags { unknown: u64 } => NEWER_HEADER,
            "there are no flags {unknown:#x} in Ligament {}; take members of lig_instance_flag",
            env!("CARGO_PKG_VERSION");
        /// The number is not in `lig_dtype`.
        NoDtype { code: i32 } => NO_SUCH_ENUMERATOR,
            "there is no element type {code}; take one of lig_dtype, such as LIG_FLOAT64";
        /// The number is not in `lig_order`.
        NoOrder { code: i32 } => NO_SUCH_ENUMERATOR,
            "there is no order {code}; take LIG_ROW_MAJOR or LIG_COLUMN_MAJOR";
        /// The number is not in `lig_operator`.
        NoOperator { code: i32 } => NO_SUCH_ENUMERATOR,
            "there is no operator {code}; take LIG_F_INIT, LIG_O_I, LIG_S or LIG_O_F";
        /// The number is not in `lig_log_level`.
        NoLogLevel { code: i32 } => NO_SUCH_ENUMERATOR,
            "there is no log level {code}; take LIG_LOG_DEBUG (0) to LIG_LOG_CRITICAL (4)";
        /// An index is beyond the last item.
        NoSuchItem { index: usize, count: usize } => NO_SUCH_ITEM,
            "there is no item {index}: there are {count}, counted from 0";
        /// The value has another kind than the requested one.
        OtherKind { found: &'static str, wanted: String } => WRONG_VALUE_KIND,
            "the value is {found}, not {wanted}";
        /// An integer does not fit `int64_t`.
        LargeInteger { integer: u64 } => WRONG_VALUE_KIND, "the integer {integer} does not fit int64";
        /// A value is to be put into itself.
        IntoItself => WRONG_VALUE_KIND, "a value cannot be put into itself";
        /// The value to append to is not a list.
        NoList => WRONG_VALUE_KIND, "the value to append to is not a list";
        /// The value to set a key in is not a map.
        NoMap => WRONG_VALUE_KIND, "the value to set a key in is not a map";
        /// A value would lie inside too many lists and maps.
        TooDeep { most: usize } => TOO_DEEP_OR_MANY,
            "a value lies inside more than {most} lists and maps; send flatter values";
        /// A function of a submodel is NULL.
        NoFunction { name: String } => CALLBACK_MISSING, "the submodel's function {name} is NULL";
        /// A function of a submodel frees its own instance.
        FreedWithin => IN_ANOTHER_CALL,
            "lig_instance_free was called by a function of the instance's own submodel; nothing is freed";
        /// A function of a submodel failed and gave no reason.
        Callback { status: i32 } => CALLBACK_FAILED,
            "a function of the submodel returned status {status} without saying why";
    }
}

impl From<Misuse> for Error {
    fn from(misuse: Misuse) -> Error {
        let kind = match misuse {
            Misuse::OtherKind { .. } | Misuse::LargeInteger { .. } => ErrorKind::Unexpected,
            Misuse::NulInSetting { .. } => ErrorKind::SettingType,
            Misuse::NoCopy { .. } => ErrorKind::OutOfMemory,
            Misuse::NulInName { .. } | Misuse::NulInNames { .. } | Misuse::Confused { .. } => ErrorKind::System,
            _ => ErrorKind::Usage,
        };
        Error::other(kind, misuse)
    }
}
