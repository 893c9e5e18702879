//! The options of other `mpirun`s, in the spellings that scripts have: MPICH's, Open MPI's, with one dash or two.

use std::ffi::OsString;

use clap::{ArgAction, Command};

/// What becomes of an option of other `mpirun`s.
#[derive(Clone, Copy, Debug)]
enum Treatment {
    /// It is this one of ours.
    Same(&'static str),
    /// It sets a variable by `NAME=VALUE`, or passes one on by `NAME`, as all are.
    Variable,
    /// It sets a variable by its name and its value.
    NameAndValue,
    /// The ranks on a host, if it says so (`ppr:2:node`). Nothing else.
    Map,
    /// It has no meaning where all ranks run on this machine and their hosts are simulated. The number of values.
    Ignored(usize),
    /// The reason.
    Refused(&'static str),
}

const OPTIONS: &[(&[&str], Treatment)] = &[
    (&["n", "np"], Treatment::Same("--np")),
    (&["ppn", "N", "perhost", "npernode"], Treatment::Same("--ppn")),
    (&["wdir", "wd"], Treatment::Same("--wdir")),
    (
        &["l", "prepend-rank", "tag-output", "label"],
        Treatment::Same("--label"),
    ),
    (&["x"], Treatment::Variable),
    (&["genv", "env"], Treatment::NameAndValue),
    (&["map-by"], Treatment::Map),
    (
        &[
            "oversubscribe",
            "allow-run-as-root",
            "report-bindings",
            "quiet",
            "genvall",
            "envall",
        ],
        Treatment::Ignored(0),
    ),
    (
        &["bind-to", "rank-by", "launcher", "bootstrap", "rmk", "iface"],
        Treatment::Ignored(1),
    ),
    (
        &["hostfile", "machinefile", "f", "hosts", "H", "host"],
        Treatment::Ignored(1),
    ),
    (&["mca"], Treatment::Ignored(2)),
    (
        &["timeout"],
        Treatment::Refused("start it as `timeout SECONDS fabricsim mpirun ...`"),
    ),
    (
        &["outfile-pattern", "output-filename"],
        Treatment::Refused("let the program, or a script that reads PMI_RANK, open a file for each rank"),
    ),
];

/// Between the programs of several commands that other `mpirun`s start as one world.
const NEXT_PROGRAM: &str = ":";

/// What was read of a command line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CommonOptions {
    /// The command line with our options only.
    pub line: Vec<OsString>,
    /// Options that have no meaning here, as they were written.
    pub ignored: Vec<String>,
}

/// Reads the command line `fabricsim mpirun ...`, of which `ours` describes our own options.
///
/// # Errors
/// In one sentence: an option is unknown, has no value, or cannot be.
pub(crate) fn read(arguments: &[OsString], ours: &Command) -> Result<CommonOptions, String> {
    let mut line = arguments[..2].to_vec();
    let mut ignored = Vec::new();
    let mut rest = arguments[2..].iter();
    while let Some(word) = rest.as_slice().first() {
        let text = word.to_string_lossy();
        let Some(option) = text.strip_prefix('-').filter(|option| !option.is_empty()) else {
            break;
        };
        rest.next();
        if option == "-" {
            break;
        }
        let name_and_value = option.trim_start_matches('-');
        let (name, written) = match name_and_value.split_once('=') {
            Some((name, value)) => (name, Some(OsString::from(value))),
            None => (name_and_value, None),
        };
        let mut written = written.into_iter();
        let mut value = || {
            let value = written.next().or_else(|| rest.next().cloned());
            value.ok_or_else(|| format!("mpirun: {text} needs a value"))
        };
        let known = OPTIONS.iter().find(|(names, _)| names.contains(&name));
        match known.map(|(_, treatment)| *treatment) {
            Some(Treatment::Same("--label")) => line.push("--label".into()),
            Some(Treatment::Same(same)) => line.extend([same.into(), value()?]),
            Some(Treatment::Variable) => {
                let variable = value()?;
                if variable.to_string_lossy().contains('=') {
                    line.extend(["--env".into(), variable]);
                }
            }
            Some(Treatment::NameAndValue) => {
                let mut variable = value()?;
                variable.push("=");
                variable.push(value()?);
                line.extend(["--env".into(), variable]);
            }
            Some(Treatment::Map) => {
                let map = value()?;
                match ranks_per_host(&map.to_string_lossy()) {
                    Some(ranks) => line.extend(["--ppn".into(), ranks.into()]),
                    None => ignored.push(format!("{text} {}", map.display())),
                }
            }
            Some(Treatment::Ignored(values)) => {
                for _ in 0..values {
                    value()?;
                }
                ignored.push(text.into_owned());
            }
            Some(Treatment::Refused(instead)) => {
                return Err(format!("mpirun: {text} is not possible; {instead}"));
            }
            None => {
                let own = ours.get_arguments().find(|argument| {
                    argument.get_long() == Some(name)
                        || argument
                            .get_short()
                            .is_some_and(|short| name == short.to_string())
                });
                if let Some(own) = own {
                    line.push(format!("--{}", own.get_long().unwrap_or(name)).into());
                    if matches!(own.get_action(), ArgAction::Set | ArgAction::Append) {
                        line.push(value()?);
                    }
                } else if matches!(name, "help" | "h") {
                    line.push("--help".into());
                } else {
                    return Err(format!(
                        "mpirun: unknown option {text}; `fabricsim mpirun --help` lists the options, and `--` before the \
                         program ends them"
                    ));
                }
            }
        }
    }
    let command = rest.as_slice();
    if command.iter().any(|word| word == NEXT_PROGRAM) {
        return Err(
            "mpirun: several programs, divided by `:`, are not possible; start a script that reads PMI_RANK and starts one \
             of them"
                .into(),
        );
    }
    if !command.is_empty() {
        line.push("--".into());
        line.extend_from_slice(command);
    }
    Ok(CommonOptions { line, ignored })
}

/// The ranks on a host of Open MPI's `--map-by ppr:RANKS:node`.
fn ranks_per_host(map: &str) -> Option<&str> {
    let (ranks, place) = map.strip_prefix("ppr:")?.split_once(':')?;
    let place = place.split(':').next()?;
    matches!(place, "node" | "host").then_some(ranks)
}

#[cfg(test)]
mod tests {
    use clap::Arg;

    use super::*;

    fn ours() -> Command {
        Command::new("mpirun")
            .arg(Arg::new("on").long("on"))
            .arg(Arg::new("set").long("set").action(ArgAction::Append))
            .arg(Arg::new("quick").long("quick").action(ArgAction::SetTrue))
    }

    fn read_words(words: &str) -> Result<(String, Vec<String>), String> {
        let words: Vec<OsString> = words.split(' ').map(Into::into).collect();
        let read = read(&words, &ours())?;
        let line: Vec<_> = read
            .line
            .iter()
            .map(|word| word.to_string_lossy().into_owned())
            .collect();
        Ok((line.join(" "), read.ignored))
    }

    #[test]
    fn spellings_of_others_are_ours() {
        let long = "f mpirun --np 4 --on x --set a=b --quick -- app -n 3 --np 5";
        for line in [
            "f mpirun -np 4 -on x --set a=b -quick app -n 3 --np 5",
            "f mpirun -n 4 --on=x --set=a=b --quick -- app -n 3 --np 5",
        ] {
            assert_eq!(read_words(line), Ok((long.into(), Vec::new())), "{line}");
        }
        let (line, ignored) = read_words(
            "f mpirun -n 2 --mca btl tcp,self --bind-to core --oversubscribe -x A=1 -x PATH -genv B 2 --map-by ppr:3:node:PE=2 \
             -l -wdir /tmp app",
        )
        .unwrap();
        assert_eq!(
            line,
            "f mpirun --np 2 --env A=1 --env B=2 --ppn 3 --label --wdir /tmp -- app"
        );
        assert_eq!(ignored, ["--mca", "--bind-to", "--oversubscribe"]);
        assert_eq!(
            read_words("f mpirun --map-by core app").unwrap().1,
            ["--map-by core"]
        );
        assert_eq!(read_words("f mpirun -h").unwrap().0, "f mpirun --help");
        assert_eq!(read_words("f mpirun - a").unwrap().0, "f mpirun -- - a");
    }

    #[test]
    fn what_cannot_be_is_said() {
        for (line, message) in [
            ("f mpirun --wings 2 app", "unknown option --wings"),
            ("f mpirun -np", "-np needs a value"),
            ("f mpirun -genv A", "-genv needs a value"),
            ("f mpirun -n 2 a : -n 3 b", "divided by `:`"),
            ("f mpirun --timeout 5 a", "timeout SECONDS"),
        ] {
            let found = read_words(line).unwrap_err();
            assert!(found.contains(message), "{line}: {found}");
        }
    }
}
