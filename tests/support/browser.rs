//! A page in a real browser.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(90);

/// What a browser made of a page: the document after loading, and what it told its console.
pub struct Loaded {
    pub dom: String,
    pub console: String,
}

fn chromium() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("CHROMIUM") {
        return Some(named.into());
    }
    let path = std::env::var_os("PATH")?;
    let names = ["chromium", "chromium-browser", "google-chrome"];
    std::env::split_paths(&path).flat_map(|dir| names.map(|n| dir.join(n))).find(|p| p.is_file())
}

/// Loads a page; `None`, and says so, where there is no browser.
pub fn load(page: &Path, more: &[&str]) -> Option<Loaded> {
    let Some(browser) = chromium() else {
        eprintln!("skipped: no chromium (apt-get install chromium)");
        return None;
    };
    let profile = tempfile::tempdir().expect("a profile");
    let (dom, console) = (profile.path().join("dom.html"), profile.path().join("console.txt"));
    let mut child = Command::new(&browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"])
        .args(["--disable-component-update", "--disable-sync", "--no-first-run", "--dump-dom"])
        .args(["--enable-logging=stderr"])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .args(more)
        .arg(format!("file://{}", page.display()))
        .stdout(File::create(&dom).expect("a file"))
        .stderr(File::create(&console).expect("a file"))
        .spawn()
        .unwrap_or_else(|error| panic!("{}: {error}", browser.display()));
    let start = Instant::now();
    while child.try_wait().expect("our child").is_none() {
        if start.elapsed() > PATIENCE {
            let _ = child.kill();
            let _ = child.wait();
            panic!("{} did not end within {PATIENCE:?}", browser.display());
        }
        syscost_sys::sleep::sleep(Duration::from_millis(50));
    }
    let read = |path: &Path| String::from_utf8_lossy(&fs::read(path).expect("its file")).into_owned();
    let console =
        read(&console).lines().filter(|line| line.contains("CONSOLE")).collect::<Vec<_>>().join("\n");
    Some(Loaded { dom: read(&dom), console })
}
