//! Scenarios by topic: scripts in text files. The title of a script is a sentence, and the name of its test.

use crate::script;

/// Declares a test for each script of a file, in the order of the file.
macro_rules! scenarios {
    ($file:expr; $(fn $name:ident();)+) => {
        const FILE: &str = $file;

        $(
            #[test]
            fn $name() {
                super::check(FILE, stringify!($name));
            }
        )+

        #[test]
        fn each_script_of_the_file_is_a_test() {
            let names: Vec<String> = super::scripts(FILE).map(|(name, _)| name).collect();
            assert_eq!(names, [$(stringify!($name)),+]);
        }
    };
}

mod approvals;
mod assets;
mod attempts;
mod batches;
mod callers;
mod cancels;
mod claims;
mod clocks;
mod creations;
mod flow;
mod leases;
mod operations;
mod progress;
mod resources;
mod restores;
mod retries;
mod schedules;
mod versions;
mod what_if;

/// The scripts of a file, each with the name of its test.
fn scripts(file: &str) -> impl Iterator<Item = (String, &str)> {
    let scripts = file.split("scenario ").skip(1);
    scripts.filter_map(|text| text.split_once('\n')).map(|(title, script)| (title.replace(' ', "_"), script))
}

fn check(file: &str, name: &str) {
    let (_, script) = scripts(file).find(|(each, _)| each == name).expect("the file has the script");
    script::check(script);
}
