//! The page of a run in a real browser: what a stranger wrote into it does nothing, and what got past the
//! escaping would do nothing either. Every request of the browser goes to a proxy of the test's own.

use crate::browser::{self, Loaded};
use crate::common;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A host that nobody has (RFC 2606): who asks for it does what a stranger says.
pub const STRANGER: &str = "stranger.example";
/// A page in a browser whose requests were answered here.
pub struct Visit {
    pub page: Loaded,
    /// First lines of the requests for [`STRANGER`].
    pub requests: Vec<String>,
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
    let (port, noted) = proxy();
    let page = browser::load(page, &[&format!("--proxy-server=http://127.0.0.1:{port}")])?;
    let requests = noted.lock().expect("no panic").clone();
    Some(Visit { page, requests })
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
    let Some(honest) = visit(&page) else { return };
    assert!(honest.page.dom.contains("syscost report"), "the page is there");
    assert!(
        !honest.page.console.contains("Content Security Policy"),
        "its own style is let in: {}",
        honest.page.console
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
    assert!(unguarded.page.dom.contains(RAN), "a script runs where nothing forbids it");
    for what in ["script", "image", "background", "style", "attribute", "frame", "object", "svg"] {
        assert!(
            unguarded.requests.iter().any(|line| line.contains(&format!("/{what} "))),
            "{what}: {:?}",
            unguarded.requests
        );
    }
    let guarded = see("guarded.html", &hostile);
    assert!(!guarded.page.dom.contains(RAN), "a script ran");
    assert_eq!(guarded.requests, Vec::<String>::new());
    assert!(guarded.page.console.contains("Content Security Policy"), "{}", guarded.page.console);
}
