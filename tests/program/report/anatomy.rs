//! The page as a reader meets it, in a real browser: how long it is, what is in sight, whether anything is cut off, whether
//! it can be read and reached.

use crate::report::loading::{Loaded, load};
use serde_json::Value;
use std::fs;
use std::path::Path;
use syscost_analyze::whole::Analysis;
use syscost_experiment::run::RunDir;
use syscost_report::{build, html};

/// Recorded runs, and what their reader sees first.
const RUNS: [(&str, &str); 4] = [
    ("docs/runs/default", "figure"),
    ("docs/runs/ways", "figure"),
    ("docs/runs/os", "table"),
    ("docs/runs/latency", "figure"),
];
const WIDE: u32 = 1200;
const PHONE: u32 = 360;
/// What the page may take unfolded at the wide width: three screens. A word has two letters: figures are not read as text.
const HEIGHT: f64 = 3000.0;
const WORDS: f64 = 600.0;
/// The first figure, or table, begins on the first screen.
const FIRST: f64 = 900.0;
const BYTES: usize = 400_000;

/// Measures a page in its frame, and tells the page around it.
const PROBE: &str = r"<script>addEventListener('load', () => {
  const seen = e => e.checkVisibility({checkOpacity: true, checkVisibilityCSS: true, contentVisibilityAuto: true}) && e.getClientRects().length;
  const all = [...document.querySelectorAll('body *')].filter(seen);
  const name = e => e.tagName + '.' + (e.getAttribute('class') || '') + ' ' + (e.textContent || '').trim().slice(0, 30);
  const box = e => e.getBoundingClientRect();
  const scrolled = e => e.closest('.scroll,pre');
  const wide = all.filter(e => !scrolled(e) && !e.closest('.shared') && box(e).width && (box(e).right > innerWidth + 1 || box(e).left < -1));
  const texts = all.filter(e => e.tagName == 'text');
  const cut = texts.filter(e => { const f = e.closest('figure'); return f && !scrolled(e) && (box(e).right > box(f).right + 1 || box(e).left < box(f).left - 1); });
  const size = e => Math.round(parseFloat(getComputedStyle(e).fontSize) * e.getScreenCTM().a * 10) / 10;
  const rgb = text => { const c = text.match(/[\d.]+/g).map(Number); return c.length < 4 ? [...c, 1] : c; };
  const light = ([r, g, b]) => { const f = v => { v /= 255; return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; };
    return .2126 * f(r) + .7152 * f(g) + .0722 * f(b); };
  const behind = e => { for (let n = e; n; n = n.parentElement) { const c = rgb(getComputedStyle(n).backgroundColor); if (c[3] > .5) return c; }
    return [255, 255, 255, 1]; };
  const own = e => [...e.childNodes].some(n => n.nodeType == 3 && n.textContent.trim());
  const contrast = e => { const s = getComputedStyle(e);
    const [a, b] = [light(rgb(e.tagName == 'text' ? s.fill : s.color)), light(behind(e))];
    return (Math.max(a, b) + .05) / (Math.min(a, b) + .05); };
  const faint = all.filter(e => own(e)).filter(e => contrast(e) < 4.5);
  const words = e => [...e.childNodes].filter(n => n.nodeType == 3).flatMap(n => n.textContent.split(/\s+/).filter(t => /[a-z]{2}/i.test(t))).length;
  const count = all.filter(e => !e.closest('title,script,style')).reduce((sum, e) => sum + words(e), 0);
  const first = q => { const e = [...document.querySelectorAll(q)].find(seen); return e ? box(e).top : null; };
  const [height, figure, table] = [box(document.body).bottom, first('figure'), first('.table')];
  const reached = [...document.querySelectorAll('summary,input,a[href],.scroll,pre')].filter(seen);
  const unreached = reached.filter(e => { e.focus(); return document.activeElement != e; });
  const overlapping = [];
  for (const svg of new Set(texts.map(t => t.closest('svg.plot')))) {
    const ticks = [...svg.querySelectorAll('text.tick,text.name')].filter(seen).map(box);
    ticks.forEach((a, i) => ticks.slice(i + 1).forEach(b => {
      if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 6)
        overlapping.push(svg.getAttribute('aria-label')); }));
  }
  parent.postMessage(JSON.stringify({
    width: innerWidth, content: document.documentElement.scrollWidth, height,
    words: count, figure, table,
    texts: texts.length, legends: all.filter(e => e.matches('.narrow')).length, wide: wide.slice(0, 4).map(name), cut: cut.slice(0, 4).map(name), sizes: [...new Set(texts.map(size))],
    faint: faint.slice(0, 4).map(e => name(e) + ' ' + contrast(e).toFixed(2)), faints: faint.length,
    reached: reached.length, unreached: unreached.slice(0, 4).map(name), overlapping: [...new Set(overlapping)].slice(0, 4)
  }), '*');
})</script>";

/// The page of a recorded run.
fn page(name: &str) -> String {
    let run = RunDir::load(&Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).expect(name);
    html::page(&build::report(&run, &Analysis::of(&run)))
}

/// With the probe in the place of the policy that would forbid it.
fn probed(page: &str) -> String {
    let policy = page.find("<meta http-equiv=\"Content-Security-Policy\"").expect("a policy");
    let end = policy + page[policy..].find('>').expect("its end") + 1;
    format!("{}{PROBE}{}", &page[..policy], &page[end..])
}

/// What the browser measures of a page at a width; `None` where there is no browser.
fn measured(page: &str, width: u32, more: &[&str]) -> Option<Value> {
    let scratch = tempfile::tempdir().expect("a directory");
    fs::write(scratch.path().join("framed.html"), probed(page)).expect("written");
    let outer = scratch.path().join("outer.html");
    let frame = format!(
        "<!DOCTYPE html><p id=\"measured\"></p><script>onmessage = e => \
         document.getElementById('measured').textContent = e.data</script>\
         <iframe src=\"framed.html\" style=\"border:0;width:{width}px;height:900px\"></iframe>"
    );
    fs::write(&outer, frame).expect("written");
    let flags: Vec<&str> =
        ["--virtual-time-budget=8000", "--hide-scrollbars"].iter().chain(more).copied().collect();
    let Loaded { dom, .. } = load(&outer, &flags)?;
    let text =
        dom.split_once("id=\"measured\">").and_then(|(_, rest)| rest.split_once("</p>")).expect("measured").0;
    let text = text.replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"");
    Some(serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text:?}")))
}

/// Nothing is cut off, everything has one size, is dark enough and can be reached.
fn assert_readable(name: &str, told: &Value) {
    for empty in ["wide", "cut", "unreached", "overlapping"] {
        assert_eq!(told[empty], serde_json::json!([]), "{name}: {empty}: {told}");
    }
    assert_eq!(told["content"], told["width"], "{name}: {told}");
    assert_eq!(told["faints"], 0, "{name}: too little contrast: {told}");
    assert!(told["sizes"].as_array().is_some_and(|sizes| sizes.len() <= 1), "{name}: text sizes: {told}");
    assert!(told["reached"].as_u64() > Some(5), "{name}: {told}");
}

#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn recorded_runs_are_told_within_three_screens() {
    for (name, first) in RUNS {
        let Some(told) = measured(&page(name), WIDE, &[]) else { return };
        assert_readable(name, &told);
        let number = |key: &str| told[key].as_f64().unwrap_or_else(|| panic!("{name}: no {key}: {told}"));
        assert!(number("height") <= HEIGHT, "{name}: {told}");
        assert!(number("words") <= WORDS, "{name}: {told}");
        // Curves below a table are drawn three to a row, where names stand below.
        assert!(
            first != "figure" || told["legends"] == 0,
            "{name}: names stand at the ends of the lines: {told}"
        );
        assert!(first != "figure" || number("texts") > 10.0, "{name}: {told}");
        assert!(number(first) <= FIRST, "{name}: the first {first}: {told}");
    }
}

#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn recorded_runs_are_read_on_a_phone_and_in_the_dark() {
    for (name, first) in RUNS {
        let page = page(name);
        let Some(phone) = measured(&page, PHONE, &[]) else { return };
        assert_readable(name, &phone);
        assert!(first != "figure" || phone["legends"].as_u64() > Some(0), "{name}: names below: {phone}");
        let dark = measured(&page, WIDE, &["--blink-settings=preferredColorScheme=0"]).expect("a browser");
        assert_readable(name, &dark);
    }
}

#[test]
fn the_page_of_a_default_run_is_small() {
    let page = page("docs/runs/default");
    assert!(page.len() < BYTES, "{} bytes", page.len());
}

/// What is folded is not printed, and questions are: of an `os` run, the published table, the curves and those.
#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn recorded_runs_are_few_pages_when_printed() {
    for (name, pages) in [("docs/runs/os", 2), ("docs/runs/default", 3), ("docs/runs/ways", 3)] {
        let scratch = tempfile::tempdir().expect("a directory");
        let (path, pdf) = (scratch.path().join("report.html"), scratch.path().join("report.pdf"));
        fs::write(&path, page(name)).expect("written");
        let print = format!("--print-to-pdf={}", pdf.display());
        if load(&path, &[&print, "--no-pdf-header-footer"]).is_none() {
            return;
        }
        let printed = String::from_utf8_lossy(&fs::read(&pdf).expect("a PDF")).into_owned();
        let count = printed.matches("/Type /Page\n").count() + printed.matches("/Type /Page/").count();
        assert!((1..=pages).contains(&count), "{name}: {count} pages");
    }
}
