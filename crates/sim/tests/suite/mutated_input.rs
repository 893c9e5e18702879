//! Experiment files with mistakes give an experiment or an error with its place, never a panic.

use std::sync::LazyLock;

use experiment::{Error, Experiment};
use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::support::root;

/// The corpus, to be mutated.
static VALID: LazyLock<Vec<String>> = LazyLock::new(|| {
    let entries = std::fs::read_dir(root().join("tests/corpus")).expect("the corpus is there");
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> = paths
        .filter(|p| p.extension().is_some_and(|e| e == "toml"))
        .collect();
    paths.sort();
    paths
        .iter()
        .map(|p| std::fs::read_to_string(p).unwrap())
        .collect()
});

/// Values that do not belong there, or only just.
const VALUES: &[&str] = &[
    "0",
    "1",
    "-1",
    "3",
    "1.5",
    "nan",
    "inf",
    "9223372036854775807",
    "\"\"",
    "\"0 B\"",
    "\"1 B\"",
    "\"0 ns\"",
    "\"100 Gbps\"",
    "\"18446744073709551615 ps\"",
    "\"16777216 TiB\"",
    "\"1 Mbps\"",
    "\"18000000 Tbps\"",
    "\"torus\"",
    "\"minimal\"",
    "\"\u{fc}\u{0}\"",
    "true",
    "[]",
    "[1, 2]",
    "{}",
    "{ kind = \"mesh\", sizes = [2] }",
    "1979-05-27",
];

/// One change to a text.
#[derive(Clone, Debug)]
enum Mutation {
    DropLine(Index),
    RepeatLine(Index, Index),
    /// Puts another value behind one of the equals signs.
    Value(Index, &'static str),
    /// Replaces a letter that is not a digit; longer numbers would make larger networks.
    Letter(Index, char),
    Cut(Index),
}

fn mutation() -> impl Strategy<Value = Mutation> {
    prop_oneof![
        1 => any::<Index>().prop_map(Mutation::DropLine),
        1 => any::<(Index, Index)>().prop_map(|(from, to)| Mutation::RepeatLine(from, to)),
        12 => (any::<Index>(), select(VALUES)).prop_map(|(at, value)| Mutation::Value(at, value)),
        2 => (any::<Index>(), any::<char>()).prop_map(|(at, letter)| Mutation::Letter(at, letter)),
        1 => (any::<Index>(), select("abz_-.=\"'[]{}#, \n".chars().collect::<Vec<_>>()))
            .prop_map(|(at, letter)| Mutation::Letter(at, letter)),
        1 => any::<Index>().prop_map(Mutation::Cut),
    ]
}

impl Mutation {
    fn apply(&self, text: &str) -> String {
        let mut lines: Vec<&str> = text.lines().collect();
        if lines.is_empty() {
            return String::new();
        }
        match self {
            Mutation::DropLine(line) => {
                lines.remove(line.index(lines.len()));
            }
            Mutation::RepeatLine(from, to) => {
                let line = lines[from.index(lines.len())];
                lines.insert(to.index(lines.len()), line);
            }
            Mutation::Value(at, value) => {
                let places: Vec<usize> = text.match_indices("= ").map(|(place, _)| place + 2).collect();
                if places.is_empty() {
                    return text.into();
                }
                let start = places[at.index(places.len())];
                let rest = &text[start..];
                let end_with = |letter: char| rest[1..].find(letter).map(|end| end + 2);
                let length = match rest.chars().next() {
                    Some('"') => end_with('"'),
                    Some('[') => end_with(']'),
                    Some('{') => rest.find('\n'),
                    _ => rest.find([',', ' ', '\n']),
                };
                let length = length.unwrap_or(rest.len());
                return format!("{}{value}{}", &text[..start], &rest[length..]);
            }
            Mutation::Letter(at, letter) => {
                let mut letters: Vec<char> = text.chars().collect();
                let place = at.index(letters.len());
                if !letters[place].is_ascii_digit() && !letter.is_ascii_digit() {
                    letters[place] = *letter;
                }
                return letters.into_iter().collect();
            }
            Mutation::Cut(at) => {
                let letters: Vec<char> = text.chars().collect();
                return letters[..at.index(letters.len())].iter().collect();
            }
        }
        lines.join("\n")
    }
}

/// A mistake names file and key, and says something.
fn has_a_place(error: &config::Error) -> Result<(), TestCaseError> {
    let message = error.to_string();
    let place = error.location.as_ref().map(|location| location.file.to_string());
    prop_assert_eq!(place.as_deref(), Some("spoilt.toml"), "no place: {}", message);
    prop_assert!(
        !error.key.is_empty() || message.contains("not valid TOML"),
        "no key: {}",
        message
    );
    prop_assert!(!error.message.is_empty());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 5000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_spoilt_experiment_is_built_or_refused(
        file in any::<Index>(),
        mutations in prop::collection::vec(mutation(), 1..4),
    ) {
        let valid = &VALID[file.index(VALID.len())];
        let text = mutations.iter().fold(valid.clone(), |text, mutation| mutation.apply(&text));
        match Experiment::from_toml(&text, "spoilt.toml", &[]) {
            Ok(experiment) => prop_assert!(!experiment.jobs.is_empty()),
            Err(Error::Config(error)) => has_a_place(&error)?,
            Err(Error::Several(errors)) => {
                prop_assert!(errors.len() > 1);
                errors.iter().try_for_each(has_a_place)?;
            }
            Err(other) => prop_assert!(false, "not an error of the file: {}", other),
        }
    }
}

// Mutations by `--set`, where a key may be any text.
proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_spoilt_override_is_taken_or_refused(
        file in any::<Index>(),
        key in prop_oneof![
            "[a-z0-9_.\\-]{0,20}",
            select(&["network.packet", "run.until", "job.0.start", "job.7.start", "job", "network", "job.0",
                "run.seed", "network.topology.kind", "network.link.bandwidth", "mpi.collectives.bcast"][..])
                .prop_map(String::from),
        ],
        value in prop_oneof![select(VALUES).prop_map(String::from), "\\PC{0,12}"],
    ) {
        let set = [(key.clone(), value)];
        if let Err(error) = Experiment::from_toml(&VALID[file.index(VALID.len())], "spoilt.toml", &set) {
            let message = error.to_string();
            prop_assert!(message.contains("--set") || message.contains("spoilt.toml"), "no place: {}", message);
        }
    }
}

#[test]
fn bubbles_need_room_for_two_packets() {
    let text = |buffer: u32| {
        format!(
            "[network]\n\
             topology = {{ kind = \"torus\", sizes = [4, 4] }}\n\
             routing = {{ algorithm = \"minimal-adaptive\", escape = \"bubble\" }}\n\
             router.buffer = \"{buffer} B\"\n\
             [[job]]\ntraffic = {{ pattern = \"uniform\", load = 0.5 }}\n\
             [run]\nuntil = \"1 us\"\n"
        )
    };
    let Err(error) = Experiment::from_toml(&text(1023), "x.toml", &[]) else {
        panic!("was built");
    };
    assert_eq!(
        error.to_string(),
        "x.toml:4: network.router.buffer: 1023 B per input port are 511 B for each of 2 virtual channels, less than \
         the 2 packets that its routing needs there, of 256 B; expected at least 1 KiB"
    );
    assert!(Experiment::from_toml(&text(1024), "x.toml", &[]).is_ok());
}
