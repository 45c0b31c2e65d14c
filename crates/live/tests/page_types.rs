//! The types of the page in `dashboard/src/wire.ts` are the types that the server serialises. With
//! `LIGAMENT_WRITE_PAGES=1`, this test writes the file.

use ligament_manager::InstanceMoments;
use std::collections::HashSet;
use std::path::Path;
use syn::{Attribute, Expr, Fields, GenericArgument, Item, Lit, Meta, PathArguments, Type};

/// The sources below `crates/`, each with its types that the page uses.
const TYPES: [(&str, &[&str]); 13] = [
    ("model/src/settings.rs", &["SettingType"]),
    ("agent/src/memory.rs", &["MessageMemory"]),
    ("manager/src/steering/settings.rs", &["ReadingMoment", "SteerableRecord", "SettingAssignment"]),
    (
        "manager/src/record.rs",
        &[
            "RunState",
            "SteeringVerb",
            "ChangeState",
            "SteeringRecord",
            "SavedCheckpoint",
            "HaltRecord",
            "WaitRecord",
            "DomainRecord",
            "InstanceRecord",
            "ConduitRecord",
            "GridRecord",
            "UnreceivedRecord",
            "UnusedSettingRecord",
            "PortsByOperator",
            "WarningRecord",
            "RunRecord",
        ],
    ),
    ("manager/src/viewer_record.rs", &["RunNews", "OpenChange", "InstanceMoments"]),
    ("live/src/picture.rs", &["ViewState", "ViewNews"]),
    ("live/src/door.rs", &["Role"]),
    ("live/src/usage.rs", &["InstanceUsage"]),
    ("live/src/history.rs", &["HistoryEntry"]),
    ("ensemble/src/progress.rs", &["FailureRecord", "ProgressRecord"]),
    ("ensemble/src/journal.rs", &["AnswerEntry"]),
    ("live/src/study.rs", &["StudyView"]),
    ("live/src/surfaces.rs", &["SurfacePicture", "SurfaceAnswer"]),
];

const HEAD: &str = "\
// The types of the server's answers.
// Made from the sources: LIGAMENT_WRITE_PAGES=1 cargo test -p ligament-live --test page_types
";

/// The attributes of serde that change the JSON of a type or a field.
#[derive(Default)]
struct SerdeAttributes {
    rename: Option<String>,
    is_lowercase: bool,
    may_be_absent: bool,
    is_flat: bool,
}

impl SerdeAttributes {
    fn of(attributes: &[Attribute]) -> SerdeAttributes {
        let mut found = SerdeAttributes::default();
        for attribute in attributes.iter().filter(|one| one.path().is_ident("serde")) {
            let parsed = attribute.parse_nested_meta(|meta| {
                let key = meta.path.get_ident().map(ToString::to_string).unwrap_or_default();
                let value = match meta.value() {
                    Ok(value) => match value.parse()? {
                        Lit::Str(text) => text.value(),
                        _ => return Err(meta.error("a value that is no text")),
                    },
                    Err(_) => String::new(),
                };
                match key.as_str() {
                    "rename" => found.rename = Some(value),
                    "rename_all" if value == "lowercase" => found.is_lowercase = true,
                    "skip_serializing_if" => found.may_be_absent = true,
                    "flatten" => found.is_flat = true,
                    "default" => {}
                    _ => return Err(meta.error("this test does not know the attribute")),
                }
                Ok(())
            });
            parsed.unwrap();
        }
        found
    }
}

/// Returns the documentation as a comment of TypeScript.
fn documentation(attributes: &[Attribute], indent: &str) -> String {
    let lines = attributes.iter().filter_map(|attribute| match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
            Expr::Lit(literal) => match &literal.lit {
                Lit::Str(text) => Some(text.value().trim().to_owned()),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    });
    match lines.collect::<Vec<String>>().join(&format!("\n{indent} *  ")) {
        text if text.is_empty() => text,
        text => format!("{indent}/** {text} */\n"),
    }
}

/// The TypeScript types that were made from Rust types, and the names that these types use.
#[derive(Default)]
struct TypeWriter {
    text: String,
    used: HashSet<String>,
    written: HashSet<String>,
}

impl TypeWriter {
    fn type_of(&mut self, rust: &Type) -> String {
        let Type::Path(path) = rust else { panic!("this test does not know such a type of a field") };
        let last = path.path.segments.last().unwrap();
        let arguments: Vec<String> = match &last.arguments {
            PathArguments::AngleBracketed(list) => list.args.iter().map(|one| match one {
                GenericArgument::Type(rust) => self.type_of(rust),
                _ => panic!("this test does not know such an argument of a type"),
            }),
            _ => return self.plain(&last.ident.to_string()),
        }
        .collect();
        match (last.ident.to_string().as_str(), arguments.as_slice()) {
            ("Option", [inner]) => format!("{inner} | null"),
            ("Vec", [inner]) => format!("{inner}[]"),
            ("BTreeMap", [key, value]) => format!("Record<{key}, {value}>"),
            (name, _) => panic!("this test does not know {name}<…>"),
        }
    }

    fn plain(&mut self, name: &str) -> String {
        match name {
            "String" => "string",
            "bool" => "boolean",
            "u32" | "u64" | "i64" | "usize" | "f64" => "number",
            _ => {
                self.used.insert(name.to_owned());
                name
            }
        }
        .to_owned()
    }

    fn write(&mut self, item: &Item) {
        let (name, attributes, text) = match item {
            Item::Enum(item) => {
                let all = SerdeAttributes::of(&item.attrs);
                let name_of = |variant: &syn::Variant| {
                    assert!(matches!(variant.fields, Fields::Unit), "{} has fields", variant.ident);
                    let name = variant.ident.to_string();
                    let name = if all.is_lowercase { name.to_lowercase() } else { name };
                    SerdeAttributes::of(&variant.attrs).rename.unwrap_or(name)
                };
                let variants = item.variants.iter().map(|variant| format!("\n  | {:?}", name_of(variant)));
                let variants = variants.collect::<String>();
                (&item.ident, &item.attrs, format!("export type {} ={variants};\n", item.ident))
            }
            Item::Type(item) => {
                let text = format!("export type {} = {};\n", item.ident, self.type_of(&item.ty));
                (&item.ident, &item.attrs, text)
            }
            Item::Struct(item) => {
                let (mut fields, mut bases) = (String::new(), Vec::new());
                for field in &item.fields {
                    let serde = SerdeAttributes::of(&field.attrs);
                    let mut kind = self.type_of(&field.ty);
                    if serde.is_flat {
                        bases.push(kind);
                        continue;
                    }
                    let name = serde.rename.unwrap_or_else(|| field.ident.as_ref().unwrap().to_string());
                    let mark = if serde.may_be_absent { "?" } else { "" };
                    if serde.may_be_absent {
                        // A Rust `Option` that is left out of the JSON if it is `None` is never null.
                        kind = kind.strip_suffix(" | null").unwrap_or(&kind).to_owned();
                    }
                    fields += &documentation(&field.attrs, "  ");
                    fields += &format!("  {name}{mark}: {kind};\n");
                }
                let bases =
                    if bases.is_empty() { String::new() } else { format!(" extends {}", bases.join(", ")) };
                (&item.ident, &item.attrs, format!("export interface {}{bases} {{\n{fields}}}\n", item.ident))
            }
            _ => panic!("this test does not know such an item"),
        };
        self.text += &format!("\n{}{text}", documentation(attributes, ""));
        self.written.insert(name.to_string());
    }
}

fn name_of(item: &Item) -> Option<String> {
    match item {
        Item::Enum(item) => Some(item.ident.to_string()),
        Item::Struct(item) => Some(item.ident.to_string()),
        Item::Type(item) => Some(item.ident.to_string()),
        _ => None,
    }
}

fn types() -> String {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut writer = TypeWriter::default();
    for (source, names) in TYPES {
        let file = syn::parse_file(&std::fs::read_to_string(crates.join(source)).unwrap()).unwrap();
        for name in names {
            let item = file.items.iter().find(|item| name_of(item).as_deref() == Some(name));
            writer.write(item.unwrap_or_else(|| panic!("{source} has no {name}")));
        }
    }
    let missing: Vec<&String> = writer.used.difference(&writer.written).collect();
    assert!(missing.is_empty(), "types that are used and not in the list of this test: {missing:?}");
    let growing = InstanceMoments::GROWING.map(|name| format!("{name:?}")).join(" | ");
    format!(
        "{HEAD}{}
/** The news of an instance: its record, in which durations that grow are there only if it is over. */
export interface InstanceNews
  extends Omit<InstanceRecord, {growing}>,
    Partial<Pick<InstanceRecord, {growing}>>,
    InstanceMoments {{}}
",
        writer.text
    )
}

#[test]
fn the_page_has_the_types_that_the_server_serialises() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../dashboard/src/wire.ts");
    let types = types();
    if std::env::var_os("LIGAMENT_WRITE_PAGES").is_some() {
        std::fs::write(&path, &types).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    let way = "LIGAMENT_WRITE_PAGES=1 cargo test -p ligament-live --test page_types";
    assert!(found == types, "{} is not what the sources make: {way}", path.display());
}
