//! The page of a run in a real browser: what a stranger wrote into it does nothing, and what got past the
//! escaping would do nothing either. Every request of the browser goes to a proxy of the test's own.

use crate::common;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A host that nobody has (RFC 2606): who asks for it does what a stranger says.
pub const STRANGER: &str = "stranger.example";
const PATIENCE: Duration = Duration::from_secs(60);

/// What a browser made of a page.
pub struct Visit {
    /// The document after loading.
    pub dom: String,
    /// What it told its console: what the policy refused among it.
    pub console: String,
    /// First lines of the requests for [`STRANGER`].
    pub requests: Vec<String>,
}

fn chromium() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("CHROMIUM") {
        return Some(named.into());
    }
    let path = std::env::var_os("PATH")?;
    let names = ["chromium", "chromium-browser", "google-chrome"];
    std::env::split_paths(&path).flat_map(|dir| names.map(|n| dir.join(n))).find(|p| p.is_file())
}

/// Answers every request with "not found", and notes those that a stranger asked for.
fn proxy() -> (u16, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("its number").port();
    let noted = Arc::new(Mutex::new(Vec::new()));
    let notes = noted.clone();
    let serve = move |mut caller: TcpStream, notes: Arc<Mutex<Vec<String>>>| {
        let _ = caller.set_read_timeout(Some(Duration::from_secs(5)));
        let mut request = [0; 4096];
        let length = caller.read(&mut request).unwrap_or(0);
        let text = String::from_utf8_lossy(&request[..length]).into_owned();
        let first = text.lines().next().unwrap_or_default().to_string();
        if first.contains(STRANGER) {
            notes.lock().expect("no panic").push(first);
        }
        let _ = caller.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    };
    std::thread::spawn(move || {
        for caller in listener.incoming().flatten() {
            let notes = notes.clone();
            std::thread::spawn(move || serve(caller, notes));
        }
    });
    (port, noted)
}

/// Loads a page; `None` where there is no browser.
pub fn visit(page: &Path) -> Option<Visit> {
    let browser = chromium()?;
    let profile = tempfile::tempdir().expect("a profile");
    let (dom, console) = (profile.path().join("dom.html"), profile.path().join("console.txt"));
    let (port, noted) = proxy();
    let mut child = Command::new(&browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"])
        .args(["--disable-component-update", "--disable-sync", "--no-first-run", "--dump-dom"])
        .args(["--enable-logging=stderr"])
        .arg(format!("--proxy-server=http://127.0.0.1:{port}"))
        .arg(format!("--user-data-dir={}", profile.path().display()))
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
    let requests = noted.lock().expect("no panic").clone();
    Some(Visit { dom: read(&dom), console, requests })
}

/// Everything that runs or loads, as it would stand on the page if the escaping failed.
fn past_the_escaping() -> String {
    let ran = "document.documentElement.setAttribute('data-ran','yes')";
    let there = format!("http://{STRANGER}");
    format!(
        "<script>{ran}</script><script src=\"{there}/script\"></script><img src=\"{there}/image\" onerror=\"{ran}\">\
         <style>body {{ background: url({there}/background) }}</style><link rel=\"stylesheet\" href=\"{there}/style\">\
         <p style=\"background: url({there}/attribute)\">x</p><iframe src=\"{there}/frame\"></iframe>\
         <object data=\"{there}/object\"></object><svg><image href=\"{there}/svg\"/></svg>\
         <video src=\"{there}/video\" autoplay></video>"
    )
}

pub const RAN: &str = "data-ran=\"yes\"";

#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn what_gets_past_the_escaping_neither_runs_nor_loads() {
    let scratch = tempfile::tempdir().expect("a scratch directory");
    let out = scratch.path().join("run");
    common::measured(&out);
    let page = out.join("report.html");
    let Some(honest) = visit(&page) else {
        return common::skipped("what_gets_past_the_escaping_neither_runs_nor_loads", "no chromium");
    };
    assert!(honest.dom.contains("syscost report"), "the page is there");
    assert!(
        !honest.console.contains("Content Security Policy"),
        "its own style is let in: {}",
        honest.console
    );

    let content = fs::read_to_string(&page).expect("a page");
    let hostile = content.replacen("<body>", &format!("<body>{}", past_the_escaping()), 1);
    assert_ne!(hostile, content);
    // Without the policy all of it happens: what is refused below is refused by the policy.
    let start = hostile.find("<meta http-equiv=\"Content-Security-Policy\"").expect("a policy");
    let end = start + hostile[start..].find('>').expect("its end") + 1;
    let open = format!("{}{}", &hostile[..start], &hostile[end..]);
    let see = |name: &str, content: &str| {
        let path = scratch.path().join(name);
        fs::write(&path, content).expect("a file");
        visit(&path).expect("there is a browser")
    };
    let unguarded = see("open.html", &open);
    assert!(unguarded.dom.contains(RAN), "a script runs where nothing forbids it");
    for what in ["script", "image", "background", "style", "attribute", "frame", "object", "svg"] {
        assert!(
            unguarded.requests.iter().any(|line| line.contains(&format!("/{what} "))),
            "{what}: {:?}",
            unguarded.requests
        );
    }
    let guarded = see("guarded.html", &hostile);
    assert!(!guarded.dom.contains(RAN), "a script ran");
    assert_eq!(guarded.requests, Vec::<String>::new());
    assert!(guarded.console.contains("Content Security Policy"), "{}", guarded.console);
}
