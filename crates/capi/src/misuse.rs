//! Errors of the arguments of a call of the C ABI.

use ligament_catalogue::errors;
use ligament_instance::{Error, ErrorKind};

errors! {
    /// Why an argument cannot be taken.
    pub(crate) enum Misuse {
        /// Something must be given there.
        Null { what: String } => NULL_ARGUMENT, "{what} is NULL";
        /// A list that is said to have items.
        NoPorts { count: usize } => NULL_ARGUMENT, "ports is NULL, but port_count is {count}";
        /// The item for a list or a map.
        NoItem => NULL_ARGUMENT,
            "the item is NULL; was it text that is not UTF-8, or too large for the memory?";
        /// A text in another encoding.
        NotUtf8 { what: String } => NOT_UTF8, "{what} is not UTF-8";
        /// A name that no text of C can hold.
        NulInName { name: String } => BAD_SETTING_NAME, "there is a NUL in the name {name:?}";
        /// The same, of one of several.
        NulInNames { why: String } => BAD_SETTING_NAME, "there is a NUL in a name: {why}";
        /// A setting that no text of C can hold.
        NulInSetting { name: String } => BAD_SETTING_NAME,
            "there is a NUL in the setting \"{name}\", which no text of C can hold; write it otherwise in the \
             model";
        /// A setting of another type than the core was asked for.
        Confused { wanted: String } => BAD_SETTING_VALUE, "a setting came that is not {wanted}";
        /// A value that is none of a setting's.
        NoSetting { name: String } => BAD_SETTING_VALUE, "what is under \"{name}\" cannot be a setting";
        /// Settings have names.
        NoMapOfSettings => BAD_SETTING_VALUE, "settings are made from a map";
        /// An overlay has names too.
        NoOverlay => BAD_SETTING_VALUE,
            "the overlay of a message must be settings, or a map with the names of settings as its keys";
        /// A member that has no meaning yet.
        Reserved { value: u32 } => RESERVED_MEMBER,
            "the member `reserved` of lig_array is {value}; set all that you do not use to zero, by `lig_array \
             a = {{0}}`";
        /// More dimensions than arrays can have.
        TooManyDims { most: usize, ndim: u32 } => UNFIT_ARRAY,
            "an array has at most {most} dimensions, not {ndim}";
        /// A shape beyond all memory.
        TooLarge { shape: Vec<u64> } => UNFIT_ARRAY, "an array of shape {shape:?} does not fit any memory";
        /// Strides that lead beyond all memory.
        TooWide { shape: Vec<u64>, strides: Vec<i64> } => UNFIT_ARRAY,
            "an array of shape {shape:?} with byte strides {strides:?} does not fit any memory";
        /// Elements to be borrowed do not lie next to each other.
        BorrowedStrides => BORROWED_STRIDES,
            "an array with strides cannot be borrowed; use lig_value_new_array";
        /// Elements to be received into do not lie next to each other.
        StridesToReceiveInto => UNFIT_TO_RECEIVE_INTO,
            "an array to receive into has no strides: its elements lie next to each other";
        /// Elements of a loan lie next to each other.
        LoanWithStrides => LOAN_USED, "a loan has no strides: its elements lie next to each other";
        /// Elements of a field lie next to each other.
        FieldWithStrides => BAD_FIELD, "the array of a field has no strides: its elements lie next to each \
        other";
        /// Each field has an array of its own.
        FieldMemory { other: String } => BAD_FIELD,
            "the array shares memory with that of the field \"{other}\"; give each field an array of its own";
        /// Another instance has lent it.
        LoanOfAnother => LOAN_USED, "this loan is another instance's; send it with the one that lent it";
        /// It is gone.
        LoanUsed => LOAN_USED, "this loan was sent or freed before";
        /// A size that cannot be meant.
        AbsurdSize { size: usize } => ABSURD_SIZE, "{size} bytes do not fit any memory; was the size negative?";
        /// A copy for which there is no memory.
        NoCopy { length: usize } => ABSURD_SIZE, "there is no memory for a copy of {length} bytes";
        /// No ports to wait for.
        NothingToWaitFor => BAD_ARGUMENT, "there are no ports to wait for";
        /// A number of ports that cannot be meant.
        TooManyPorts { count: usize, most: usize } => ABSURD_SIZE,
            "{count} ports are too many to wait for; {most} are the most";
        /// A path that is over.
        PathClosed => PATH_CLOSED, "this path is closed or freed already; no call may follow lig_path_close or \
                                    lig_path_free";
        /// A time that cannot be waited.
        Timeout { seconds: f64 } => BAD_ARGUMENT, "a timeout cannot be {seconds} s";
        /// A struct without its size.
        OptionsSize { name: &'static str, size: usize } => OPTIONS_SIZE,
            "the first member of {name} must be its size; set it to sizeof({name}), it is {size}";
        /// Members that are not known yet.
        NewerMembers { name: &'static str } => NEWER_HEADER,
            "this program was built for a newer Ligament and sets members of {name} that version {} does not \
             know; use the newer library, or leave them zero (is `size` sizeof({name})?)",
            env!("CARGO_PKG_VERSION");
        /// Flags that are not known yet.
        NewerFlags { unknown: u64 } => NEWER_HEADER,
            "there are no flags {unknown:#x} in Ligament {}; take members of lig_instance_flag",
            env!("CARGO_PKG_VERSION");
        /// None of `lig_dtype`.
        NoDtype { code: i32 } => NO_SUCH_ENUMERATOR,
            "there is no element type {code}; take one of lig_dtype, such as LIG_FLOAT64";
        /// None of `lig_order`.
        NoOrder { code: i32 } => NO_SUCH_ENUMERATOR,
            "there is no order {code}; take LIG_ROW_MAJOR or LIG_COLUMN_MAJOR";
        /// None of `lig_operator`.
        NoOperator { code: i32 } => NO_SUCH_ENUMERATOR,
            "there is no operator {code}; take LIG_F_INIT, LIG_O_I, LIG_S or LIG_O_F";
        /// None of `lig_log_level`.
        NoLogLevel { code: i32 } => NO_SUCH_ENUMERATOR,
            "there is no log level {code}; take LIG_LOG_DEBUG (0) to LIG_LOG_CRITICAL (4)";
        /// An index beyond the end.
        NoSuchItem { index: usize, count: usize } => NO_SUCH_ITEM,
            "there is no item {index}: there are {count}, counted from 0";
        /// A value of another kind than was asked for.
        OtherKind { found: &'static str, wanted: String } => WRONG_VALUE_KIND,
            "the value is {found}, not {wanted}";
        /// An integer beyond those of C.
        LargeInteger { integer: u64 } => WRONG_VALUE_KIND, "the integer {integer} does not fit int64";
        /// A value within itself.
        IntoItself => WRONG_VALUE_KIND, "a value cannot be put into itself";
        /// Only lists are appended to.
        NoList => WRONG_VALUE_KIND, "the value to append to is not a list";
        /// Only maps have keys.
        NoMap => WRONG_VALUE_KIND, "the value to set a key in is not a map";
        /// Nested too deep.
        TooDeep { most: usize } => TOO_DEEP_OR_MANY,
            "a value lies inside more than {most} lists and maps; send flatter values";
        /// A submodel without one of its functions.
        NoFunction { name: String } => CALLBACK_MISSING, "the submodel's function {name} is NULL";
        /// An instance that is in use.
        FreedWithin => IN_ANOTHER_CALL,
            "lig_instance_free was called by a function of the instance's own submodel; nothing is freed";
        /// A function that fails in silence.
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
