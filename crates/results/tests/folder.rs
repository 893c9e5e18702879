//! The result folder on disk: refusals first, then what is written and read.

mod sample;

use std::fs;
use std::path::Path;

use fabricsim_results::{ReadError, RunResult, Summary, WriteError, may_write, regenerate_report};

fn entries(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_folder_of_something_else_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("thesis");
    fs::create_dir(&target).unwrap();
    fs::write(target.join("chapter.tex"), "years of work").unwrap();
    let error = sample::result().write(&target, true).unwrap_err();
    assert!(matches!(error, WriteError::NotAResult { .. }));
    assert!(error.to_string().contains("chapter.tex"), "{error}");
    assert_eq!(entries(&target), ["chapter.tex"]);
    assert_eq!(entries(folder.path()), ["thesis"], "nothing hidden stays behind");
}

#[test]
fn one_can_ask_before_a_long_run() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("new/run");
    may_write(&target).unwrap();
    assert!(entries(folder.path()).is_empty(), "asking changes nothing");
    sample::result().write(&target, false).unwrap();
    may_write(&target).unwrap();
    fs::write(target.join("notes.txt"), "").unwrap();
    assert!(matches!(may_write(&target), Err(WriteError::NotAResult { .. })));
    assert!(matches!(
        may_write(&target.join("notes.txt")),
        Err(WriteError::NotAFolder(_))
    ));
    assert!(matches!(
        may_write(&target.join("notes.txt/run")),
        Err(WriteError::NotAFolder(path)) if path == target.join("notes.txt")
    ));
    assert!(matches!(
        may_write(Path::new("/")),
        Err(WriteError::NotAFolder(_))
    ));
}

#[test]
fn tables_without_a_summary_are_not_a_result() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("measured.parquet"), "somebody's data").unwrap();
    assert!(matches!(
        sample::result().write(folder.path(), true),
        Err(WriteError::NotAResult { .. })
    ));
    fs::write(
        folder.path().join("summary.json"),
        r#"{"schema": "another program"}"#,
    )
    .unwrap();
    assert!(matches!(
        sample::result().write(folder.path(), true),
        Err(WriteError::NotAResult { .. })
    ));
}

#[test]
fn a_result_with_notes_added_is_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("run");
    sample::result().write(&target, false).unwrap();
    fs::write(target.join("notes.txt"), "look at link 7").unwrap();
    let error = sample::result().write(&target, true).unwrap_err();
    assert!(error.to_string().contains("notes.txt"), "{error}");
}

#[test]
fn a_result_is_replaced_only_on_demand() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("run");
    let mut result = sample::result();
    result.write(&target, false).unwrap();
    result.summary.run.wall_s = 7.0;
    result.tables.pop();
    assert!(matches!(result.write(&target, false), Err(WriteError::Exists(_))));
    assert_ne!(Summary::load(&target).unwrap().run.wall_s, 7.0);
    result.write(&target, true).unwrap();
    assert_eq!(RunResult::load(&target).unwrap(), result);
    assert_eq!(entries(folder.path()), ["run"]);
}

#[test]
fn a_file_or_a_root_is_no_place_for_a_result() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    for place in [file.as_path(), Path::new("/"), Path::new("")] {
        assert!(
            matches!(
                sample::result().write(place, true),
                Err(WriteError::NotAFolder(_))
            ),
            "{place:?}"
        );
    }
    let below = sample::result().write(&file.join("run"), true).unwrap_err();
    assert!(matches!(below, WriteError::Io { .. }), "{below}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_refusal_of_the_system_names_the_place_and_the_reason() {
    let error = sample::result()
        .write(Path::new("/proc/fabricsim-run"), false)
        .unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("cannot write /proc/fabricsim-run: "),
        "{error}"
    );
}

#[test]
fn what_is_no_result_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let why = |text: &str| {
        fs::write(folder.path().join("summary.json"), text).unwrap();
        Summary::load(folder.path()).unwrap_err().to_string()
    };
    let missing = Summary::load(folder.path()).unwrap_err();
    assert!(matches!(missing, ReadError::NotAResult { .. }));
    assert!(
        missing.to_string().ends_with("it has no summary.json"),
        "{missing}"
    );
    assert!(why("{\"sche").contains("damaged"));
    assert!(why("{}").contains("names no schema"));
    assert!(
        why(r#"{"schema": "fabricsim/summary/99"}"#).contains("this version reads 'fabricsim/summary/1'")
    );
    assert!(why(r#"{"schema": "fabricsim/summary/1"}"#).contains("damaged"));
}

#[test]
fn a_result_comes_back_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("a/b/run");
    let result = sample::result();
    result.write(&target, false).unwrap();
    assert_eq!(RunResult::load(&target).unwrap(), result);
    assert_eq!(
        entries(&target),
        [
            "calls.parquet",
            "hops_histogram.parquet",
            "jobs.parquet",
            "latency_histogram.parquet",
            "links.parquet",
            "ranks.parquet",
            "report.html",
            "summary.json"
        ]
    );
}

#[test]
fn an_empty_folder_and_a_link_to_a_folder_are_good_places() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("empty");
    fs::create_dir(&target).unwrap();
    sample::result().write(&target, false).unwrap();
    #[cfg(unix)]
    {
        let link = folder.path().join("latest");
        std::os::unix::fs::symlink(&target, &link).unwrap();
        sample::result().write(&link, true).unwrap();
        assert!(link.symlink_metadata().unwrap().is_symlink());
    }
    assert!(Summary::load(&target).is_ok());
}

#[test]
fn the_report_can_be_made_again_from_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("run");
    sample::result().write(&target, false).unwrap();
    let before = fs::read_to_string(target.join("report.html")).unwrap();
    fs::remove_file(target.join("report.html")).unwrap();
    let path = regenerate_report(&target).unwrap();
    assert!(fs::read_to_string(path).unwrap() == before);
    assert!(regenerate_report(folder.path()).is_err());
}
