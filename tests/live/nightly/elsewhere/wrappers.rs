//! `--rsh` with commands of the user's own: those that execute words, those that give them to a shell, and a kubectl
//! that enters namespaces.

use super::engine::{Engine, study};
use crate::common;
use syscost_experiment::run::files::RunDir;

/// Two namespaces `a` and `b` that are joined, without any engine.
fn namespaces(test: &str) -> Option<Engine> {
    let engine = Engine::start(test, "namespaces", &[], &["ip", "nsenter", "unshare"])?;
    let at = |name: &str| engine.file("bin").join(name);
    common::script(&at("executes"), "place=$1; shift; exec ip netns exec \"$place\" \"$@\"");
    common::script(&at("joins"), "place=$1; shift; exec ip netns exec \"$place\" sh -c \"$*\"");
    // As the real one takes it: exec -i [--namespace=N] [--container=C] POD -- WORD...
    common::script(
        &at("kubectl"),
        "[ \"$1 $2\" = 'exec -i' ] || exit 9; shift 2\n\
         for word; do case $word in --namespace=prod) ;; --container=app) ;; --*) break;; *) pod=$word; break;; esac; shift; done\n\
         [ \"$2\" = -- ] || exit 9; shift 2\n\
         [ -e /run/netns/$pod ] || { echo \"Error from server (NotFound): pods \\\"$pod\\\" not found\" >&2; exit 1; }\n\
         exec ip netns exec \"$pod\" \"$@\"",
    );
    Some(engine)
}

#[test]
#[ignore = "nightly: .ci/nightly"]
fn a_command_of_the_users_own_leads_to_one_end_or_both() {
    let Some(engine) = namespaces("wrappers::a_command_of_the_users_own") else { return };
    for (rsh, path) in [
        ("executes {host}", "rsh:b"),
        ("joins", "rsh:a,b"),
        ("ip netns exec {host}", "rsh:b,a"),
        ("env 'A B=c d' executes {host}", "rsh:a,b?ports=40000-40009"),
    ] {
        let run = engine.measures(&["--rsh", rsh], path);
        assert_eq!(run.record.spec.rsh.as_deref(), Some(rsh));
    }
    // From a file, and a run that goes on knows it.
    let spec = engine.told(
        common::SYSCOST,
        &[
            "plan",
            "transfer",
            "--mechanism",
            "send",
            "--size",
            "4K",
            "--path",
            "rsh:a,b",
            "--rsh",
            "executes",
            "--toml",
        ],
    );
    assert!(spec.contains("rsh = \"executes\"") && spec.contains("rsh:a,b"), "{spec}");
    std::fs::write(engine.file("mine.toml"), spec).expect("written");
    let (file, out) = (engine.file("mine.toml"), engine.file("out"));
    let (file, out) = (file.to_str().expect("UTF-8"), out.to_str().expect("UTF-8"));
    engine.told(common::SYSCOST, &["run", file, "--allow-commands", "--time-limit", "12s", "--out", out]);
    let before = RunDir::load(&engine.file("out")).expect("a run").samples.len();
    engine.told(common::SYSCOST, &["run", "--resume", out, "--allow-commands", "--time-limit", "12s"]);
    assert!(RunDir::load(&engine.file("out")).expect("a run").samples.len() > before, "it went on");
    engine.survives_kills(&["--rsh", "executes"], "rsh:a,b", "worker");
}

#[test]
#[ignore = "nightly: .ci/nightly"]
fn a_command_that_leads_nowhere_is_an_answer_with_a_remedy() {
    let Some(engine) = namespaces("wrappers::a_command_that_leads_nowhere") else { return };
    common::script(&engine.file("bin/silent"), "exec sleep 100");
    common::script(&engine.file("bin/asks"), "echo Password: >&2; exit 1");
    for (rsh, path, wanted) in [
        ("executes", "rsh:nobody", "Cannot open network namespace"),
        ("no-such-program {host}", "rsh:a", "there is no program no-such-program"),
        ("asks", "rsh:a", "Password:"),
        ("/proc/version {host}", "rsh:a", "cannot start /proc/version"),
    ] {
        let said = engine.doctor(&["--rsh", rsh, "--path", path]);
        assert!(said.starts_with("bad") && said.contains(wanted), "{rsh}: {said}");
    }
    let kubectl = |path: &str| engine.doctor(&["--path", path]);
    assert!(kubectl("kubectl:prod/b:app").starts_with("good"), "{}", kubectl("kubectl:prod/b:app"));
    assert!(kubectl("kubectl:a,b").starts_with("good"), "{}", kubectl("kubectl:a,b"));
    assert!(kubectl("kubectl:gone").contains("kubectl get pods"), "{}", kubectl("kubectl:gone"));
    // Half of the limit at most is waited for one that says nothing.
    let out = engine.file("silent");
    let began = std::time::Instant::now();
    let arguments = [&study("rsh:a", out.to_str().expect("UTF-8"), "6s")[..], &["--rsh", "silent"]].concat();
    let said = common::said(&engine.syscost(&arguments));
    assert!(said.contains("no answer within"), "{said}");
    assert!(began.elapsed().as_secs() < 20, "{:?}: {said}", began.elapsed());
}
