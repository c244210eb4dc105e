//! The worker of the `distributed` example: indexes the words of a folder's files, and removes the index of a job that
//! did not succeed. `TENURE_URL` is the server's address, `TENURE_KEY` the worker's key.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tenure_client::{Client, Fail, Job, Stage, Stop, Worker};

/// Delay between two scans of a job that follows its folder.
const PAUSE: Duration = Duration::from_millis(500);

/// The payload of an `index` job.
#[derive(Deserialize)]
struct IndexRequest {
    folder: PathBuf,
    /// The file to write.
    into: PathBuf,
    /// Whether to index files that are added later, until the job is cancelled.
    #[serde(default)]
    follow: bool,
}

/// The index so far; also the content of a checkpoint.
#[derive(Default, Deserialize, Serialize)]
struct Index {
    files: BTreeSet<String>,
    words: BTreeMap<String, BTreeSet<String>>,
}

#[tokio::main]
async fn main() -> tenure_client::Result<()> {
    let worker = Worker::new(Client::from_env()?).on("index", index).on("unindex", unindex);
    // Limits the wait after a SIGTERM: a job that follows its folder does not finish.
    worker.drain(PAUSE).run().await
}

async fn index(job: Job<IndexRequest>) -> Result<Value, Fail> {
    let request = &job.payload;
    // An earlier attempt may have left a checkpoint.
    let mut index: Index =
        job.checkpoint.clone().and_then(|seen| serde_json::from_value(seen).ok()).unwrap_or_default();
    loop {
        // A missing folder may be mounted later: worth another attempt.
        let away = |why| Fail::transient("FOLDER_AWAY", why).stage(Stage::Fetch);
        for file in new_files(&request.folder, &index).map_err(away)? {
            job.log(format!("reading {file}"));
            index.add(&file, &fs::read_to_string(request.folder.join(&file))?);
        }
        write(&request.into, job.fence, &index)?;
        job.progress(50, format!("{} files", index.files.len()));
        if !request.follow {
            return Ok(json!({ "files": index.files.len(), "words": index.words.len() }));
        }
        tokio::select! {
            stop = job.stopped() => return Err(stopped(stop, &index)),
            () = tokio::time::sleep(PAUSE) => {}
        }
    }
}

/// Runs after an `index` job that did not succeed; the payload contains that job.
async fn unindex(job: Job<Value>) -> Result<(), Fail> {
    let request = IndexRequest::deserialize(&job.payload["job"]["payload"])
        .map_err(|why| Fail::permanent("BAD_PAYLOAD", why))?;
    match fs::remove_file(&request.into) {
        // Already removed: a handler can run twice, so its effects must be repeatable.
        Err(why) if why.kind() != io::ErrorKind::NotFound => Err(why.into()),
        _ => Ok(()),
    }
}

/// A soft cancel ends the job; a shutdown releases it. Both keep the progress in a checkpoint.
fn stopped(stop: Stop, index: &Index) -> Fail {
    if stop == Stop::SoftCancel {
        Fail::cancelled().checkpoint(index)
    } else {
        Fail::release().checkpoint(index)
    }
}

/// The files of a folder that are not in the index yet.
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

/// Replaces the index atomically. The fence in the name keeps the drafts of two workers apart.
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
