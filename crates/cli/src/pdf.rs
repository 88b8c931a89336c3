//! A page as PDF, by a program that is kept up to date elsewhere: a browser without a window, or WeasyPrint.
//!
//! The page loads nothing and runs no script. What is printed to is a directory of our own beside it, because browsers in
//! a sandbox of their own (snap) read and write below the user's home only.

use crate::output::complain;
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use syscost_host::cleaner::OwnedDirectory;
use syscost_sys::sleep::sleep;
use syscost_sys::{process, program};

const BROWSERS: [&str; 5] =
    ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"];
const WEASYPRINT: &str = "weasyprint";
const PATIENCE: Duration = Duration::from_secs(120);
const NAME: &str = "page.pdf";

/// The PDF of this page.
pub fn of_page(beside: &Path, page: &Path) -> Result<Vec<u8>> {
    let kept = format!("the page is {}; any browser prints it", page.display());
    let page = page.canonicalize().context("the page is gone")?;
    let folder = OwnedDirectory::create(beside).context("no directory to print to (--out DIR)")?;
    let out = folder.path().canonicalize().context("the directory to print to is gone")?.join(NAME);
    let Some(mut command) = browser(&page, &out).or_else(|| weasyprint(&page, &out)) else {
        bail!(
            "nothing here makes a PDF: no chromium, Chrome or WeasyPrint (apt-get install chromium, or pip install weasyprint); {kept}"
        );
    };
    let program = command.get_program().to_string_lossy().into_owned();
    process::die_with_parent_on_exec(&mut command);
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .with_context(|| format!("{program} cannot be started; {kept}"))?;
    let start = Instant::now();
    let status = loop {
        match child.try_wait()? {
            Some(status) => break status,
            None if start.elapsed() < PATIENCE => sleep(Duration::from_millis(20)),
            None => {
                let _ = child.kill().and_then(|()| child.wait());
                bail!("{program} made no PDF within {} s; {kept}", PATIENCE.as_secs());
            }
        }
    };
    match fs::read(&out) {
        Ok(content) if content.starts_with(b"%PDF-") => Ok(content),
        _ => bail!("{program} made no PDF ({status}); {kept}"),
    }
}

fn browser(page: &Path, out: &Path) -> Option<Command> {
    let mut command = Command::new(BROWSERS.iter().find_map(|name| program::named(name, &[]))?);
    command.args([
        "--headless",
        "--disable-gpu",
        "--no-first-run",
        "--disable-sync",
        "--disable-background-networking",
    ]);
    command.args(["--disable-component-update", "--no-pdf-header-footer"]);
    if rustix::process::geteuid().is_root() {
        complain(
            "note: the browser runs without its sandbox, because it has none for root. The page loads nothing and runs no script.",
        );
        command.arg("--no-sandbox");
    }
    command.arg(format!("--user-data-dir={}", out.with_file_name("profile").display()));
    command.arg(format!("--print-to-pdf={}", out.display()));
    command.arg(format!("file://{}", address(page)));
    Some(command)
}

fn weasyprint(page: &Path, out: &Path) -> Option<Command> {
    let mut command = Command::new(program::named(WEASYPRINT, &[])?);
    command.args([page, out]);
    Some(command)
}

/// Of a path: what has a meaning in an address is written out.
fn address(path: &Path) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/-_.~".contains(byte);
    let bytes = path.as_os_str().as_encoded_bytes();
    bytes
        .iter()
        .map(|byte| if plain(byte) { char::from(*byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}
