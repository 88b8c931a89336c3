//! Specs read back what they write, and say where a mistake is.

use super::*;
use proptest::prelude::*;
use syscost_core::axis::Kind;

fn message(text: &str) -> String {
    Spec::from_toml(text, "mine.toml").expect_err("refused").to_string()
}

const PROBE: &str = "[[probe]]\nid = \"transfer\"\n";

#[test]
fn every_built_in_spec_reads_and_says_what_it_is() {
    for (name, text) in BUILT_IN {
        let spec = Spec::from_toml(text, &format!("specs/{name}.toml")).expect(name);
        assert_eq!(spec.name, *name);
        assert!(!spec.title.is_empty(), "{name}");
    }
}

#[test]
fn a_word_that_is_a_value_of_a_probe_names_the_probe() {
    let said = |word: &str| Spec::named(word).expect_err("refused").to_string();
    assert!(said("fork").contains("did you mean process_create --how fork?"), "{}", said("fork"));
    assert!(said("forkk").contains("did you mean process_create --how fork?"), "{}", said("forkk"));
    assert!(said("wayss").contains("did you mean ways?"), "{}", said("wayss"));
}

#[test]
fn refining_looks_along_every_axis_of_numbers_that_has_several_values() {
    let mut spec = Spec::named(DEFAULT).unwrap();
    let limit = spec.time_limit_ns;
    spec.set_refine(true).unwrap();
    let refine = spec.refine.clone().expect("it refines");
    assert_eq!(
        (refine.axes, spec.time_limit_ns),
        (vec!["message_bytes".into(), "threads".into()], limit * 3 / 2)
    );
    // The grid has the time that it would have had.
    let grid = Refine { axes: Vec::new(), ..spec.refine.clone().unwrap() }.before(spec.time_limit());
    assert!(grid.as_nanos().abs_diff(u128::from(limit)) < 1_000_000, "{grid:?}");
    spec.validate().unwrap();
    let mut single = Spec::named("os").unwrap();
    assert!(single.set_refine(true).is_err());
}

#[test]
fn values_go_through_their_axis_and_repetitions_are_dropped() {
    let text = format!("seed = 7\n{PROBE}message_bytes = [64, \"4K\", 4096]\nthreads = 2\nnodelay = true\n");
    let spec = Spec::from_toml(&text, "mine.toml").unwrap();
    assert_eq!((spec.name.as_str(), spec.seed), ("mine", 7));
    let axes = &spec.probes[0].axes;
    assert_eq!(axes["message_bytes"], [Value::Int(64), Value::Int(4096)]);
    assert_eq!(axes["threads"], [Value::Int(2)]);
    assert_eq!(axes["nodelay"], [Value::text("on")]);
}

/// The keys of a spec were not the flags, and its values not what people type.
#[test]
fn a_spec_takes_the_flags_and_what_is_typed_behind_them() {
    let axes = |lines: &str| {
        Spec::from_toml(&format!("{PROBE}{lines}"), "mine.toml").unwrap().probes[0].axes.clone()
    };
    let columns = axes(
        "message_bytes = [64, 256, 1024]\nthreads = [1, 2, 3, 4]\nmechanism = [\"send\", \"sendmsg\"]\n",
    );
    assert_eq!(axes("size = \"64..1K\"\nthreads = \"1..4\"\nmechanism = \"send,sendmsg\"\n"), columns);
    assert_eq!(axes("socket-buffer = \"64K\"\n"), axes("socket_buffer_bytes = 65536\n"));
    let kept =
        Spec::from_toml(&format!("time-limit = \"90s\"\n{PROBE}keep = [\"size\"]\n"), "mine.toml").unwrap();
    assert!(kept.probes[0].kept.contains("message_bytes") && kept.time_limit_ns == 90_000_000_000);
}

#[test]
fn what_is_printed_to_be_edited_is_the_experiment() {
    for name in Spec::names() {
        let text = Spec::file_of(name).unwrap();
        let whole = Spec { seed: 0, ..Spec::from_toml(&text, &format!("{name}.toml")).expect(name) };
        assert_eq!(whole, Spec { seed: 0, ..Spec::named(name).unwrap() }, "{name}");
        let Some(probe) = probe::find(name).filter(|_| !BUILT_IN.iter().any(|(known, _)| *known == name))
        else {
            continue;
        };
        for axis in probe.axes() {
            let begins = format!("# {} = ", axis.flag);
            let line = text.lines().find(|line| line.starts_with(&begins)).expect("each axis has a line");
            let edited = format!("[[probe]]\nid = \"{name}\"\n{}\n", &line[2..]);
            Spec::from_toml(&edited, "mine.toml").unwrap_or_else(|why| panic!("{name}: {edited}: {why}"));
        }
    }
}

/// `netns:a,b` is one path; `veth` behind the comma is another one, and no namespace.
#[test]
fn a_name_behind_a_comma_is_the_next_value_and_not_a_part_of_the_one_before() {
    let paths = |text: &str| {
        let mut spec = Spec::named(DEFAULT).unwrap();
        spec.set_axis("path", &[text]).map(|()| spec.probes[0].axes["path"].clone())
    };
    assert_eq!(paths("netns:a,b").unwrap(), [Value::text("netns:a,b")]);
    let both = [Value::text("netns:a"), Value::text("veth")];
    assert_eq!(paths("netns:a,veth").unwrap(), both);
    assert_eq!(paths("netns:a, lo").unwrap(), [Value::text("netns:a"), Value::text("loopback")]);
    assert_eq!(paths("veth,netns:a").unwrap(), [both[1].clone(), both[0].clone()]);
    assert!(paths("netns:a,b,veth").is_err(), "what of it belongs together is not known");
    let written = message(&format!("{PROBE}path = \"netns:a,veth\"\n"));
    assert!(written.contains("veth is a value of its own"), "{written}");
}

#[test]
fn mistakes_have_a_place_and_a_nearest_choice() {
    let cases = [
        (
            "precison = 5\n".to_string(),
            "mine.toml:1:1: a spec has no key \"precison\": did you mean precision?",
        ),
        (
            format!("\n\n{PROBE}thread = 1\n"),
            "mine.toml:5:1: probe \"transfer\" has no key \"thread\": did you mean threads?",
        ),
        (
            format!("{PROBE}sise = 64\n"),
            "mine.toml:3:1: probe \"transfer\" has no key \"sise\": did you mean size?",
        ),
        (
            format!("{PROBE}size = 64\nmessage_bytes = 64\n"),
            "mine.toml:3:1: size is there twice: message_bytes is the same axis",
        ),
        (
            "threads = 2\n".into(),
            "mine.toml:1:1: threads is an axis of a probe: write it below [[probe]] and its id",
        ),
        (format!("{PROBE}threads = [1, 10000]\n"), "mine.toml:3:15: threads \"10000\": the largest is 1024"),
        (format!("{PROBE}message_bytes = 0\n"), "mine.toml:3:17: message_bytes \"0\": the smallest is 8 B"),
        (format!("{PROBE}threads = []\n"), "mine.toml:3:11: threads needs at least one value"),
        (
            "[[probe]]\nid = \"tranfer\"\n".into(),
            "mine.toml:2:6: there is no probe \"tranfer\": did you mean transfer?",
        ),
        ("[[probe]]\nthreads = 1\n".into(), "mine.toml:1:1: [[probe]] needs an id: valid are "),
        ("name = \n".into(), "mine.toml:1:8: this is not TOML: "),
        (format!("time_limit = 0\n{PROBE}"), "mine.toml:1:1: the time limit must be at least 1s"),
        (format!("precision = \"0%\"\n{PROBE}"), "mine.toml:1:13: precision: '0%' is not a share"),
        (format!("min_rounds = 9\nmax_rounds = 3\n{PROBE}"), "mine.toml:2:1: min_rounds must be at least 1"),
        (format!("name = \"a/b\"\n{PROBE}"), "mine.toml:1:1: the name \"a/b\" cannot be"),
        ("title = \"nothing\"\n".into(), "mine.toml:1:1: the spec has no probe"),
        (
            format!("{PROBE}[timing]\nwarm_up = 1\n"),
            "mine.toml:4:1: [timing] has no key \"warm_up\": did you mean warmup?",
        ),
        (
            format!("{PROBE}[refine]\naxes = [\"mechanism\"]\n"),
            "mine.toml:3:2: refine: \"mechanism\" is no axis of numbers that is given rather than chosen: valid are",
        ),
        (
            format!("{PROBE}[refine]\nstage = 3\n"),
            "mine.toml:4:1: [refine] has no key \"stage\": did you mean stages?",
        ),
        ("timing = 3\n".into(), "mine.toml:1:10: timing must be a table"),
        ("seed = -1\n".into(), "mine.toml:1:8: seed: '-1' is not a whole number"),
    ];
    for (text, wanted) in cases {
        let got = message(&text);
        assert!(got.starts_with(wanted), "{text}\n  got  {got}\n  want {wanted}");
    }
}

#[test]
fn quick_takes_its_own_limit_unless_the_file_names_one() {
    let quick = Spec::from_toml(&format!("quick = true\n{PROBE}"), "q").unwrap();
    assert_eq!((quick.quick, quick.time_limit()), (true, QUICK_TIME_LIMIT));
    let named = Spec::from_toml(&format!("quick = true\ntime_limit = \"1m\"\n{PROBE}"), "q").unwrap();
    assert_eq!(named.time_limit(), Duration::from_secs(60));
}

#[test]
fn flags_replace_values_and_split_at_commas_where_they_separate() {
    let mut spec = Spec::named(probe::ALL[0].about().id).unwrap();
    spec.set_axis("size", &["64,4K", "64"]).unwrap();
    let cpu = syscost_host::topology::Topology::read().cpus()[0].id;
    let explicit = format!("{cpu},{cpu}:{cpu},{cpu}");
    spec.set_axis("placement", &[&explicit, "same,none"]).unwrap();
    spec.set_axis("congestion", &["cubic,bbr"]).unwrap();
    let axes = &spec.probes[0].axes;
    assert_eq!(axes["message_bytes"], [Value::Int(64), Value::Int(4096)]);
    assert_eq!(axes["placement"], [Value::text(explicit), Value::text("same"), Value::text("none")]);
    assert_eq!(axes["congestion_control"], [Value::text("cubic"), Value::text("bbr")]);
    let error = spec.set_axis("swing", &["1"]).unwrap_err().to_string();
    assert_eq!(error, "--swing does not apply to transfer: it belongs to no probe");
}

/// `24,512K` is one message of two pieces; what gives every piece its size leaves the size of the message nothing to say.
#[test]
fn shapes_keep_their_commas_and_settle_the_size() {
    let mut spec = Spec::named("crossover").unwrap();
    assert!(spec.probes.iter().all(|entry| entry.axes.contains_key("message_bytes")));
    spec.set_axis("fields", &["24, 524288", "8x64/24,*"]).unwrap();
    assert_eq!(spec.probes[0].axes["fields"], ["24,512K", "8x64", "24,rest"].map(Value::text));
    assert!(spec.probes[0].axes.contains_key("message_bytes"), "one shape is open");
    spec.set_axis("fields", &["24,512K/8x64"]).unwrap();
    assert!(spec.probes.iter().all(|entry| !entry.axes.contains_key("message_bytes")));
    spec.validate().unwrap();
    assert_eq!(Spec::from_toml(&spec.to_toml(), "x").unwrap(), spec);
    spec.set_axis("size", &["64K"]).unwrap();
    let error = spec.validate().unwrap_err().to_string();
    assert!(error.contains("leave out one of them") && error.contains("--fields 24,rest"), "{error}");
    let text = "[[probe]]\nid = \"transfer\"\nmessage_bytes = 64\nfields = [\"24,512K\", \"8x64\"]\n";
    assert!(Spec::from_toml(text, "x").is_err());
    // Two shapes of a gigabyte are not one message of two.
    let error = spec.set_axis("fields", &["1G,1G"]).unwrap_err().to_string();
    assert!(error.contains("largest message"), "{error}");
}

#[test]
fn a_probe_is_an_experiment_of_its_own() {
    let id = probe::ALL[0].about().id;
    let spec = Spec::named(id).unwrap();
    assert_eq!(spec.probes.len(), 1);
    let error = Spec::named("defualt").unwrap_err().to_string();
    assert!(error.starts_with("there is no experiment \"defualt\": did you mean default?"), "{error}");
}

fn values(axis: &Axis) -> BoxedStrategy<Vec<Value>> {
    let ints = |min: u64, max: u64| {
        proptest::collection::vec(min..=max, 1..5)
            .prop_map(|list| distinct(list.into_iter().map(Value::Int).collect()))
            .boxed()
    };
    match axis.kind {
        Kind::Bytes { min, max } | Kind::Int { min, max } => ints(min, max),
        _ => Just(axis.default()).boxed(),
    }
}

fn specs() -> impl Strategy<Value = Spec> {
    let probe = probe::ALL[0];
    let axes = probe.axes();
    let one_each: Vec<_> = axes.iter().map(|axis| proptest::option::of(values(axis))).collect();
    let numbers = (1u32..9, 0u32..50, 1_000_000_000u64..1 << 50, any::<u64>(), any::<[bool; 2]>());
    let timing = (any::<u32>(), 100_000u64..1 << 40, 1u32..100);
    let refine = (1u32..9, 2u32..999, 0.01f64..0.99).prop_map(|(stages, most_cases, time_share)| {
        let axes = vec!["threads".into(), "message_bytes".into()];
        Refine { axes, stages, most_cases, time_share }
    });
    let refine = proptest::option::of(refine);
    (one_each, "[ -~äµ]{0,12}", 0.0001f64..0.9999, 0.5f64..0.9999, numbers, timing, refine).prop_map(
        move |(
            chosen,
            title,
            precision,
            confidence,
            (min, more, limit, seed, [quick, ruler]),
            (warmup, window, windows),
            refine,
        )| {
            let kept = axes.iter().zip(&chosen).filter_map(|(a, v)| v.as_ref().map(|_| a.id.to_string()));
            let kept = if ruler { kept.collect() } else { Default::default() };
            let named = axes.iter().zip(chosen).filter_map(|(a, v)| Some((a.id.to_string(), v?)));
            Spec {
                rsh: None,
                own: Vec::new(),
                name: "generated-1".into(),
                title,
                probes: vec![ProbeSpec {
                    probe: probe.about().id.into(),
                    axes: named.collect(),
                    ruler,
                    kept,
                }],
                precision,
                confidence,
                min_rounds: min,
                max_rounds: min + more,
                time_limit_ns: limit,
                seed,
                timing: Timing { warmup_ns: warmup.into(), window_ns: window, windows },
                quick,
                refine,
            }
        },
    )
}

proptest! {
    #[test]
    fn what_is_written_reads_back(spec in specs()) {
        let text = spec.to_toml();
        prop_assert_eq!(Spec::from_toml(&text, "generated.toml").map_err(|e| format!("{e}\n{text}")), Ok(spec));
    }

    #[test]
    fn no_text_panics(text in ".{0,60}", keys in "(name|probe|timing|seed|precision) ?= ?.{0,12}\n") {
        let _ = Spec::from_toml(&text, "x");
        let _ = Spec::from_toml(&format!("{keys}{PROBE}"), "x");
    }
}
