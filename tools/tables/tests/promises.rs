//! What is promised of tables of strangers: read right, or refused with what to say.

use syscost_tables::compare::{compare, sentences};
use syscost_tables::remark::remarks;
use syscost_tables::{PublishedTable, ReadingOptions, TableColumn, read, together};

fn table(text: &str) -> PublishedTable {
    with(text, &ReadingOptions::default())
}

fn with(text: &str, options: &ReadingOptions) -> PublishedTable {
    read("t.csv", text, options).remove(0).unwrap_or_else(|e| panic!("{e}"))
}

fn refused(text: &str) -> String {
    match read("t.csv", text, &ReadingOptions::default()).remove(0) {
        Ok(table) => panic!("read: {table:?}"),
        Err(error) => error.to_string(),
    }
}

fn options(give: impl Fn(&mut ReadingOptions) -> Result<(), String>) -> ReadingOptions {
    let mut options = ReadingOptions::default();
    give(&mut options).expect("an option");
    options
}

fn ids(table: &PublishedTable) -> Vec<&'static str> {
    remarks(table).into_iter().map(|remark| remark.id).collect()
}

#[test]
fn names_are_never_dropped() {
    let asked = refused("Strategie,Msg Size,Throughput (Gbps)\nnaive,64,1\nsmart,64,9\n");
    assert!(asked.contains("--column mechanism=Strategie"), "{asked}");
    let kept = table("impl,colour,size,gbps\nA1,red,64,1.00\nA1,blue,64,5.00\nA3,red,64,2.00\n");
    assert_eq!(kept.rows[1].text(TableColumn::Variant), Some("colour blue"));
    let told = sentences(&kept, &compare(&kept, &[]).expect("rivals"));
    assert_eq!(told, ["A3 has more throughput than A1 (both colour red), by 2x at 64 B."]);
    let apart = refused("impl,size,knob,gbps\nA1,64,1,1\nA1,64,2,5\n");
    assert!(apart.starts_with("t.csv:3:") && apart.contains("--column variant=knob"), "{apart}");
}

#[test]
fn rows_that_are_none_are_left_out_and_told() {
    let read = table("impl,size,gbps,status\nA1,64,1,ok\nA3,64,2,ok\nBest: A3,64,2,\nA2,64,9,FAILED\n");
    assert_eq!(read.rows.len(), 2);
    let told = read.understood.concat();
    assert!(told.contains("\"Best: A3\"") && told.contains("line 5 (FAILED)"), "{told}");
    assert!(refused("impl,size,gbps\nA1,64,1\n,128,2\n").contains("fill merged cells in"));
}

#[test]
fn units_are_asked_for_and_never_guessed() {
    let partly = table("impl,size,throughput,latency_us\nA1,64,1,5\n");
    assert!(!partly.has(TableColumn::Throughput));
    assert!(partly.not_read[0].contains("--column throughput=throughput:Gbit/s"), "{:?}", partly.not_read);
    assert!(refused("impl,size,throughput\nA1,64,1\n").contains("has no unit"));
    assert!(refused("impl,size,throughput_mb_s\nA1,64,1\n").contains("bits or bytes"));
    let given = options(|options| options.give_column("throughput=throughput:MB/s"));
    let read = with("impl,size,throughput\nA1,64,1\n", &given);
    assert_eq!(read.rows[0].value(TableColumn::Throughput), Some(8e6));
}

#[test]
fn decimal_marks_are_sure_or_asked_for() {
    let german = table("impl;size;gbps\nA1;64;1,5\nA3;64;12,25\n");
    assert_eq!(german.rows[1].value(TableColumn::Throughput), Some(12.25e9));
    assert!(refused("impl;size;gbps\nA1;64;12,345\n").contains("--decimal"));
    let grouped = table("impl,size,gbps,cycles\nA1,\"65,536\",1.5,\"1,234,567\"\n");
    assert_eq!(grouped.rows[0].count(TableColumn::MessageBytes), Some(65536));
    assert_eq!(grouped.rows[0].count(TableColumn::Cycles), Some(1_234_567));
}

#[test]
fn values_in_the_headings_are_asked_for() {
    let wide = "Size,A1,A3\n64,1,2\n1K,3,4\n";
    assert!(refused(wide).contains("--wide mechanism=throughput:Gbit/s"));
    let read = with(wide, &options(|options| options.give_wide("mechanism=throughput:Gbit/s")));
    assert_eq!((read.rows.len(), read.rows[3].count(TableColumn::MessageBytes)), (4, Some(1024)));
    let runs = table("impl,size,run1_gbps,run2_gbps,mean_gbps\nA1,64,1.0,1.2,1.1\n");
    let values: Vec<_> = runs.rows.iter().map(|row| row.value(TableColumn::Throughput)).collect();
    assert_eq!(values, [Some(1e9), Some(1.2e9)], "the runs, and not their mean beside them");
    let both = table("Size,A1_throughput_gbps,A1_latency_us,A3_throughput_gbps,A3_latency_us\n64,1,2,3,4\n");
    assert_eq!(both.rows[1].value(TableColumn::Latency), Some(4000.0));
}

#[test]
fn files_whose_names_say_the_rest_are_one_table() {
    let named = options(|options| options.give_name("{mechanism}_{size}"));
    let files = ["two_copy_64.csv", "zero_copy_64.csv"].map(|name| {
        read(name, "threads,gbps\n1,2\n4,3\n", &named).remove(0).unwrap_or_else(|e| panic!("{e}"))
    });
    let all = together(files.to_vec(), &named);
    assert_eq!((all.len(), all[0].rows.len(), all[0].sources[2].file.as_str()), (1, 4, "zero_copy_64.csv"));
    assert_eq!(all[0].rows[2].text(TableColumn::Mechanism), Some("zero_copy"));
    assert!(read("other.csv", "threads,gbps\n1,2\n", &named)[0].is_err());
}

#[test]
fn reports_are_read_by_their_tables_or_refused() {
    let report = "# Report\n\nThroughput grows.\n\n| Method | Size | Gbps |\n|---|---|---|\n| A1 | 64 | 286 |\n| A1 | 64K | 107 |\n\n\
                  ## Expected results\n\n| Method | Gbps |\n|---|---|\n| A1 | 9 |\n";
    let tables = read("t.md", report, &ReadingOptions::default());
    assert_eq!(tables[0].as_ref().map(|table| table.rows.len()), Ok(2));
    assert!(tables[1].as_ref().unwrap_err().to_string().contains("not measured"));
    for text in ["It is fast.\nVery, indeed.\n", "size threads gbps\n64 1 2.5\n", "{\"results\": 1}\n"] {
        refused(text);
    }
    for (text, tool) in [
        ("Performance counter stats for 'x':\n\n 5 cycles\n", "perf stat -x"),
        ("\\begin{tabular}{cc}\n1 & 2\n", "LaTeX"),
        ("import matplotlib.pyplot as plt\nx = [1, 2]\n", "the CSV"),
        ("[ ID] Interval           Transfer     Bitrate\niperf Done.\n", "iperf3 -J"),
        ("MIGRATED TCP STREAM TEST from 0.0.0.0 port 0\n", "-k THROUGHPUT"),
    ] {
        assert!(refused(text).contains(tool), "{}", refused(text));
    }
}

#[test]
fn what_cannot_be_is_found_and_orders_nothing() {
    let head = "impl,size,threads,throughput_gbps,cycles_per_byte\n";
    for wrong in ["3e-6", "15000000"] {
        let read = table(&format!("{head}A1,1024,1,2.5,0.9\nA3,1024,1,2.5,{wrong}\n"));
        let told = remarks(&read);
        assert!(
            told.iter().any(|remark| remark.id == "impossible" && remark.lines == [3]),
            "{wrong}: {told:?}"
        );
        assert!(compare(&read, &told).is_err(), "{wrong}");
    }
    let totals = "impl,size,threads,throughput_gbps,total_bytes,duration_s\nA1,64,1,9.0,1000000,5\n";
    assert!(ids(&table(totals)).contains(&"not_its_totals"));
    assert!(
        ids(&table("impl,size,throughput_gbps,throughput_mbps\nA1,64,1.00,900\n")).contains(&"two_figures")
    );
}

#[test]
fn operations_are_in_one_unit_or_refused() {
    let read = table(
        "Operation,Base Hardware (ns),Software (ns),Predicted (us),Measured (us)\nfork,100,200,0.3,0.9\n",
    );
    assert_eq!(read.rows[0].value(TableColumn::Measured), Some(900.0));
    assert!(ids(&read).contains(&"off_prediction") && !ids(&read).contains(&"not_a_sum"));
    let units = table("operation,unit,measured,unit\nfork,us,5,ns\n");
    assert_eq!(units.rows[0].value(TableColumn::Measured), Some(5000.0), "the first unit holds");
    assert!(refused("Operation,Predicted,Measured (us)\nfork,3,9\n").contains("give each heading one"));
}

#[test]
fn what_is_said_of_requests_ranges_and_runs_is_true() {
    let rows = "epoll,128 B,1,210,215\nio_uring,128 B,1,905,92\n";
    let requests = table(&format!("Backend,Req size,Workers,kreq/s,Goodput (Mbit/s)\n{rows}"));
    assert!(ids(&requests).contains(&"not_its_totals"), "a request is a message");
    let end = table("server,clients,Requests/s,avg RTT (ms),max RTT (ms)\nnginx,10,52000,0.19,2.1\n");
    let told = end.understood.concat();
    assert!(
        !told.contains("is the scatter") && told.contains("no use is made of \"max RTT (ms)\""),
        "{told}"
    );
    let both = table("impl,size,gbps,min gbps,max gbps\nA1,64,10,9,11\n");
    assert_eq!(both.rows[0].scatter[&TableColumn::Throughput], 1e9);
    let apart =
        table("impl,size,run,gbps\nsendfile,64,1,25\nsendfile,64,2,24\nread,64,1,14\nread,64,2,145\n");
    assert!(compare(&apart, &remarks(&apart)).unwrap_err().starts_with("runs of one case lie too far apart"));
    let wide = table("impl,size,run1 (GB/s),run2 (GB/s)\nA1,64,1.0,1.2\n");
    assert_eq!(wide.rows[1].value(TableColumn::Throughput), Some(9.6e9), "a capital B is bytes");
}
