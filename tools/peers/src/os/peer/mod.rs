//! The other programs: one file each, one visible list. A file says which rows its program
//! measures, with which command line, how its output is read, and what it does differently.

use crate::parse::ParseError;
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};

mod core_to_core;
mod fio;
mod lmbench;
mod mbw;
mod netperf;
mod osbench;
mod perf_bench;
mod ping;
mod stress_ng;
mod sysbench;

/// Every peer, in the order of tables.
pub static ALL: &[&dyn Peer] = &[
    &lmbench::Lmbench,
    &perf_bench::PerfBench,
    &stress_ng::StressNg,
    &osbench::Osbench,
    &sysbench::Sysbench,
    &mbw::Mbw,
    &core_to_core::CoreToCore,
    &netperf::Netperf,
    &ping::Ping,
    &fio::Fio,
];

pub trait Peer: Sync {
    fn id(&self) -> &'static str;

    /// Where to get it.
    fn source(&self) -> &'static str;

    /// A file of the program; an error says why it is not here.
    fn program(&self, name: &str) -> Result<PathBuf, String> {
        crate::peer::on_path(&[name]).map(|mut paths| paths.remove(0))
    }

    fn version(&self) -> Result<String, String>;

    fn environment(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// What has to exist while a measure runs; removed when dropped.
    fn prepare(&self, measure: &Measure) -> Result<Option<Prop>> {
        let _ = measure;
        Ok(None)
    }

    fn measures(&self) -> &'static [Measure];
}

/// One command, and the rows that it measures.
pub struct Measure {
    /// Program and arguments, split at blanks; `{port}` is a free port, `{file}` a file of 64 MiB.
    pub command: &'static str,
    /// A server to start first; it must stay in the foreground and listen on `{port}`.
    pub server: Option<&'static str>,
    pub cpus: Cpus,
    /// Beside the peer's own.
    pub environment: &'static [(&'static str, &'static str)],
    /// `{file}` has to be in the page cache when the command starts, page by page.
    pub of_cached_file: bool,
    pub figures: &'static [Figure],
    /// What it does otherwise than we do, and which way that moves the figure: the page's
    /// explanation where both disagree.
    pub differs: &'static str,
}

/// A row of a measure's output, read in the row's base unit.
pub struct Figure {
    pub row: &'static str,
    pub read: fn(&str) -> Result<f64, ParseError>,
}

/// A command on one CPU without a server.
const fn one(command: &'static str, figures: &'static [Figure], differs: &'static str) -> Measure {
    Measure {
        command,
        server: None,
        cpus: Cpus::One,
        environment: &[],
        of_cached_file: false,
        figures,
        differs,
    }
}

const fn figure(row: &'static str, read: fn(&str) -> Result<f64, ParseError>) -> Figure {
    Figure { row, read }
}

/// The first line that a program prints about itself.
fn first_line(program: &Path, arguments: &[&str]) -> Result<String, String> {
    crate::peer::version(program, arguments)
}

/// Where a command may run; its children too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cpus {
    /// Everything on the CPU that ours uses.
    One,
    /// Two CPUs on different cores; a server gets the second for itself.
    Two,
}

/// A file that a program wants at a fixed place, and its folder if that was not there.
pub struct Prop {
    file: PathBuf,
    folder: Option<PathBuf>,
}

impl Prop {
    /// A copy of `from` at `to`; refused where something is in the way.
    pub fn copy(from: &Path, to: &str) -> Result<Prop> {
        use std::os::unix::fs::OpenOptionsExt;
        let file = PathBuf::from(to);
        let folder = file.parent().filter(|folder| std::fs::create_dir(folder).is_ok()).map(PathBuf::from);
        let mut prop = Prop { file: PathBuf::new(), folder };
        let mut options = std::fs::OpenOptions::new();
        let mut made =
            options.write(true).create_new(true).mode(0o700).open(&file).with_context(|| to.to_string())?;
        prop.file = file;
        std::io::copy(&mut std::fs::File::open(from)?, &mut made)?;
        Ok(prop)
    }
}

impl Drop for Prop {
    fn drop(&mut self) {
        // An empty name is a file that was not made: nothing goes then.
        let _ = std::fs::remove_file(&self.file);
        if let Some(folder) = &self.folder {
            let _ = std::fs::remove_dir(folder);
        }
    }
}
