//! What to measure.

use std::path::PathBuf;

/// A store to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    Memory,
    Sqlite,
    Postgres,
}

impl Which {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
        }
    }

    fn parse(name: &str) -> Result<Self, String> {
        let found =
            [Self::Memory, Self::Sqlite, Self::Postgres].into_iter().find(|which| which.name() == name);
        found.ok_or_else(|| format!("there is no store {name}: memory, sqlite, postgres"))
    }
}

#[derive(Debug)]
pub(crate) struct Args {
    pub(crate) stores: Vec<Which>,
    pub(crate) callers: Vec<usize>,
    pub(crate) waiting: Vec<usize>,
    pub(crate) seconds: u64,
    pub(crate) open: Option<PathBuf>,
}

impl Args {
    /// `--stores sqlite,postgres --callers 1,16,128,1024 --waiting 10000,1000000 --seconds 5`, which are the defaults.
    pub(crate) fn read() -> Result<Self, String> {
        let mut args = Self {
            stores: vec![Which::Sqlite, Which::Postgres],
            callers: vec![1, 16, 128, 1024],
            waiting: vec![10_000, 1_000_000],
            seconds: 5,
            open: None,
        };
        let mut given = std::env::args().skip(1);
        while let Some(flag) = given.next() {
            let value = given.next().ok_or_else(|| format!("{flag} needs a value"))?;
            let number = |text: &str| text.parse::<usize>().map_err(|_| format!("{text} is not a number"));
            match flag.as_str() {
                "--stores" => args.stores = value.split(',').map(Which::parse).collect::<Result<_, _>>()?,
                "--callers" => args.callers = value.split(',').map(number).collect::<Result<_, _>>()?,
                "--waiting" => args.waiting = value.split(',').map(number).collect::<Result<_, _>>()?,
                "--seconds" => args.seconds = number(&value)? as u64,
                "--open" => args.open = Some(value.into()),
                _ => return Err(format!("there is no {flag}: --stores, --callers, --waiting, --seconds")),
            }
        }
        Ok(args)
    }
}
