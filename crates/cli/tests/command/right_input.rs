//! Every subcommand with valid input, and interrupted runs, which leave nothing behind.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::bench::{Bench, EXPERIMENT, lammps, texts, without_checksums};

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"))
}

#[test]
fn a_run_writes_a_result_folder_and_prints_a_table() {
    let bench = Bench::new(EXPERIMENT);
    let printed = bench.succeeds(&["run", "experiment.toml"]);
    let folder = bench.path().join("results/experiment");
    for file in ["summary.json", "report.html", "links.parquet", "jobs.parquet"] {
        assert!(folder.join(file).is_file(), "{file}");
    }
    assert!(printed.contains("results/experiment/report.html"), "{printed}");
    // Again, into the same folder and into another.
    bench.succeeds(&["run", "experiment.toml"]);
    bench.succeeds(&["run", "experiment.toml", "--out", "there/and/there"]);
    assert!(bench.path().join("there/and/there/summary.json").is_file());
    let hidden = bench.files().into_iter().find(|path| {
        let name = path.file_name().unwrap_or_default();
        name.to_string_lossy().starts_with('.')
    });
    assert_eq!(hidden, None, "nothing else is left");
}

#[test]
fn the_summary_has_the_documented_keys() {
    let bench = Bench::new(EXPERIMENT);
    let printed = json(&bench.succeeds(&["run", "experiment.toml", "--json", "--set", "run.warmup=1 us"]));
    let written = fs::read_to_string(bench.path().join("results/experiment/summary.json")).unwrap();
    assert_eq!(printed, without_checksums(&written), "printed and written alike");
    assert_eq!(printed["schema"], "fabricsim/summary/1");
    assert_eq!(printed["digest"].as_str().map(str::len), Some(64));
    assert_eq!(
        printed["experiment"]["network"]["router"]["delay"], "100 ns",
        "a default"
    );
    assert_eq!(printed["experiment"]["run"]["warmup"], "1 us", "an override");
    for (table, keys) in [
        (
            "network",
            "hosts routers links packets_injected packets_delivered packets_in_flight bytes_delivered \
             packet_hops mean_hops latency_ns offered_load accepted_load",
        ),
        (
            "run",
            "executor threads wall_s cpu_s peak_rss_bytes events_processed events_committed \
             events_rolled_back packet_hops_per_cpu_s",
        ),
    ] {
        for key in keys.split_whitespace() {
            assert!(!printed[table][key].is_null(), "{table}.{key}");
        }
    }
    for key in "name ranks hosts time_ns compute_ns mpi_ns messages bytes".split(' ') {
        assert!(!printed["jobs"][0][key].is_null(), "jobs.{key}");
    }
    assert_eq!(printed["network"]["hosts"], 36);
    let bound = &printed["bounds"]["accepted_load"];
    assert!(bound.as_f64().is_some_and(|bound| bound > 0.0), "{bound}");
}

#[test]
fn runs_past_saturation_say_so_and_have_no_latency_of_nothing() {
    let bench = Bench::with(
        "pattern = \"uniform\", load = 0.5",
        "pattern = \"adversarial\", load = 0.8",
    );
    let run = [
        "run",
        "experiment.toml",
        "--set",
        "run.until=20 us",
        "--set",
        "run.warmup=8 us",
    ];
    let text = bench.succeeds(&run);
    let latency = text.lines().find(|line| line.contains("packet latency, mean"));
    assert!(latency.is_some_and(|line| line.ends_with(" -")), "{text}");
    for start in [
        "warning: nothing-measured: ",
        "warning: saturated: job job0: the network accepted ",
    ] {
        assert!(
            text.lines().any(|line| line.starts_with(start)),
            "{start}: {text}"
        );
    }
    let report = fs::read_to_string(bench.path().join("results/experiment/report.html")).unwrap();
    assert!(
        report.contains("<b>saturated</b>: job job0: the network accepted ")
            && !report.contains("99 % below")
    );
    let summary = json(&bench.succeeds(&[&run[..], &["--json"]].concat()));
    let kinds: Vec<&Value> = summary["notes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|note| &note["kind"])
        .collect();
    assert_eq!(kinds, ["nothing-measured", "saturated"]);
    assert!(summary["network"]["latency_ns"]["mean"].is_null(), "{summary}");
}

#[test]
fn ranks_without_their_end_are_said_to_be_cut_off() {
    let ranks = "workload = { motif = \"allreduce\", ranks = 36 }";
    let bench = Bench::with("traffic = { pattern = \"uniform\", load = 0.5 }", ranks);
    let text = bench.succeeds(&["run", "experiment.toml", "--set", "run.until=1 us"]);
    assert!(
        text.contains("\nwarning: cut-off: job job0: the run ended at 1 µs with 0 of 36 ranks finished"),
        "{text}"
    );
    let whole = bench.succeeds(&["run", "experiment.toml", "--set", "run.until=1 s"]);
    assert!(!whole.contains("warning"), "{whole}");
}

/// Tables are compared as files, as a user would.
#[test]
fn interference_is_in_the_summary_the_table_and_the_report() {
    let Some(trace) = lammps() else { return };
    let job = format!(
        "[[job]]\nworkload = {{ otf2 = \"{}\" }}\ncompute = \"off\"\n",
        trace.display()
    );
    let traffic = "[[job]]\ntraffic = { pattern = \"uniform\", load = 0.5 }\n";
    let bench = Bench::with(traffic, &format!("{job}{traffic}"));
    let short = ["--set", "run.until=40 us"];
    let run = |rest: &[&str]| bench.succeeds(&[&["run", "experiment.toml"], &short[..], rest].concat());
    let plain = json(&run(&["--json", "--out", "plain"]));
    assert!(plain.get("interference").is_none());
    let summary = json(&run(&["--json", "--interference", "--out", "out"]));
    assert_eq!(summary["digest"], plain["digest"]);
    let written = fs::read_to_string(bench.path().join("out/summary.json")).unwrap();
    assert_eq!(summary, without_checksums(&written), "printed and written alike");
    let jobs = summary["interference"]["jobs"].as_array().unwrap();
    assert_eq!((jobs.len(), &jobs[0]["name"]), (1, &Value::from("job0")));
    for key in [
        "slowdown",
        "time_ns",
        "alone_ns",
        "mpi_ns",
        "alone_mpi_ns",
        "latency_ns",
        "alone_latency_ns",
        "alone_finished",
        "alone_digest",
    ] {
        assert!(jobs[0].get(key).is_some(), "{key}: {summary}");
    }
    assert!(jobs[0]["slowdown"].is_null(), "cut off: {summary}");
    let report = fs::read_to_string(bench.path().join("out/report.html")).unwrap();
    assert!(report.contains("<section id=\"interference\""));
    let table = run(&["--interference", "--out", "out"]);
    let line = table
        .lines()
        .find(|line| line.contains("slow-down by other jobs"));
    assert!(line.is_some_and(|line| line.ends_with(" -")), "{table}");
    assert!(table.contains("time alone"), "{table}");
    // `compare` and `report` read it from the folder.
    let compared = bench.succeeds(&["compare", "plain", "out"]);
    assert!(compared.contains("slow-down by other jobs"), "{compared}");
    bench.succeeds(&["report", "out"]);
}

#[test]
fn executors_write_the_same_files() {
    let bench = Bench::new(EXPERIMENT);
    let tables = |folder: &Path| -> BTreeMap<String, Vec<u8>> {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let tables = entries.filter(|path| path.extension().is_some_and(|e| e == "parquet"));
        tables
            .map(|path| {
                let name = path.file_name().unwrap().to_string_lossy().into_owned();
                (name, fs::read(path).unwrap())
            })
            .collect()
    };
    let mut all = Vec::new();
    for (executor, threads) in [("sequential", "1"), ("conservative", "1"), ("conservative", "3")] {
        bench.succeeds(&[
            "run",
            "experiment.toml",
            "--executor",
            executor,
            "--threads",
            threads,
            "--out",
            "here",
        ]);
        all.push(tables(&bench.path().join("here")));
    }
    assert!(all[0].len() >= 4, "{:?}", all[0].keys());
    assert!(all[0] == all[1] && all[0] == all[2], "tables differ");
}

#[test]
fn check_builds_and_does_not_run() {
    let bench = Bench::new(EXPERIMENT);
    let before = bench.files();
    let report = json(&bench.succeeds(&["check", "experiment.toml", "--json"]));
    assert_eq!(
        (&report["hosts"], &report["deadlock_free"]),
        (&36.into(), &true.into())
    );
    let text = bench.succeeds(&["check", "experiment.toml", "--set", "network.topology.groups=3"]);
    assert!(
        text.contains("12 hosts") && text.contains("deadlock free"),
        "{text}"
    );
    assert_eq!(bench.files(), before);
}

/// The rate in GiB/s is not a whole number of bits per second: everything that shows the experiment says what is used.
#[test]
fn a_rounded_rate_is_said() {
    let bench = Bench::new(&EXPERIMENT.replace("100 Gbps", "4.7 GiB/s"));
    let said = "network.link.bandwidth: \"4.7 GiB/s\" is not a whole number of bits per second; 40372692582 bps is used \
                (relative difference 9.9e-12)";
    let once = |text: &str| assert_eq!(text.matches(said).count(), 1, "{text}");
    once(&bench.succeeds(&["check", "experiment.toml"]));
    once(&bench.succeeds(&["run", "experiment.toml"]));
    let report = json(&bench.succeeds(&["check", "experiment.toml", "--json"]));
    let summary = json(&bench.succeeds(&["run", "experiment.toml", "--json"]));
    for shown in [&report, &summary] {
        assert_eq!(
            shown["experiment"]["network"]["link"]["bandwidth"],
            "40372692582 bps"
        );
        assert_eq!(shown["rounded_rates"][0]["key"], "network.link.bandwidth");
        assert_eq!(shown["rounded_rates"][0]["used_bits_per_s"], 40_372_692_582u64);
    }
    let exact = ["--set", "network.link.bandwidth=40.372692582 Gbit/s"];
    let exact = json(&bench.succeeds(&[&["run", "experiment.toml", "--json"], &exact[..]].concat()));
    assert_eq!(exact["digest"], summary["digest"]);
    assert_eq!(exact.get("rounded_rates"), None);
    let notes = exact["notes"].as_array().unwrap();
    assert!(
        notes.iter().all(|note| note["kind"] != "rounded-rate"),
        "{notes:?}"
    );
}

#[test]
fn list_shows_every_registry() {
    let bench = Bench::new(EXPERIMENT);
    let all = json(&bench.succeeds(&["list", "--json"]));
    assert!(all.as_object().is_some_and(|kinds| kinds.len() >= 8), "{all}");
    let text = bench.succeeds(&["list", "topologies"]);
    let names = all["topologies"].as_array().unwrap();
    assert!(!names.is_empty());
    for part in names {
        assert!(text.contains(part["name"].as_str().unwrap()), "{part}: {text}");
    }
    // The table of a library also says which algorithms stand in for those of the library.
    let text = bench.succeeds(&["list", "collectives"]);
    assert!(
        text.contains("bcast stand-in: binary-tree instead of split_binary_tree: halves of the vector"),
        "{text}"
    );
}

#[test]
fn list_presets_shows_presets_of_every_kind_with_the_origin_of_their_numbers() {
    let bench = Bench::new(EXPERIMENT);
    let all = json(&bench.succeeds(&["list", "presets", "--json"]));
    let kinds: Vec<&str> = all.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(kinds, ["presets", "mpi-presets", "machines", "hardware"]);
    let text = bench.succeeds(&["list", "presets"]);
    for kind in all.as_object().unwrap().values() {
        for part in kind.as_array().unwrap() {
            assert!(text.contains(part["name"].as_str().unwrap()), "{part}: {text}");
        }
    }
    for origin in ["(source: ", "(assumed: "] {
        assert!(text.contains(origin), "{text}");
    }
}

#[test]
fn trace_info_prints_what_is_in_a_trace() {
    let Some(trace) = lammps() else { return };
    let bench = Bench::new(EXPERIMENT);
    let path = trace.display().to_string();
    let info = json(&bench.succeeds(&["trace", "info", &path, "--json"]));
    assert_eq!(
        (&info["ranks"], &info["messages"]["count"]),
        (&27.into(), &19_440.into())
    );
    assert!(bench.succeeds(&["trace", "info", &path]).contains("27"));
}

#[test]
fn report_and_compare_read_results() {
    let bench = Bench::new(EXPERIMENT);
    bench.succeeds(&["run", "experiment.toml", "--out", "low"]);
    let load = ["--set", "job.0.traffic.load=0.9"];
    bench.succeeds(&[&["run", "experiment.toml", "--out", "high"][..], &load].concat());
    let report = bench.path().join("low/report.html");
    fs::remove_file(&report).unwrap();
    assert!(bench.succeeds(&["report", "low"]).contains("report.html"));
    assert!(fs::read_to_string(report).unwrap().contains("<html"));
    let again = json(&bench.succeeds(&["report", "low", "--json"]));
    assert_eq!(again["report"], "low/report.html");
    let compared = json(&bench.succeeds(&["compare", "low", "high", "--json"]));
    assert_eq!(compared[1]["name"], "high");
    assert_eq!(compared[1]["summary"]["schema"], "fabricsim/summary/1");
    let text = bench.succeeds(&["compare", "low", "high"]);
    assert!(text.contains("low") && text.contains("high"), "{text}");
}

/// The experiment in the report, as the button copies it.
fn copied(report: &Path) -> String {
    let page = fs::read_to_string(report).unwrap();
    let (_, rest) = page
        .split_once("<pre id=\"experiment-text\"")
        .expect("it is there");
    let (_, rest) = rest.split_once('>').unwrap();
    let (text, _) = rest.split_once("</pre>").unwrap();
    let marks = [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&amp;", "&"),
    ];
    let text = marks.iter().fold(text.to_string(), |text, (escaped, mark)| {
        text.replace(escaped, mark)
    });
    assert!(page.contains("data-copies=\"experiment-text\""));
    text
}

#[test]
fn the_experiment_of_the_report_gives_the_same_digests() {
    let trace = lammps().map_or(String::new(), |trace| {
        let trace = trace.display();
        format!("[[job]]\nname = \"a & <b>\"\nworkload = {{ otf2 = \"{trace}\" }}\nplacement = \"random\"\n")
    });
    let patterns = [
        trace.as_str(),
        "[[job]]\nworkload = { motif = \"halo3d-26\", pex = 2, pey = 2, pez = 2, iterations = 2 }\nstart = \"1 us\"\n\
         compute = \"off\"\n",
        "[mpi]\neager_threshold = \"2 KiB\"\n[collect]\nseries = \"vcs\"\nbin = \"500 ns\"\ntimeline = true\nwaits = \
         true\n",
    ];
    let bench = Bench::with("[run]", &format!("{}[run]\nseed = 7", patterns.concat()));
    let digests = |summary: &Value| [summary["digest"].clone(), summary["collect"].clone()];
    let first = json(&bench.succeeds(&["run", "experiment.toml", "--out", "first", "--json"]));
    let text = copied(&bench.path().join("first/report.html"));
    fs::write(bench.path().join("copied.toml"), text).unwrap();
    let second = json(&bench.succeeds(&["run", "copied.toml", "--out", "second", "--json"]));
    assert_eq!(digests(&first), digests(&second));
    assert_eq!(first["experiment"], second["experiment"]);
    // `run` prints both digests; `compare` prints whether they are equal.
    let compared = bench.succeeds(&["compare", "first", "second"]);
    for line in ["results: the same in all runs", "collected: the same in all runs"] {
        assert!(compared.contains(line), "{compared}");
    }
    for digest in digests(&first).map(|digest| digest.get("digest").cloned().unwrap_or(digest)) {
        let digest = digest.as_str().expect("a text");
        assert_eq!(compared.matches(&digest[..12]).count(), 2, "{compared}");
    }
    let run = [
        "run",
        "copied.toml",
        "--out",
        "third",
        "--set",
        "collect.waits=false",
    ];
    let printed = bench.succeeds(&run);
    let digest = first["digest"].as_str().expect("a text");
    assert!(
        printed.contains(&digest[..12]) && printed.contains("  collected"),
        "{printed}"
    );
    let compared = bench.succeeds(&["compare", "first", "third"]);
    assert!(compared.contains("results: the same in all runs"), "{compared}");
    assert!(
        compared.contains("collected: differs, as the collect settings differ"),
        "{compared}"
    );
}

#[test]
fn a_file_of_settings_comes_before_the_experiment_and_after_single_keys() {
    let mut bench = Bench::new(EXPERIMENT);
    bench.write(
        "preset.toml",
        "[network.link]\nlatency = \"77 ns\"\n[network]\npacket = \"640 B\"\n",
    );
    let given = json(&bench.succeeds(&[
        "check",
        "experiment.toml",
        "--json",
        "--set-file",
        "preset.toml",
        "--set",
        "network.packet=384 B",
    ]));
    let network = &given["experiment"]["network"];
    assert_eq!(network["packet"], "384 B", "{network}");
    assert_eq!(network["link"]["latency"], "77 ns", "{network}");
}

#[test]
fn help_and_version_are_no_errors() {
    let bench = Bench::new(EXPERIMENT);
    assert!(bench.succeeds(&["--help"]).contains("run"));
    assert!(bench.succeeds(&["run", "--help"]).contains("--set"));
    assert!(bench.succeeds(&["--version"]).contains(env!("CARGO_PKG_VERSION")));
    let output = bench.run(&[]);
    assert_eq!(output.status.code(), Some(2), "nothing to do is wrong input");
}

/// Ctrl-C: exit status 130, no result, and the earlier result unchanged.
#[cfg(target_os = "linux")]
#[test]
fn an_interrupted_run_leaves_nothing() {
    let bench = Bench::new(EXPERIMENT);
    bench.succeeds(&["run", "experiment.toml", "--out", "earlier"]);
    let before = bench.files();
    let earlier = fs::read(bench.path().join("earlier/summary.json")).unwrap();
    for (out, executor) in [("earlier", "conservative"), ("new", "sequential")] {
        let child = Command::new(bench.command().get_program())
            .current_dir(bench.path())
            .args(["run", "experiment.toml", "--set", "run.until=3600 s"])
            .args(["--out", out, "--executor", executor])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        wait_for_handler(child.id());
        let pid = child.id().to_string();
        let sent = Command::new("kill").args(["-INT", &pid]).status().unwrap();
        assert!(sent.success());
        let output = child.wait_with_output().unwrap();
        let (stdout, stderr) = texts(&output);
        assert_eq!(output.status.code(), Some(130), "{stdout}{stderr}");
        assert_eq!(stderr, "fabricsim: interrupted; no result was written\n");
        assert_eq!(stdout, "");
        assert_eq!(bench.files(), before);
    }
    assert_eq!(
        fs::read(bench.path().join("earlier/summary.json")).unwrap(),
        earlier
    );
}

/// Waits until a process catches interrupts: bit 1 of the signal mask in its status.
#[cfg(target_os = "linux")]
fn wait_for_handler(process: u32) {
    loop {
        let status = fs::read_to_string(format!("/proc/{process}/status")).expect("the process runs");
        let mask = status
            .lines()
            .find_map(|line| line.strip_prefix("SigCgt:"))
            .expect("the system tells");
        if u64::from_str_radix(mask.trim(), 16).expect("a mask") & 2 != 0 {
            return;
        }
        std::thread::yield_now();
    }
}

/// An interpreter with the package, which prints its arguments and ends with a status of its own.
#[cfg(unix)]
#[test]
fn what_the_python_package_has_is_handed_over_as_it_is() {
    use std::os::unix::fs::PermissionsExt;

    let mut bench = Bench::new(EXPERIMENT);
    let interpreter = "#!/bin/sh\n[ \"$1\" = -c ] && exit 0\nprintf '<%s>' \"$@\"\nexit 3\n";
    bench.write("python3", interpreter);
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(bench.path().join("python3"), executable).expect("it is there");
    for (arguments, handed_over) in [
        (&["sweep", "--help"][..], "<-m><fabricsim><sweep><--help>"),
        (
            &["sweep", "my sweep.toml", "--workers", "2"],
            "<-m><fabricsim><sweep><my sweep.toml><--workers><2>",
        ),
        (
            &["calibrate", "osu latency.out", "--out", "preset.toml"],
            "<-m><fabricsim><calibrate><osu latency.out><--out><preset.toml>",
        ),
        (&["calibrate", "--help"], "<-m><fabricsim><calibrate><--help>"),
        (
            &[
                "compare",
                "a",
                "b",
                "--costs",
                "costs.toml",
                "--html",
                "page.html",
            ],
            "<-m><fabricsim><compare><--html><page.html><--costs><costs.toml><--><a><b>",
        ),
    ] {
        let output = bench.command().args(arguments).env("PATH", bench.path()).output();
        let output = output.expect("the command starts");
        assert_eq!(String::from_utf8_lossy(&output.stdout), handed_over);
        assert_eq!(output.status.code(), Some(3));
    }
    let help = bench.succeeds(&["--help"]);
    assert!(help.contains("sweep") && help.contains("calibrate"));
}
