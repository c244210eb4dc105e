//! A worker of the `distributed` example: indexes the words of a folder's files, and removes an index again when its
//! job came to nothing. `TENURE_URL` and `TENURE_KEY` say where and as whom.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tenure_client::{Client, Fail, Job, Stage, Stop, Worker};

/// How long a job that follows its folder waits before it looks again.
const PAUSE: Duration = Duration::from_millis(500);

/// What an `index` job is about.
#[derive(Deserialize)]
struct Order {
    folder: PathBuf,
    /// The file to write.
    into: PathBuf,
    /// Whether to go on with files that come later, until the job is cancelled.
    #[serde(default)]
    follow: bool,
}

/// What is indexed so far, and what a checkpoint keeps.
#[derive(Default, Deserialize, Serialize)]
struct Index {
    files: BTreeSet<String>,
    words: BTreeMap<String, BTreeSet<String>>,
}

#[tokio::main]
async fn main() -> tenure_client::Result<()> {
    let worker = Worker::new(Client::from_env()?).on("index", index).on("unindex", unindex);
    // After a SIGTERM: a job that follows its folder would never finish by itself.
    worker.drain(PAUSE).run().await
}

async fn index(job: Job<Order>) -> Result<Value, Fail> {
    let order = &job.payload;
    // Another worker may have come this far before it was shut down.
    let mut index: Index =
        job.checkpoint.clone().and_then(|seen| serde_json::from_value(seen).ok()).unwrap_or_default();
    loop {
        // A folder that is not there may be mounted later: worth another attempt.
        let away = |why| Fail::transient("FOLDER_AWAY", why).stage(Stage::Fetch);
        for file in new_files(&order.folder, &index).map_err(away)? {
            job.log(format!("reading {file}"));
            index.add(&file, &fs::read_to_string(order.folder.join(&file))?);
        }
        write(&order.into, job.fence, &index)?;
        job.progress(50, format!("{} files", index.files.len()));
        if !order.follow {
            return Ok(json!({ "files": index.files.len(), "words": index.words.len() }));
        }
        tokio::select! {
            stop = job.stopped() => return Err(stopped(stop, &index)),
            () = tokio::time::sleep(PAUSE) => {}
        }
    }
}

/// Runs after an `index` job that ended badly, with all that is known about it.
async fn unindex(job: Job<Value>) -> Result<(), Fail> {
    let order =
        Order::deserialize(&job.payload["job"]["payload"]).map_err(|why| Fail::permanent("NO_ORDER", why))?;
    match fs::remove_file(&order.into) {
        // It may be gone already: a handler can run twice, so its effects have to be repeatable.
        Err(why) if why.kind() != io::ErrorKind::NotFound => Err(why.into()),
        _ => Ok(()),
    }
}

/// A soft cancel ends the job; a shutdown gives it back. Either way what was done is not lost.
fn stopped(stop: Stop, index: &Index) -> Fail {
    if stop == Stop::SoftCancel {
        Fail::cancelled().checkpoint(index)
    } else {
        Fail::release().checkpoint(index)
    }
}

/// The text files of a folder that the index does not have yet.
fn new_files(folder: &Path, index: &Index) -> io::Result<Vec<String>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        files.extend(name.filter(|name| path.is_file() && !index.files.contains(name)));
    }
    files.sort();
    Ok(files)
}

/// Puts the index in place in one step. The fence keeps the halves of two workers apart.
fn write(into: &Path, fence: u64, index: &Index) -> io::Result<()> {
    let draft = into.with_extension(format!("{fence}.draft"));
    fs::write(&draft, serde_json::to_vec_pretty(&index.words)?)?;
    fs::rename(draft, into)
}

impl Index {
    fn add(&mut self, file: &str, text: &str) {
        for word in text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| word.len() > 3) {
            self.words.entry(word.to_lowercase()).or_default().insert(file.to_owned());
        }
        self.files.insert(file.to_owned());
    }
}
