//! Every statement finds its rows by an index. Statements that scan a whole table are listed here, with the reason.

mod postgres;
mod sqlite;

use std::collections::BTreeMap;
use std::path::Path;

/// The statements of a database by their names.
fn statements(database: &str) -> BTreeMap<String, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(database).join("sql");
    let files = std::fs::read_dir(folder).expect("the statements lie beside the code");
    let read = |file: std::io::Result<std::fs::DirEntry>| {
        let path = file.expect("a folder can be read").path();
        let name = path.file_stem().expect("a file has a name").to_string_lossy().into_owned();
        (name, std::fs::read_to_string(&path).expect("a statement is text"))
    };
    files.map(read).collect()
}

/// The beginning of a listing by immutable columns in `list.rs`.
macro_rules! concat_jobs {
    ($tail:literal) => {
        concat!(" from jobs j cross join job_states s where s.id = j.id", $tail)
    };
}

/// The beginning of a listing by current state in `list.rs`.
macro_rules! concat_states {
    ($tail:literal) => {
        concat!(" from job_states s cross join jobs j where j.id = s.id", $tail)
    };
}

/// Filters of a listing that have an index, as `list.rs` writes them; `?` stands for a placeholder.
const FILTERED: [(&str, &str); 7] = [
    ("list by user", concat_jobs!(" and j.user_id = ? order by j.id desc limit ?")),
    ("list by correlation", concat_jobs!(" and j.correlation_id = ? order by j.id desc limit ?")),
    (
        "list by correlation or id",
        concat_jobs!(
            " and (j.correlation_id = ? or (j.id = ? and j.correlation_id is null)) order by j.id desc limit ?"
        ),
    ),
    (
        "list by state as far as a place",
        concat_states!(" and s.state = ? and s.id >= ? and s.id < ? order by s.id desc limit ?"),
    ),
    (
        "list by type as far as a place",
        concat_jobs!(" and j.type = ? and j.id >= ? and j.id < ? order by j.id desc limit ?"),
    ),
    (
        "list what is not over",
        concat_states!(" and s.completed_at is null and s.phase = ? and s.id < ? order by s.id desc limit ?"),
    ),
    ("list by retry", concat_jobs!(" and j.retry_of = ? order by j.id desc limit ?")),
];

/// Filters of a listing of dead letters: dead letters and jobs are always read by their keys.
const OF_DEAD_LETTERS: [(&str, &str); 2] = [
    ("dead letters from a place", " and d.dismissed = ? and d.job_id < ? order by d.job_id desc limit ?"),
    (
        "dead letters by user",
        " and d.dismissed = ? and j.user_id = ? and d.job_id < ? order by d.job_id desc limit ?",
    ),
];

/// The statements, including the listings.
fn with_listings(database: &str, placeholder: fn(usize) -> String) -> BTreeMap<String, String> {
    let mut all = statements(database);
    let mut listing = |name: &str| all.remove(name).expect("there is a listing");
    let (jobs, dead_letters) = (listing("list"), listing("dead_letters"));
    let mut tails = FILTERED.map(|(name, tail)| (name, &jobs, tail)).to_vec();
    tails.push(("list from a place", &jobs, concat_jobs!(" and j.id < ? order by j.id desc limit ?")));
    tails.extend(OF_DEAD_LETTERS.map(|(name, tail)| (name, &dead_letters, tail)));
    for (name, head, tail) in tails {
        let mut numbered = String::new();
        for (place, part) in tail.split('?').enumerate() {
            if place > 0 {
                numbered.push_str(&placeholder(place));
            }
            numbered.push_str(part);
        }
        all.insert(name.to_owned(), format!("{}{numbered}", head.trim_end()));
    }
    all
}
