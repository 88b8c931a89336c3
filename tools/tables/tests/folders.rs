//! Folders of files, one a case or one a size: what the tables lack stands in the names.

use syscost_tables::{self as table, ColumnMapping, PublishedTable, TableColumn};

fn read(files: &[(String, String)]) -> Vec<PublishedTable> {
    let of = |(name, text): &(String, String)| {
        table::read(name, text, &ColumnMapping::default()).unwrap_or_else(|e| panic!("{e}: {text}"))
    };
    table::together(files.iter().map(of).collect())
}

type Case = (Option<String>, Option<u64>, Option<u64>);

fn cases(table: &PublishedTable) -> Vec<Case> {
    let case = |row: &table::PublishedRow| {
        let name = row.text(TableColumn::Mechanism).map(str::to_string);
        (name, row.count(TableColumn::MessageBytes), row.count(TableColumn::Threads))
    };
    table.rows.iter().map(case).collect()
}

fn case(name: &str, bytes: u64, threads: u64) -> Case {
    (Some(name.into()), Some(bytes), Some(threads))
}

#[test]
fn a_case_a_file_is_named_by_its_file() {
    let csv = |n: u64| {
        format!("# started on Mon\n\n{n},,cycles,500,100.00,,\n99{n},,context-switches,500,100.00,,\n")
    };
    let text = |n: u64| {
        format!(
            "[server] listening\nthread 0: done\n\n Performance counter stats for './server':\n\n   {n}   cycles\n   99{n}  context-switches\n\n 5.0 seconds time elapsed\n"
        )
    };
    for written in [csv, text] {
        let files: Vec<(String, String)> =
            ["perf_a1_64B_t4.csv", "perf_a3_size4096_t4.csv", "zero_copy_4096_8threads.txt"]
                .iter()
                .zip(1..)
                .map(|(name, n)| (format!("logs/{name}"), written(n)))
                .collect();
        let all = read(&files);
        assert_eq!(all.len(), 1);
        assert_eq!(cases(&all[0]), [case("a1", 64, 4), case("a3", 4096, 4), case("zero_copy", 4096, 8)]);
    }
}

#[test]
fn folders_and_files_say_what_a_table_lacks() {
    let text = "threads,throughput_gbps\n1,2.5\n4,9.5\n";
    let files: Vec<(String, String)> =
        ["runs/baseline/4096B.csv", "runs/fancy/4096B.csv", "runs/zero_copy/4096B.csv"]
            .iter()
            .map(|name| (name.to_string(), text.to_string()))
            .collect();
    let all = read(&files);
    assert_eq!(all.len(), 1, "{all:?}");
    assert_eq!(all[0].rows.len(), 6);
    assert_eq!(cases(&all[0])[2].0.as_deref(), Some("fancy"), "beside ways to send, another name is one too");
    let sized: Vec<(String, String)> =
        ["o/a1_64.csv", "o/a1_1024.csv"].iter().map(|name| (name.to_string(), text.to_string())).collect();
    assert_eq!(cases(&read(&sized)[0])[2], case("a1", 1024, 1));
    // Two people's tables are no folder of cases.
    let whole = "impl,size,gbps\nA1,64,2\nA2,64,3\n";
    let others: Vec<(String, String)> =
        ["MT25001.csv", "MT25002.csv"].iter().map(|name| (name.to_string(), whole.to_string())).collect();
    assert_eq!(read(&others).len(), 2);
    let one = read(&[("results_2026_a2_8threads.csv".to_string(), "size,gbps\n64,2\n".to_string())]);
    assert_eq!(cases(&one[0]), [case("a2", 64, 8)]);
    let numbered = read(&[("t8_results.csv".to_string(), "impl,size,gbps\nA1,64,2\n".to_string())]);
    assert!(!numbered[0].has(TableColumn::Threads), "the eighth file has not eight threads");
    assert!(one[0].understood[0].contains("the file's name says"), "{:?}", one[0].understood);
}

#[test]
fn files_of_a_name_each_are_one_table() {
    let of = |files: &[[&str; 2]]| {
        let file = |[name, mechanism]: &[&str; 2]| {
            let rows = format!("{mechanism},64,1,2\n{mechanism},1024,4,3\n");
            (name.to_string(), format!("impl,size,threads,gbps\n{rows}"))
        };
        read(&files.iter().map(file).collect::<Vec<_>>())
    };
    let together =
        of(&[["r/MT1_0copy.csv", "0copy"], ["r/MT1_1copy.csv", "1copy"], ["r/MT1_2copy.csv", "2copy"]]);
    assert_eq!((together.len(), together[0].rows.len()), (1, 6));
    assert_eq!(of(&[["uring_out.csv", "uring"], ["epoll_out.csv", "epoll"]]).len(), 1);
    assert_eq!(of(&[["TwoCopyResults.csv", "A1"], ["ZeroCopyResults.csv", "A3"]]).len(), 1);
    assert_eq!(of(&[["MT1.csv", "uring"], ["MT2.csv", "epoll"]]).len(), 2, "their names say nothing");
    assert_eq!(of(&[["a1_old.csv", "A1"], ["a1_new.csv", "A1"]]).len(), 2, "the same cases");
    let by_threads = |threads: u64| {
        (
            format!("results_t{threads}.csv"),
            format!("impl,size,threads,gbps\nA1,64,{threads},2\nA2,64,{threads},3\n"),
        )
    };
    assert_eq!(read(&[by_threads(1), by_threads(4)]).len(), 1);
}

#[test]
fn runs_of_a_tool_are_told_apart_by_their_files() {
    let run = |rate: f64| {
        format!(
            "{{\"start\":{{\"test_start\":{{\"blksize\":4096,\"num_streams\":1}}}},\"end\":{{\"sum_received\":{{\"seconds\":5,\"bits_per_second\":{rate}}}}}}}"
        )
    };
    let all = read(&[("normal_4K.json".into(), run(1e9)), ("zerocopy_4K.json".into(), run(2e9))]);
    let names: Vec<_> = all[0].rows.iter().map(|row| row.text(TableColumn::Variant)).collect();
    assert_eq!(names, [Some("normal"), Some("zerocopy")]);
}

#[test]
fn rows_of_several_files_know_their_file_and_line() {
    let files: Vec<(String, String)> = [("o/a1.csv", "# by hand\n\n"), ("o/a3.csv", "")]
        .iter()
        .map(|(name, above)| (name.to_string(), format!("{above}size,gbps\n64,2\n4096,x5\n4096,9\n")))
        .collect();
    let all = read(&files);
    let places: Vec<(&str, usize)> =
        all[0].sources.iter().map(|source| (source.file.as_str(), source.line)).collect();
    assert_eq!(
        places,
        [4, 5, 6]
            .map(|line| ("o/a1.csv", line))
            .into_iter()
            .chain([2, 3, 4].map(|line| ("o/a3.csv", line)))
            .collect::<Vec<_>>()
    );
    let told = all[0].understood.join("; ");
    assert!(told.contains("(o/a1.csv, line 5)") && told.contains("(o/a3.csv, line 3)"), "{told}");
}
