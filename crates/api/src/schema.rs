//! Schemas of wire types as constants, and the macros that declare a type together with its schema.
//!
//! Each field is written once: Rust name, wire name, Rust type, schema and description stand on one line. The generator
//! of `openapi.json` turns the constants into JSON Schema; nothing of them is left in a binary.

/// The schema of a value.
#[derive(Clone, Copy, Debug)]
pub enum Schema {
    /// Any JSON value.
    Any,
    /// A string.
    Text,
    /// `true` or `false`.
    Bool,
    /// `true`; present only then.
    True,
    /// A whole number from a minimum on.
    Integer(i64),
    /// A whole number without bounds.
    AnyInteger,
    /// A number from zero on.
    Number,
    /// A schema as JSON text.
    Json(&'static str),
    /// A schema of `components`, by name.
    Ref(&'static str),
    /// A type of this crate.
    Object(&'static Object),
    /// The fields of another type, in this one.
    Flatten(&'static Object),
    /// A list.
    List(&'static Self),
    /// A list with a greatest length.
    ListUpTo(usize, &'static Self),
    /// An object whose members all have this schema.
    Map(&'static Self),
    /// This or `null`. The field is always there.
    Nullable(&'static Self),
    /// This or `null`. The field may be left out.
    Maybe(&'static Self),
    /// The field may be left out, but is never `null`.
    Optional(&'static Self),
    /// Like [`Schema::Maybe`], with the value that stands for a missing one, as JSON text. The description names it in words:
    /// with the keyword `default`, generators require the field.
    Default(&'static str, &'static Self),
    /// A field that only the named variants of the type have.
    Extra(&'static Self),
    /// At least one of these.
    AnyOf(&'static [Self]),
    /// A page of a list: the rows stand under this name, beside `next_cursor`.
    Page(&'static str, &'static Self, NextCursor),
}

/// What `next_cursor` of a page can be.
#[derive(Clone, Copy, Debug)]
pub enum NextCursor {
    /// Always `null`: everything is on one page.
    Null,
    /// `null` at the end.
    Nullable,
    /// The id of a row, or `null` at the end.
    NullableId,
    /// Always there: the list has no end.
    Always,
}

/// The schema of a struct.
#[derive(Clone, Copy, Debug)]
pub struct Object {
    /// Its name in `components`.
    pub name: &'static str,
    pub about: &'static str,
    pub fields: &'static [Field],
    /// Further keywords, as a JSON object; may be empty.
    pub rules: &'static str,
    /// Whether callers send it: then unknown fields are refused. Answers may gain fields.
    pub is_request: bool,
}

/// A field of a struct.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// On the wire.
    pub name: &'static str,
    pub about: &'static str,
    pub schema: Schema,
}

/// A type with a schema.
pub trait Described {
    /// Its schema.
    const OBJECT: Object;
}

/// The schema of a type.
pub(crate) const fn of<T: Described>() -> Schema {
    Schema::Object(&T::OBJECT)
}

macro_rules! wire_name {
    ($field:ident) => {
        stringify!($field)
    };
    ($field:ident $wire:literal) => {
        $wire
    };
}

macro_rules! described {
    ($Name:ident $(<$F:ident>)?, $wire:expr, $is_request:literal, $rules:expr, [$($about:literal)*], [$($field:ident $($fwire:literal)? [$($doc:literal)*] $schema:expr;)*]) => {
        impl $(<$F: crate::Form>)? crate::schema::Described for $Name $(<$F>)? {
            const OBJECT: crate::schema::Object = crate::schema::Object {
                name: $wire,
                about: concat!("", $($about),*),
                rules: $rules,
                is_request: $is_request,
                fields: &[$(crate::schema::Field {
                    name: wire_name!($field $($fwire)?),
                    about: concat!("", $($doc),*),
                    schema: $schema,
                }),*],
            };
        }
    };
}

/// Declares types of answers. Readers ignore unknown fields, and a missing field is empty, so that a client and a server
/// of different versions understand each other. `<F>` is the form of the values; the name after `=` has owned ones.
macro_rules! answers {
    ($(
        $(#[doc = $about:literal])*
        pub struct $Name:ident $(<$F:ident> = $Owned:ident)? $(as $wire:literal)? {
            $(
                $(#[doc = $doc:literal])*
                $(#[serde($($serde:tt)*)])?
                $field:ident $(as $fwire:literal)? : $ty:ty = $schema:expr
            ),* $(,)?
        }
    )*) => {$(
        $(
            /// As a client reads it.
            pub type $Owned = $Name<crate::Owned>;
        )?
        $(#[doc = $about])*
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[serde(default)]
        $(
            #[doc = concat!("\n\nAs a client reads it: [`", stringify!($Owned), "`].")]
            #[serde(bound(serialize = "F: crate::Form", deserialize = "F: crate::form::Read"))]
        )?
        pub struct $Name $(<$F: crate::Form = crate::Owned>)? {
            $(
                $(#[doc = $doc])*
                $(#[serde($($serde)*)])?
                $(#[serde(rename = $fwire)])?
                pub $field: $ty,
            )*
        }
        described!($Name $(<$F>)?, wire_name!($Name $($wire)?), false, "", [$($about)*], [$($field $($fwire)? [$($doc)*] $schema;)*]);
    )*};
}

/// Declares types of requests. Unknown fields are refused; fields that are `None` are not sent.
macro_rules! requests {
    ($(
        $(#[doc = $about:literal])*
        pub struct $Name:ident $(as $wire:literal)? $(where $rules:literal)? {
            $(
                $(#[doc = $doc:literal])*
                $(#[serde($($serde:tt)*)])?
                $field:ident $(as $fwire:literal)? : $ty:ty = $schema:expr
            ),* $(,)?
        }
    )*) => {$(
        $(#[doc = $about])*
        #[derive(Clone, Debug, Default, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $Name {
            $(
                $(#[doc = $doc])*
                $(#[serde($($serde)*)])?
                $(#[serde(rename = $fwire)])?
                #[serde(skip_serializing_if = "crate::strict::MaybeAbsent::is_absent")]
                pub $field: $ty,
            )*
        }
        impl crate::strict::MaybeAbsent for $Name {}
        described!($Name, wire_name!($Name $($wire)?), true, concat!("", $($rules)?), [$($about)*], [$($field $($fwire)? [$($doc)*] $schema;)*]);
    )*};
}

/// Declares enums of words: in snake case on the wire, with the list of them as their schema.
macro_rules! words {
    ($(
        $(#[doc = $about:literal])*
        pub enum $Name:ident { $($(#[doc = $doc:literal])* $Word:ident = $word:literal),+ $(,)? }
    )*) => {$(
        $(#[doc = $about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        pub enum $Name { $($(#[doc = $doc])* #[serde(rename = $word)] $Word),+ }
        impl $Name {
            /// Every one, in order.
            pub const ALL: &'static [Self] = &[$(Self::$Word),+];
            /// On the wire.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$Word => $word),+ }
            }
        }
    )*};
}
