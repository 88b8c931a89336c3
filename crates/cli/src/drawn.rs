//! A page as PDF and a plot as PNG, by programs that are kept up to date elsewhere: a browser without a window, WeasyPrint,
//! librsvg.
//!
//! What is drawn loads nothing and runs no script. What is drawn to is a directory of our own beside it, because browsers in
//! a sandbox of their own (snap) read and write below the user's home only.

use crate::output::complain;
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Once;
use std::time::{Duration, Instant};
use syscost_host::cleaner::OwnedDirectory;
use syscost_sys::sleep::sleep;
use syscost_sys::{process, program};

const BROWSERS: [&str; 5] =
    ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"];
const WEASYPRINT: &str = "weasyprint";
static NOTED: Once = Once::new();
const PATIENCE: Duration = Duration::from_secs(120);
const RSVG: &str = "rsvg-convert";
/// Pixels of a picture for each of its drawing.
const ZOOM: u32 = 2;

/// A file that another program is to make.
struct DrawnFile {
    name: &'static str,
    /// How its files begin.
    magic: &'static [u8],
    nothing: &'static str,
    /// The way out where nothing can be made.
    kept: String,
}

/// The PDF of this page.
pub fn pdf(beside: &Path, page: &Path) -> Result<Vec<u8>> {
    let kept = format!("the page is {}; any browser prints it", page.display());
    let nothing = "nothing here makes a PDF: no chromium, Chrome or WeasyPrint (apt-get install chromium, or pip install weasyprint)";
    let drawing = DrawnFile { name: "page.pdf", magic: b"%PDF-", nothing, kept };
    drawing
        .made(beside, page, |page, out| browser(page, out, "print-to-pdf").or_else(|| weasyprint(page, out)))
}

/// The PNG of this SVG file.
pub fn png(beside: &Path, svg: &Path) -> Result<Vec<u8>> {
    let nothing =
        "nothing here makes a PNG: no rsvg-convert, chromium or Chrome (apt-get install librsvg2-bin)";
    let kept = format!("{} is whole", svg.display());
    let drawing = DrawnFile { name: "plot.png", magic: b"\x89PNG", nothing, kept };
    drawing.made(beside, svg, |svg, out| rsvg(svg, out).or_else(|| screenshot(svg, out)))
}

impl DrawnFile {
    fn made(
        &self,
        beside: &Path,
        source: &Path,
        program: impl FnOnce(&Path, &Path) -> Option<Command>,
    ) -> Result<Vec<u8>> {
        let DrawnFile { name, magic, nothing, kept } = self;
        let kind = name.rsplit('.').next().unwrap_or_default().to_uppercase();
        let source = source.canonicalize().context("what is to be drawn is gone")?;
        let folder = OwnedDirectory::create(beside).context("no directory to draw to (--out DIR)")?;
        let out = folder.path().canonicalize().context("the directory to draw to is gone")?.join(name);
        let Some(mut command) = program(&source, &out) else { bail!("{nothing}; {kept}") };
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
                    bail!("{program} made no {kind} within {} s; {kept}", PATIENCE.as_secs());
                }
            }
        };
        match fs::read(&out) {
            Ok(content) if content.starts_with(magic) => Ok(content),
            _ => bail!("{program} made no {kind} ({status}); {kept}"),
        }
    }
}

fn browser(source: &Path, out: &Path, option: &str) -> Option<Command> {
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
        NOTED.call_once(|| {
            complain(
                "note: the browser runs without its sandbox, because it has none for root. What it draws loads nothing and runs no script.",
            );
        });
        command.arg("--no-sandbox");
    }
    command.arg(format!("--user-data-dir={}", out.with_file_name("profile").display()));
    command.arg(format!("--{option}={}", out.display()));
    command.arg(format!("file://{}", address(source)));
    Some(command)
}

fn weasyprint(page: &Path, out: &Path) -> Option<Command> {
    let mut command = Command::new(program::named(WEASYPRINT, &[])?);
    command.args([page, out]);
    Some(command)
}

fn rsvg(svg: &Path, out: &Path) -> Option<Command> {
    let mut command = Command::new(program::named(RSVG, &[])?);
    command.arg(format!("--zoom={ZOOM}")).arg("--output").args([out, svg]);
    Some(command)
}

/// A browser's window has to be as large as the drawing.
fn screenshot(svg: &Path, out: &Path) -> Option<Command> {
    let text = fs::read_to_string(svg).ok()?;
    let size = |name: &str| {
        let (_, rest) = text.split_once(&format!(" {name}=\""))?;
        rest.split('"').next()?.parse::<f64>().ok()
    };
    let (width, height) = (size("width")?.ceil(), size("height")?.ceil());
    let mut command = browser(svg, out, "screenshot")?;
    command.arg(format!("--window-size={width},{height}"));
    command.arg(format!("--force-device-scale-factor={ZOOM}")).arg("--hide-scrollbars");
    Some(command)
}

/// A path with every byte that has a meaning in an address written out.
fn address(path: &Path) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/-_.~".contains(byte);
    let bytes = path.as_os_str().as_encoded_bytes();
    bytes
        .iter()
        .map(|byte| if plain(byte) { char::from(*byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}
