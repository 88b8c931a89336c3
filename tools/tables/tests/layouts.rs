//! Layouts as strangers' pages and tools have them, with figures made up here: what has to be read, said and left unsaid.

use syscost_tables::overtakes::{overtakes, sentences};
use syscost_tables::remark::remarks;
use syscost_tables::{self as table, ColumnMapping, PublishedTable, TableColumn};

fn read(name: &str, text: &str) -> PublishedTable {
    table::read(name, text, &ColumnMapping::default()).unwrap_or_else(|e| panic!("{e}: {text}"))
}

fn refused(text: &str) -> String {
    table::read("t.md", text, &ColumnMapping::default()).expect_err(text).to_string()
}

/// All that is said of it.
fn said(table: &PublishedTable) -> String {
    let remarks = remarks(table).into_iter().map(|remark| remark.text);
    remarks.chain(sentences(&overtakes(table))).collect::<Vec<_>>().join("\n")
}

const PAGE: &str = "# Zero-copy study\n\nIt is about zero-copy, with 16 threads at most.\n\n\
    | File | Purpose |\n|---|---|\n| `two_copy.c` | sends 4096 bytes |\n\n\
    ```bash\n# two_copy first\n./run 4096\n```\n\n\
    ## Results\n\n### Throughput (Gbps)\n\n\
    | Config | A1 (Two-Copy) | A3 (Zero-Copy) |\n|---|---|---|\n| 64B, 1 thread | 0.25 | 0.15 |\n| 4096B, 4 threads | 9.50 | 12.25 |\n\n\
    ### Latency (us)\n\n\
    | Config | A1 (Two-Copy) | A3 (Zero-Copy) |\n|---|---|---|\n| 64B, 1 thread | 7.50 | 9.25 |\n| 4096B, 4 threads | 11.5 | 13.0 |\n\n\
    ## Options\n\n| Flag | Description | Example |\n|---|---|---|\n| `-s` | Message size in bytes | 4096 |\n";

#[test]
fn a_page_is_read_by_its_tables_alone() {
    let page = read("README.md", PAGE);
    assert_eq!(page.rows.len(), 4, "{page:?}");
    for row in &page.rows {
        assert!(
            row.value(TableColumn::Throughput).is_some() && row.value(TableColumn::Latency).is_some(),
            "{row:?}"
        );
        assert!([Some(1), Some(4)].contains(&row.count(TableColumn::Threads)), "{row:?}");
    }
    let line = PAGE.lines().position(|line| line.starts_with("| 4096B")).expect("there") + 1;
    assert!(page.rows.iter().any(|row| row.line == line), "lines are those of the page");
    let said = said(&page);
    let compared = "A3 (Zero-Copy) has more throughput than A1 (Two-Copy) at no size with 1 thread; at every size with 4";
    assert!(said.contains(compared), "{said}");
    assert!(!said.contains("16 threads"), "prose is no figure: {said}");
    let none = PAGE.split("## Results").next().expect("a first part");
    assert!(
        refused(none).contains("none of the tables of this page holds results (lines 5)"),
        "{}",
        refused(none)
    );
}

#[test]
fn tables_of_one_quantity_are_told_apart_by_their_titles() {
    let rows = "| Impl | Size | Gbps |\n|---|---|---|\n| two_copy | 64 | ";
    let page = format!("Two machines.\n\n## Loopback\n\n{rows}2.5 |\n\n## veth\n\n{rows}1.5 |\n");
    let page = read("r.md", &page);
    let names: Vec<_> = page.rows.iter().map(|row| row.text(TableColumn::Variant)).collect();
    assert_eq!(names, [Some("Loopback"), Some("veth")]);
    assert!(!said(&page).contains("At most 2 rows a cell"), "two places are no two runs: {}", said(&page));
    // A title that is a name, and rows of that name in two tables, are one row.
    let page = "See below.\n\n## A1\n\n| Size | Gbps |\n|---|---|\n| 64 | 2.5 |\n\n| Size | Latency (us) |\n|---|---|\n| 64 | 9.5 |\n\n\
                ## A2\n\n| Size | Gbps |\n|---|---|\n| 64 | 3.5 |\n";
    let page = read("r.md", page);
    let names: Vec<_> = page.rows.iter().map(|row| row.text(TableColumn::Mechanism)).collect();
    assert_eq!(names, [Some("A1"), Some("A2")], "{page:?}");
    assert!(said(&page).contains("A2 has more throughput than A1 at every size"), "{}", said(&page));
}

#[test]
fn messages_a_second_are_a_rate_and_sizes_are_headings() {
    let page = "| Method | 100 Byte Messages | 1 Kilo Byte Messages |\n|---|---|---|\n| Signals | --broken-- | --broken-- |\n\
                | Pipes | 1,162,441 msg/s | 855,404 msg/s |\n| Sockets | 70,221 msg/s | 67,901 msg/s |\n";
    let rates = read("r.md", page);
    let sizes: Vec<_> = rates.rows.iter().map(|row| row.count(TableColumn::MessageBytes)).collect();
    assert_eq!(sizes, [Some(100), Some(1024), Some(100), Some(1024)]);
    assert_eq!(rates.rows[0].value(TableColumn::MessageRate), Some(1_162_441.0));
    assert!(said(&rates).contains("higher message rate"), "{}", said(&rates));
    let headed = read("r.csv", "Transport,p50 (us),msg/s\nshm,1.5,600000\n");
    assert_eq!(headed.rows[0].value(TableColumn::MessageRate), Some(600000.0), "no count of messages");
}

#[test]
fn a_files_name_says_what_its_figures_are_and_else_it_is_asked() {
    let text = "size,pipe,fifo\n64,1.5,1.25\n4096,2.5,2.25\n";
    let named = read("results/latency_us.csv", text);
    assert_eq!((named.rows.len(), named.rows[0].value(TableColumn::Latency)), (4, Some(1250.0)));
    assert!(named.understood.iter().any(|told| told.contains("file's name")), "{:?}", named.understood);
    let asked = refused(text);
    assert!(asked.contains("\"pipe\"") && asked.contains("--mapping"), "{asked}");
}

#[test]
fn rings_in_memory_make_no_system_call() {
    let ring = "Message Size,Messages/sec,Throughput (Gbps),P50 Latency\n64 bytes,23697883,1.45,20ns\n";
    let said_of_ring = said(&read("r.csv", ring));
    assert!(!said_of_ring.contains("send call"), "{said_of_ring}");
    let sockets = "impl,msg_size,latency_ns\ntwo_copy,64,20.0\nzero_copy,64,20.0\n";
    assert!(said(&read("r.csv", sockets)).contains("less than one send call"));
}

#[test]
fn names_unknown_here_are_columns_where_their_cells_have_units() {
    let wide = read(
        "r.md",
        "| Threads | Mode 0 | Mode 1 |\n|---|---|---|\n| 1 | 6.75 us | 6.5 us |\n| 8 | 43.0 us | 24.0 us |\n",
    );
    let names: Vec<_> = wide.rows.iter().filter_map(|row| row.text(TableColumn::Mechanism)).collect();
    assert_eq!(
        (names, wide.rows[1].value(TableColumn::Latency)),
        (vec!["Mode 0", "Mode 1", "Mode 0", "Mode 1"], Some(6500.0))
    );
}

#[test]
fn a_cell_of_another_kind_is_left_out_and_said() {
    let table = read("t.csv", "impl,size,gbps\nA1,64,2.5\nA2,64,10000/50 = 200\n");
    assert_eq!(table.rows.iter().filter(|row| row.value(TableColumn::Throughput).is_some()).count(), 1);
    assert!(table.understood.iter().any(|told| told.contains("10000/50 = 200")), "{:?}", table.understood);
    let spread = refused(
        "command,mean,stddev,min,max\n./sendfile 1G,0.412,0.011,0.399,0.441\n./splice 1G,0.398,0.009,0.388,0.420\n",
    );
    assert!(
        spread.contains("no column holds figures") && spread.contains("mean"),
        "spread of what? {spread}"
    );
    for (text, instead) in [
        ("name  old time/op  new time/op  delta\nSend  1.03us ± 2%  0.93us ± 1%  -9.71%\n", "go test -bench"),
        ("read: (groupid=0, jobs=1): err= 0\nfio-3.28\n", "--output-format=json"),
    ] {
        assert!(refused(text).contains(instead), "{text}: {}", refused(text));
    }
}

#[test]
fn figures_below_no_heading_are_said() {
    let table = read("t.csv", "impl,size,throughput_gbps,\ntwo_copy,512,3.1,17.5\nzero_copy,512,3.6,18.5\n");
    assert_eq!(table.left_out, ["column 4 (no heading)"]);
    let index = read("t.csv", ",impl,size,throughput_gbps\n0,two_copy,512,3.1\n1,zero_copy,512,3.6\n");
    assert!(index.left_out.is_empty(), "{:?}", index.left_out);
}
