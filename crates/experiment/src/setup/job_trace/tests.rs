//! Traces that are read, and lines that are refused.

use super::*;

fn read_all(format: &str, text: &[u8]) -> Result<(Vec<JobRecord>, TraceHeader), String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace");
    std::fs::write(&path, text).unwrap();
    let mut records = Vec::new();
    let header = JobTraceFormat::named(format)
        .unwrap()
        .read(&path, "t", &mut |record| {
            records.push(record);
            Ok(ControlFlow::Continue(()))
        })?;
    Ok((records, header))
}

fn s(seconds: u64) -> Option<TraceTime> {
    TraceTime::from_s(seconds)
}

#[test]
fn names_and_extensions_tell_the_format() {
    for (file, name) in [
        ("a/b.swf", Some("swf")),
        ("x.CSV", Some("csv")),
        ("x.txt", None),
        ("swf", None),
    ] {
        assert_eq!(
            JobTraceFormat::of_file(file).map(|format| format.name),
            name,
            "{file}"
        );
    }
}

/// The lines of the example in the definition of the format, with a cancelled job and the parts of a checkpointed one.
#[test]
fn standard_workload_format() {
    let text = "; Version: 2\n;  MaxNodes: 128 (of two kinds)\n; MaxProcs: 512\n; Note: MaxProcs counts processors\n\n\
        1 0 5 3600 64 12.5 -1 -1 7200 -1 1 3 4 17 0 1 -1 -1\r\n\
        \t2 60 -1 -1 -1 -1 -1 16 600 -1 5 3 4 -1 0 1 -1 -1\n\
        3 70 0 20 8 -1 -1 8 -1 -1 2 3 4 17 0 1 -1 -1\n\
        4 80 0 10 8 -1 -1 8 -1 -1 1 3 4 17 0 1 3 10";
    let (records, header) = read_all("swf", text.as_bytes()).unwrap();
    let expected = TraceHeader {
        max_nodes: Some(128),
        max_processors: Some(512),
    };
    assert_eq!(header, expected);
    let first = JobRecord {
        line: 6,
        name: Some("1".into()),
        arrival: s(0),
        size: Some(JobSize::Processors(64)),
        duration: s(3600),
        estimate: s(7200),
        application: Some("17".into()),
        ranks_per_host: None,
    };
    assert_eq!(records[0], first);
    let cancelled = JobRecord {
        line: 7,
        name: Some("2".into()),
        arrival: s(60),
        size: Some(JobSize::Processors(16)),
        duration: None,
        estimate: s(600),
        application: None,
        ranks_per_host: None,
    };
    assert_eq!(records[1], cancelled);
    assert_eq!(records[2].line, 9);
    assert_eq!(records.len(), 3);
}

#[test]
fn comma_separated_values() {
    let text = "\u{feff}# a comment\nname, arrival,nodes,duration,application,estimate,ranks_per_host\r\n\
        \r\n\
        \"a, \"\"b\"\"\" ,0.5,16,\"90 ms\",halo,-1,4\n\
        ,1,-1,,,2,\n";
    let (records, _) = read_all("csv", text.as_bytes()).unwrap();
    let first = JobRecord {
        line: 4,
        name: Some("a, \"b\"".into()),
        arrival: Some(TraceTime { ns: 500_000_000 }),
        size: Some(JobSize::Nodes(16)),
        duration: Some(TraceTime { ns: 90_000_000 }),
        estimate: None,
        application: Some("halo".into()),
        ranks_per_host: Some(4),
    };
    let second = JobRecord {
        line: 5,
        arrival: s(1),
        estimate: s(2),
        ..JobRecord::default()
    };
    assert_eq!(records, [first, second]);
}

#[test]
fn reading_stops_when_the_receiver_has_enough() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    std::fs::write(&path, "arrival,nodes,duration,application\n1,1,1,a\nx,y\n").unwrap();
    let format = JobTraceFormat::of_file("t.csv").unwrap();
    assert!(
        format
            .read(&path, "t.csv", &mut |_| Ok(ControlFlow::Break(())))
            .is_ok()
    );
    let error = format.read(&path, "t.csv", &mut |_| Err("is not for me".into()));
    assert_eq!(error, Err("t.csv:2: is not for me".into()));
}

#[test]
fn wrong_lines_are_refused_by_field() {
    let swf = |field: usize, value: &str| {
        let mut fields = ["1"; 18];
        fields[field - 1] = value;
        fields.join(" ")
    };
    let header = "arrival,nodes,duration,application,estimate,ranks_per_host\n";
    let csv = |line: &str| format!("{header}{line}\n");
    let long = "1 ".repeat(40_000);
    for (format, text, needle) in [
        (
            "swf",
            "1 2 3".to_string(),
            "t:1: has 3 fields; expected the 18 fields",
        ),
        ("swf", swf(18, "1 1"), "t:1: has 19 fields"),
        (
            "swf",
            format!("; x\n{}", swf(4, "1.5")),
            "t:2: field 4 (run time): '1.5' is not a number of at least 0; expected one, or -1: not known",
        ),
        ("swf", swf(2, "-2"), "t:1: field 2 (submit time): '-2' is not"),
        (
            "swf",
            swf(5, "many"),
            "t:1: field 5 (number of allocated processors): 'many' is not",
        ),
        (
            "swf",
            swf(6, "x"),
            "t:1: field 6 (average CPU time used): 'x' is not",
        ),
        (
            "swf",
            swf(9, "18446744074"),
            "t:1: field 9 (requested time): 18446744074 s is more than 584 years",
        ),
        (
            "swf",
            swf(2, "99999999999999999999"),
            "t:1: field 2 (submit time)",
        ),
        (
            "swf",
            long,
            "t:1: has more than 65536 bytes; expected a job in each line",
        ),
        (
            "csv",
            String::new(),
            "t:1: has no header; expected a line such as arrival,nodes,duration,application",
        ),
        (
            "csv",
            "arrival,nodes,duration\n".into(),
            "t:1: the column 'application' is missing",
        ),
        (
            "csv",
            "arrival,node\n".into(),
            "t:1: unknown column 'node'; did you mean 'nodes'?",
        ),
        ("csv", "nodes,nodes\n".into(), "t:1: column 'nodes' stands twice"),
        (
            "csv",
            csv("1,2,3"),
            "t:2: has 3 values; expected 6, as the header",
        ),
        (
            "csv",
            csv("x,2,3,a,,"),
            "t:2: column 'arrival': 'x' is no time; expected a time of the trace",
        ),
        (
            "csv",
            csv("1,2.5,3,a,,"),
            "t:2: column 'nodes': '2.5' is not a whole number",
        ),
        (
            "csv",
            csv("1,2,3 h,a,,"),
            "t:2: column 'duration': '3 h' is no time",
        ),
        (
            "csv",
            csv("1,2,3,a,-3,"),
            "t:2: column 'estimate': '-3' is no time",
        ),
        (
            "csv",
            csv("1,2,3,a,,0"),
            "t:2: column 'ranks_per_host': 0 is out of range; expected 1 to 4096",
        ),
        (
            "csv",
            csv("1,2,3,\"a,,"),
            "t:2: column 4: the quote is not closed",
        ),
        (
            "csv",
            csv("1,2,3,\"a\"b,,"),
            "t:2: column 4: 'b,,' follows a quote; expected a comma",
        ),
    ] {
        let message = read_all(format, text.as_bytes()).unwrap_err();
        assert!(message.contains(needle), "{text}: {message}");
    }
    let message = read_all("csv", b"arrival\xff\n").unwrap_err();
    assert!(message.contains("t:1: is no UTF-8"), "{message}");
    let format = JobTraceFormat::named("swf").unwrap();
    let missing = format.read(Path::new("nowhere"), "nowhere", &mut |_| {
        Ok(ControlFlow::Continue(()))
    });
    assert!(missing.unwrap_err().starts_with("nowhere: "));
}
