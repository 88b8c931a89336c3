//! `new`: a folder with code of the user's own that compiles, or the header alone.

use crate::new_args::{CodeLanguage, NewArgs, NewKind};
use crate::output;
use crate::own_code::is_plain;
use anyhow::{Result, bail, ensure};
use std::path::Path;
use syscost_experiment::run::directory::OpenDirectory;
use syscost_sys::own_object::HEADER;

/// A file of the folder: its name and text, in which words in capitals stand for what is asked for.
type Template = (&'static str, &'static str);

const README: Template = ("README.md", include_str!("new/README.md"));
const C: [[Template; 2]; 2] = [
    [("NAME.c", include_str!("new/operation.c")), ("Makefile", include_str!("new/Makefile"))],
    [("NAME.c", include_str!("new/mechanism.c")), ("Makefile", include_str!("new/Makefile"))],
];
const RUST: [[Template; 2]; 2] = [
    [("src/lib.rs", include_str!("new/operation.rs.txt")), ("Cargo.toml", include_str!("new/Cargo.toml"))],
    [("src/lib.rs", include_str!("new/mechanism.rs.txt")), ("Cargo.toml", include_str!("new/Cargo.toml"))],
];

pub fn run(args: &NewArgs) -> Result<()> {
    if args.kind == NewKind::Header {
        return output::print(HEADER);
    }
    let Some(name) = &args.name else {
        bail!("name what is new: syscost new {} my_{}", word(args.kind), word(args.kind))
    };
    ensure!(
        is_plain(name),
        "the name {name:?} needs a lower-case letter, then letters, digits and _ (at most 40)"
    );
    let folder = Path::new(name);
    ensure!(!folder.exists(), "{name} is there already: what is new needs a folder of its own");
    let sends = usize::from(args.kind == NewKind::Mechanism);
    let files = if args.lang == CodeLanguage::C { C[sends] } else { RUST[sends] };
    for (file, text) in files.into_iter().chain([README]) {
        write(folder, &file.replace("NAME", name), &filled(text, args, name))?;
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

fn word(kind: NewKind) -> &'static str {
    if kind == NewKind::Mechanism { "mechanism" } else { "operation" }
}

/// How it is compiled, in its folder.
fn build(language: CodeLanguage) -> &'static str {
    if language == CodeLanguage::C { "make" } else { "cargo build --release" }
}

fn filled(text: &str, args: &NewArgs, name: &str) -> String {
    let sends = args.kind == NewKind::Mechanism;
    let object = match args.lang {
        CodeLanguage::C => format!("./{name}.so"),
        CodeLanguage::Rust => format!("./target/release/lib{name}.so"),
    };
    text.replace("NAME", name)
        .replace("KIND", word(args.kind))
        .replace("LANGUAGE", if args.lang == CodeLanguage::C { "C" } else { "Rust" })
        .replace("BUILD", build(args.lang))
        .replace("OBJECT", &object)
        .replace(" PATH_LOOPBACK", if sends { " --path loopback" } else { "" })
        .replace("RIVALS", if sends { ",send,sendmsg" } else { "" })
}
