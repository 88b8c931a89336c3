//! A thousand hosts by simulation: planned, collected and reported from run directories of real size. Times are printed and
//! decide nothing: `cargo test --release -p syscost-fleet --test scale -- --include-ignored --nocapture`.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Instant;
use syscost_core::stats::random::Random;
use syscost_fleet::collect::collect;
use syscost_fleet::figures::FleetTables;
use syscost_fleet::folder::FleetFolder;
use syscost_fleet::found::FleetFound;
use syscost_fleet::page::FleetPage;
use syscost_fleet::plan::{FleetPlan, FleetStep, PAIR_RUN};
use syscost_report::html;

const SLOW: [&str; 2] = ["n17", "n40"];

fn plan(hosts: usize) -> FleetPlan {
    FleetPlan {
        id: "scale".into(),
        hosts: format!("n[1-{hosts}]"),
        engine: "slurm".into(),
        each: None,
        pairs: Some("matchings:8".into()),
        pair_run: PAIR_RUN.into(),
        repeats: 1,
        seed: 1,
        binary: "syscost".into(),
        strata: BTreeMap::new(),
    }
}

/// What differs from run to run in the text of their record.
const ID: &str = "id-of-the-run";
const KERNEL: &str = "kernel-of-the-host";

/// A recorded run of this repository: its record has a real size, and its host real facts.
fn recorded() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/runs/default/run.json");
    let mut record: Value = serde_json::from_slice(&fs::read(path).expect("a recorded run")).expect("JSON");
    // A pair's run has one case and few predictions.
    for list in ["predictions", "audits", "own_cost", "warnings", "failures"] {
        record[list] = json!([]);
    }
    record["settings"] = json!({});
    record["plan"]["cases"].as_array_mut().expect("cases").truncate(4);
    record["id"] = json!(ID);
    let facts = record["host"].as_array_mut().expect("facts");
    let fact = facts.iter_mut().find(|fact| fact["id"] == "kernel_release").expect("a kernel");
    fact["value"] = json!(KERNEL);
    serde_json::to_string_pretty(&record).expect("JSON")
}

fn leave_run(folder: &FleetFolder, step: &FleetStep, record: &str, random: &mut Random) {
    let run = folder.run_of(step);
    fs::create_dir_all(&run).expect("a directory");
    let kernel = if SLOW.contains(&step.host.as_str()) { "5.4.0-old" } else { "6.1.0" };
    let own = record.replace(ID, &format!("{:032x}", step.number)).replace(KERNEL, kernel);
    fs::write(run.join("run.json"), own).expect("a record");
    let slow = if SLOW.contains(&step.host.as_str()) { 3.0 } else { 1.0 };
    let throughput = 2e10 / slow * (0.05 * random.normal()).exp();
    let mut text =
        "case,probe,mechanism,path,message_bytes,threads,metric,unit,value,ci_low,ci_high,ci_level,rounds\n"
            .to_string();
    for (metric, value) in
        [("throughput", throughput), ("total_cpu_ns_per_message", 9e3 * (0.05 * random.normal()).exp())]
    {
        text += &format!("0,transfer,send,srun:x,65536,1,{metric},x,{value},{value},{value},0.95,6\n");
    }
    fs::write(run.join("results.csv"), text).expect("results");
}

fn peak_mib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("proc");
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("a peak");
    line.split_whitespace().nth(1).and_then(|text| text.parse::<u64>().ok()).expect("a number") / 1024
}

/// The size of the page.
fn reported(hosts: usize) -> usize {
    let scratch = tempfile::tempdir().expect("a directory");
    let place = scratch.path().join("fleet");
    let start = Instant::now();
    let plan = plan(hosts);
    let steps = plan.steps().expect("steps");
    let planned = start.elapsed();
    let folder = FleetFolder::make(&place, &plan, ("fleet.sh", "")).expect("a fleet");
    let (record, mut random) = (recorded(), Random::new(3));
    steps.iter().for_each(|step| leave_run(&folder, step, &record, &mut random));
    let start = Instant::now();
    collect(&folder).expect("figures").write(&folder).expect("tables");
    let tables = FleetTables::read(&folder).expect("tables");
    let found = FleetFound::of(&plan, &tables).expect("answers");
    let page = html::page(&FleetPage { plan: &plan, tables: &tables, found: &found }.report());
    eprintln!(
        "{hosts} hosts, {} pairs: planned in {planned:.1?}, collected and reported in {:.1?}, peak {} MiB, page {} KiB",
        steps.len(),
        start.elapsed(),
        peak_mib(),
        page.len() / 1024
    );
    let mut slow: Vec<&str> = found.slow().iter().map(|host| found.hosts[*host].as_str()).collect();
    slow.sort_unstable();
    assert_eq!(slow, SLOW);
    assert!(found.odd.iter().any(|odd| odd.value == "5.4.0-old"), "the slow hosts' kernel is told");
    if let Some(kept) = std::env::var_os("SYSCOST_KEEP_PAGE") {
        fs::write(kept, &page).expect("a page");
    }
    page.len()
}

#[test]
fn the_page_of_a_hundred_hosts_names_the_slow_ones() {
    assert!(reported(100) < 2 << 20);
}

#[test]
#[ignore = "second tier: 4,500 run directories"]
fn a_thousand_hosts_are_collected_and_the_page_of_500_is_small() {
    reported(1000);
    let bytes = reported(500);
    assert!(bytes < 3 << 20, "{bytes} bytes");
}
