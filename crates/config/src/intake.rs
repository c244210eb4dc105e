//! Reads `[[intake]]`: databases of applications from which requests are taken.

use toml::de::DeValue;

use crate::DatabaseUrl;
use crate::flaw::{Site, ValueError};
use crate::layers::Layers;
use crate::reader::{TableShape, Value};
use crate::value;

pub(crate) const INTAKE: &str = "intake";

const SHAPE: TableShape<'_> = TableShape { place: "[[intake]]", keys: &["database_url", "schema"] };

/// The database of an application, with the schema that `tenure intake install` has created there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IntakeConfig {
    pub database_url: DatabaseUrl,
    pub schema: String,
}

pub(crate) fn load(layers: &mut Layers<'_>, intake: Option<&Value<'_>>) -> Vec<IntakeConfig> {
    let (Some(intake), Some(mut reader)) = (intake, layers.reader()) else { return Vec::new() };
    let DeValue::Array(tables) = intake.get_ref() else {
        let error = value::wrong_type(intake, INTAKE, "a list of tables", "write [[intake]]");
        reader.add_flaw(intake.span(), error);
        return Vec::new();
    };
    let mut found = Vec::new();
    for table in tables {
        let Some(entries) = reader.table(table, INTAKE) else { continue };
        let entries = reader.open(entries, table.span(), &SHAPE);
        if entries.get("database_url").is_none() {
            let error = ValueError::new("`database_url` is missing in [[intake]]", "name the database");
            reader.add_flaw(table.span(), error);
        }
        let url = reader
            .get(&entries, "database_url", |input| value::url(input, &["postgres://", "postgresql://"]));
        let schema = reader.get(&entries, "schema", value::text).unwrap_or_else(|| "tenure".to_owned());
        found.extend(
            url.map(|url| (IntakeConfig { database_url: DatabaseUrl::new(url), schema }, table.span())),
        );
    }
    for (number, (one, at)) in found.iter().enumerate() {
        let name = format!("{INTAKE}.{}.database_url", number + 1);
        layers.record(&name, &one.database_url.to_string(), Some(&Site::File(at.clone())));
    }
    found.into_iter().map(|(one, _)| one).collect()
}
