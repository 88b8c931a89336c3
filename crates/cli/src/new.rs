//! `new`: a folder with code of the user's own that compiles, or the header alone.

use crate::new_args::{CodeLanguage, NewArgs, NewKind};
use crate::output;
use crate::own_code::is_plain;
use anyhow::{Result, bail, ensure};
use std::path::Path;
use syscost_experiment::run::directory::OpenDirectory;
use syscost_measure::own::OwnKind;
use syscost_sys::own_object::HEADER;

/// A file of the folder: its name and text, in which words in capitals stand for what is asked for.
type Template = (&'static str, &'static str);

const README: Template = ("README.md", include_str!("new/README.md"));
const MAKEFILE: Template = ("Makefile", include_str!("new/Makefile"));
const MANIFEST: Template = ("Cargo.toml", include_str!("new/manifest.toml"));

/// The code alone, in C and in Rust.
fn sources(kind: OwnKind) -> [&'static str; 2] {
    match kind {
        OwnKind::Operation => [include_str!("new/operation.c"), include_str!("new/operation.rs.txt")],
        OwnKind::Mechanism => [include_str!("new/mechanism.c"), include_str!("new/mechanism.rs.txt")],
        OwnKind::Receiver => [include_str!("new/receiver.c"), include_str!("new/receiver.rs.txt")],
    }
}

/// `None`: the header alone.
fn kind(asked: NewKind) -> Option<OwnKind> {
    match asked {
        NewKind::Operation => Some(OwnKind::Operation),
        NewKind::Mechanism => Some(OwnKind::Mechanism),
        NewKind::Receiver => Some(OwnKind::Receiver),
        NewKind::Header => None,
    }
}

pub fn run(args: &NewArgs) -> Result<()> {
    let Some(kind) = kind(args.kind) else { return output::print(HEADER) };
    let Some(name) = &args.name else {
        bail!("name what is new: syscost new {} my_{}", kind.word(), kind.word())
    };
    ensure!(
        is_plain(name),
        "the name {name:?} needs a lower-case letter, then letters, digits and _ (at most 40)"
    );
    let folder = Path::new(name);
    ensure!(!folder.exists(), "{name} is there already: what is new needs a folder of its own");
    let [c, rust] = sources(kind);
    let files = match args.lang {
        CodeLanguage::C => [("NAME.c", c), MAKEFILE, README],
        CodeLanguage::Rust => [("src/lib.rs", rust), MANIFEST, README],
    };
    for (file, text) in files {
        write(folder, &file.replace("NAME", name), &filled(text, kind, args.lang, name))?;
    }
    if args.lang == CodeLanguage::C {
        write(folder, "syscost.h", HEADER)?;
    }
    output::print(&format!("cd {name} && {}      # README.md says what comes next\n", build(args.lang)))
}

fn write(folder: &Path, file: &str, text: &str) -> Result<()> {
    let path = folder.join(file);
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return Ok(()) };
    OpenDirectory::make(folder)?.replace(&name.to_string_lossy(), text.as_bytes())?;
    Ok(())
}

/// How it is compiled, in its folder.
fn build(language: CodeLanguage) -> &'static str {
    if language == CodeLanguage::C { "make" } else { "cargo build --release" }
}

fn filled(text: &str, kind: OwnKind, language: CodeLanguage, name: &str) -> String {
    let object = match language {
        CodeLanguage::C => format!("./{name}.so"),
        CodeLanguage::Rust => format!("./target/release/lib{name}.so"),
    };
    let rivals = match kind {
        OwnKind::Operation => "",
        OwnKind::Mechanism => ",send,sendmsg",
        OwnKind::Receiver => ",recv --mechanism send",
    };
    text.replace("NAME", name)
        .replace("KIND", kind.word())
        .replace("LANGUAGE", if language == CodeLanguage::C { "C" } else { "Rust" })
        .replace("BUILD", build(language))
        .replace("OBJECT", &object)
        .replace(" PATH_LOOPBACK", if kind == OwnKind::Operation { "" } else { " --path loopback" })
        .replace("RIVALS", rivals)
}
