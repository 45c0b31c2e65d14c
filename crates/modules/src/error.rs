//! Errors of modules and of the driver. Each names the module, and the function, its bin, the field and the
//! block as far as they are known.

use ligament_catalogue::errors;
use ligament_instance::{Error, ErrorKind};

errors! {
    /// The reason why modules cannot make a simulation, or why a simulation of modules fails.
    pub enum ModuleError {
        /// A shared object could not be loaded.
        Load { file: String, why: String } => BAD_MODULE, "the module {file} cannot be loaded: {why}";
        /// A shared object has no function that returns the declaration.
        NoDeclaration { file: String, why: String } => BAD_MODULE,
            "the module {file} has no function \"ligament_module\", which declares what it has: {why}";
        /// A declaration is not text.
        NoText { file: String } => BAD_MODULE,
            "\"ligament_module\" of the module {file} returned no text; it returns the declaration in UTF-8";
        /// A declared function does not exist.
        NoFunction { module: String, file: String, function: String, why: String } => BAD_MODULE,
            "the module \"{module}\" declares the function \"{function}\", and {file} has none of this name \
             that can be called from C: {why}";
        /// A declaration has a mistake.
        Declaration { place: String, why: String } => BAD_MODULE, "{place}: {why}";
        /// There is no module.
        NoModules => BAD_MODULE, "a simulation needs a module at least; give the driver one";
        /// Two modules have the same name.
        SameName { module: String } => BAD_MODULE,
            "two modules have the name \"{module}\"; give one of them another name";
        /// Two modules declare a field differently.
        FieldDiffers { field: String, first: String, second: String } => BAD_MODULE,
            "the field \"{field}\" is declared differently: {first}; {second}. Let all modules declare it \
             alike, or let only one declare it";
        /// There are more fields than a simulation can have.
        ManyFields { fields: usize, max: usize } => BAD_MODULE,
            "the modules declare {fields} fields, and a simulation has at most {max}";
        /// Two modules declare a parameter differently.
        ParameterDiffers { parameter: String, first: String, second: String } => BAD_MODULE,
            "the parameter \"{parameter}\" is declared differently by the modules \"{first}\" and \
             \"{second}\"; let them declare it alike, or give it another name in one of them";
        /// A parameter has a name that belongs to the driver.
        DriverParameter { module: String, parameter: String } => BAD_MODULE,
            "the module \"{module}\" declares the parameter \"{parameter}\", which is the driver's own; give \
             it another name";
        /// No module declares a field.
        UnknownField { function: String, field: String, known: String } => BAD_MODULE,
            "{function} names the field \"{field}\", which no module declares; there are {known}";
        /// A name in `before` or `after` belongs to no function or module.
        UnknownOrder { function: String, key: &'static str, name: String, why: String } => MODULE_ORDER,
            "{function} is to come {key} \"{name}\", and {why}";
        /// Each of these functions must come before the other.
        Cycle { bin: &'static str, cycle: String } => MODULE_ORDER,
            "in the bin {bin}, functions must each come before the other: {cycle}; give one of them a \
             \"before\" or an \"after\" that says which one comes first, or take one away";
        /// The order of these functions would change the result, and nothing gives the order.
        TwoWriters { bin: &'static str, field: String, first: String, second: String } => MODULE_ORDER,
            "in the bin {bin}, {first} and {second} both write the field \"{field}\", and nothing says which \
             comes first; give one of them a \"before\" or an \"after\"";
        /// A field is read before it is written.
        ReadBeforeWritten { function: String, field: String } => MODULE_ORDER,
            "{function} reads the field \"{field}\" before any function has written its interior; let a \
             function of the bin initial, or an earlier one, write it";
        /// Nothing fills the ghosts that a function reads.
        EdgesUnwritten { function: String, field: String } => MODULE_ORDER,
            "{function} reads the field \"{field}\" everywhere, and the ghosts beyond the grid's open edges \
             are not written before; let a function write its \"edges\", or make the edges periodic or \
             mirrored in the model";
        /// An argument of the driver program is wrong.
        Argument { argument: String } => BAD_ARGUMENT,
            "the driver of modules does not know the argument \"{argument}\"; it takes --plan, --json and \
             --poison";
        /// A parameter has no value.
        ParameterUnset { owner: String, parameter: String, instance: String } => BAD_PARAMETER,
            "the parameter \"{parameter}\" of {owner} has no value for {instance}; set \"{parameter}\" under \
             \"settings:\" in the model";
        /// A parameter has a value of another type.
        ParameterType { owner: String, parameter: String, kind: &'static str, instance: String, value: String }
            => BAD_PARAMETER,
            "the parameter \"{parameter}\" of {owner} is {value} for {instance}, and its type is {kind}; \
             change the setting in the model";
        /// A parameter is out of its range.
        ParameterRange { owner: String, parameter: String, value: String, range: String, instance: String }
            => BAD_PARAMETER,
            "the parameter \"{parameter}\" of {owner} is {value} for {instance}, and its range is {range}; \
             change the setting in the model";
        /// A function reported a failure.
        Failed { function: String, block: String, why: String } => MODULE_FAILED,
            "{function} failed in {block}: {why}";
        /// A function uses something that it does not declare.
        Undeclared { function: String, block: String, what: String } => UNDECLARED_ACCESS,
            "{function} in {block} {what}";
    }
}

impl From<ModuleError> for Error {
    fn from(error: ModuleError) -> Error {
        let kind = match error {
            ModuleError::ParameterUnset { .. } => ErrorKind::SettingUnset,
            ModuleError::ParameterType { .. } => ErrorKind::SettingType,
            _ => ErrorKind::Usage,
        };
        Error::other(kind, error)
    }
}
