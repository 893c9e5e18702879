//! Programs that read answers. Times as in `timing`; a test that completes nothing and an Iprobe take 100 ns.

use std::sync::{Arc, Mutex};

use des::Time;
use mpi::{ALGORITHMS, AlgorithmSelection, MpiJob, Rank, TABLES, TimelineEvent, check_agreement};
use workload::{
    Answer, Call, Collective, Completed, Operation, Program, ReceivedMessage, SentMessage, Takes, TraceError,
};

use super::network::*;

const EAGER: u64 = 1000 + 102;

/// A program that gets the number of the operation and the last answer.
struct Reacting<F> {
    answer: Answer,
    number: usize,
    next: F,
}

impl<F: FnMut(usize, &Answer) -> Option<Operation> + Send> Program for Reacting<F> {
    fn next(&mut self) -> Result<Option<Operation>, TraceError> {
        self.number += 1;
        Ok((self.next)(self.number - 1, &self.answer))
    }

    fn answer(&mut self, answer: Answer) {
        self.answer = answer;
    }
}

fn reacting(next: impl FnMut(usize, &Answer) -> Option<Operation> + Send + 'static) -> Box<dyn Program> {
    let (answer, number) = (Answer::default(), 0);
    Box::new(Reacting { answer, number, next })
}

fn listed(operations: Vec<Operation>) -> Box<dyn Program> {
    Box::new(List(operations.into_iter()))
}

/// In place of the identities of messages, which `messages_are_told_apart` tests.
const UNTOLD: SentMessage = SentMessage {
    from: 0,
    to: 0,
    sequence: 0,
};

fn without_identities(answer: &Answer) -> Answer {
    let mut answer = answer.clone();
    let messages = answer.completed.iter_mut().filter_map(|c| c.message.as_mut());
    messages.for_each(|message| message.sent = UNTOLD);
    answer
}

/// A program of these operations, and its answers without identities of messages: the first is that of its start.
fn noting(operations: Vec<Operation>) -> (Box<dyn Program>, Arc<Mutex<Vec<Answer>>>) {
    let answers = Arc::new(Mutex::new(Vec::new()));
    let (noted, mut operations) = (answers.clone(), operations.into_iter());
    let program = reacting(move |_, answer| {
        noted.lock().unwrap().push(without_identities(answer));
        operations.next()
    });
    (program, answers)
}

fn select(call: Call, requests: &[u64]) -> Operation {
    let (takes, blocks) = match call {
        Call::Waitany => (Takes::First, true),
        Call::Waitsome => (Takes::Complete, true),
        Call::Testany => (Takes::First, false),
        Call::Testsome => (Takes::Complete, false),
        _ => (Takes::All, false),
    };
    Operation::Select {
        requests: requests.to_vec(),
        takes,
        blocks,
        call,
    }
}

fn iprobe(from: Option<u32>, tag: Option<u32>) -> Operation {
    Operation::Iprobe {
        from,
        tag,
        communicator: 0,
        call: Call::Iprobe,
    }
}

fn completed(request: Option<u64>, source: u32, tag: u32, bytes: u64) -> Completed {
    Completed {
        request,
        message: Some(ReceivedMessage {
            source,
            tag,
            bytes,
            sent: UNTOLD,
        }),
    }
}

fn answer(now_ns: u64, flag: bool, completed: &[Completed]) -> Answer {
    Answer {
        now_ps: now_ns * 1000,
        flag,
        completed: completed.to_vec(),
    }
}

#[test]
fn waitany_ends_with_the_first_message_and_leaves_the_other_requests() {
    let (program, answers) = noting(vec![
        ireceive(Some(1), None, 100, 1),
        ireceive(Some(2), None, 100, 2),
        select(Call::Waitany, &[1, 2]),
        select(Call::Waitany, &[1]),
    ]);
    let late = listed(vec![compute(5000), send(0, 6, 50)]);
    let outcome = run_answering(
        settings(),
        fixed(),
        vec![program, late, listed(vec![send(0, 7, 100)])],
    );
    outcome.unwrap().assert_clean();
    let first = 10 + EAGER + 20;
    let second = 5000 + 10 + 1052 + 20;
    let expected = [
        answer(0, false, &[]),
        answer(0, false, &[]),
        answer(0, false, &[]),
        answer(first, true, &[completed(Some(2), 2, 7, 100)]),
        answer(second, true, &[completed(Some(1), 1, 6, 50)]),
    ];
    assert_eq!(*answers.lock().unwrap(), expected);
}

#[test]
fn waitsome_takes_all_that_are_complete() {
    let receives = || (1..4).map(|from| ireceive(Some(from), None, 100, from.into()));
    let programs = |operations: Vec<Operation>| {
        let (program, answers) = noting(operations);
        let sending = |after| listed(vec![compute(after), send(0, 7, 100)]);
        (vec![program, sending(0), sending(50), sending(9000)], answers)
    };
    for call in [Call::Waitsome, Call::Testsome] {
        let selected = [compute(5000), select(call, &[1, 2, 3]), wait(&[3])];
        let (programs, answers) = programs(receives().chain(selected).collect());
        run_answering(settings(), fixed(), programs)
            .unwrap()
            .assert_clean();
        let both = [completed(Some(1), 1, 7, 100), completed(Some(2), 2, 7, 100)];
        assert_eq!(
            answers.lock().unwrap()[5],
            answer(5000 + 40, true, &both),
            "{}",
            call.name()
        );
    }
    // The first of the list that is complete.
    let selected = [compute(5000), select(Call::Testany, &[3, 2, 1]), wait(&[1, 3])];
    let (programs, answers) = programs(receives().chain(selected).collect());
    run_answering(settings(), fixed(), programs)
        .unwrap()
        .assert_clean();
    let of_2 = [completed(Some(2), 2, 7, 100)];
    assert_eq!(answers.lock().unwrap()[5], answer(5000 + 20, true, &of_2));
}

#[test]
fn a_loop_of_tests_ends() {
    let program = reacting(|number, answer| match number {
        0 => Some(ireceive(Some(1), None, 100, 9)),
        _ if answer.flag => None,
        _ => Some(select(Call::Test, &[9])),
    });
    let outcome = run_answering(settings(), fixed(), vec![program, listed(vec![send(0, 7, 100)])]).unwrap();
    outcome.assert_clean();
    // The message comes at 1112 ns. Twelve tests before end at 1200 ns.
    assert_eq!(outcome.end_ns(0), 1200 + 20);
    assert_eq!(outcome.stats(0).call(Call::Test).calls, 13);
}

#[test]
fn testall_waits_for_the_last_and_closes_nothing_before() {
    let (program, answers) = noting(vec![
        ireceive(Some(1), None, 100, 1),
        ireceive(Some(2), None, 100, 2),
        compute(2000),
        select(Call::Testall, &[1, 2]),
        compute(5000),
        select(Call::Testall, &[2, 1]),
        select(Call::Testall, &[]),
    ]);
    let late = listed(vec![compute(3000), send(0, 7, 100)]);
    let outcome = run_answering(
        settings(),
        fixed(),
        vec![program, listed(vec![send(0, 7, 100)]), late],
    );
    outcome.unwrap().assert_clean();
    let answers = answers.lock().unwrap();
    assert_eq!(answers[4], answer(2100, false, &[]));
    let both = [completed(Some(2), 2, 7, 100), completed(Some(1), 1, 7, 100)];
    assert_eq!(answers[6], answer(7100 + 40, true, &both));
    assert_eq!(answers[7], answer(7140 + 100, true, &[]));
}

#[test]
fn iprobe_sees_a_message_and_leaves_it() {
    let seen = Arc::new(Mutex::new(None));
    let noted = seen.clone();
    let program = reacting(move |number, answer| {
        let mut noted = noted.lock().unwrap();
        match (number, &*noted) {
            (_, Some(_)) if answer.flag => Some(receive(None, Some(7), 100)),
            (_, Some(_)) => None,
            _ if answer.flag => {
                *noted = Some(without_identities(answer));
                Some(receive(None, Some(7), 100))
            }
            _ => Some(iprobe(None, Some(7))),
        }
    });
    let outcome = run_answering(settings(), fixed(), vec![program, listed(vec![send(0, 7, 100)])]).unwrap();
    outcome.assert_clean();
    let found = [completed(None, 1, 7, 100)];
    assert_eq!(*seen.lock().unwrap(), Some(answer(1300, true, &found)));
    assert_eq!(outcome.end_ns(0), 1300 + 20);
}

#[test]
fn receives_and_probes_say_what_came() {
    let (program, answers) = noting(vec![
        probe(None, None),
        receive(None, None, 1000),
        receive(Some(1), None, 2000),
        isend(1, 0, 3000, 5),
        wait(&[5]),
    ]);
    let other = listed(vec![send(0, 3, 80), send(0, 4, 2000), receive(None, None, 3000)]);
    let outcome = run_answering(settings(), fixed(), vec![program, other]);
    outcome.unwrap().assert_clean();
    let answers = answers.lock().unwrap();
    assert_eq!(answers[1].completed, [completed(None, 1, 3, 80)]);
    assert_eq!(answers[2].completed, [completed(None, 1, 3, 80)]);
    assert_eq!(
        answers[3].completed,
        [completed(None, 1, 4, 2000)],
        "a rendezvous"
    );
    assert_eq!(answers[4].completed, []);
    let (request, message) = (Some(5), None);
    assert_eq!(answers[5].completed, [Completed { request, message }]);
}

#[test]
fn collectives_end_a_wait_for_any() {
    let (program, answers) = noting(vec![
        ireceive(Some(1), Some(7), 100, 1),
        nonblocking(Collective::Barrier, 0, 0, 0, 2),
        select(Call::Waitany, &[1, 2]),
        wait(&[1]),
    ]);
    let barrier = nonblocking(Collective::Barrier, 0, 0, 0, 8);
    let other = listed(vec![barrier, wait(&[8]), compute(9000), send(0, 7, 100)]);
    run_answering(settings(), fixed(), vec![program, other])
        .unwrap()
        .assert_clean();
    let (request, message) = (Some(2), None);
    assert_eq!(
        answers.lock().unwrap()[3].completed,
        [Completed { request, message }]
    );
}

#[test]
fn what_waits_for_any_is_named() {
    let (program, _) = noting(vec![ireceive(Some(1), None, 100, 1), select(Call::Waitany, &[1])]);
    let outcome = run_answering(settings(), fixed(), vec![program, listed(vec![])]).unwrap();
    let rank = &outcome.ranks[0];
    let waiting = rank.waiting_for();
    let expected = "MPI_Waitany for a message from rank 1, any tag, communicator 0";
    assert_eq!(
        (waiting.as_deref(), rank.awaited_ranks()),
        (Some(expected), vec![])
    );
}

#[test]
fn programs_without_answers_and_wrong_requests_are_errors() {
    let waits = vec![ireceive(Some(0), None, 8, 1), select(Call::Waitany, &[1])];
    let error = run(settings(), fixed(), vec![waits]).map(|_| ());
    let message = error.unwrap_err().to_string();
    assert!(
        message.starts_with("rank 0: MPI_Waitany: the simulation decides what it completes"),
        "{message}"
    );
    let (program, _) = noting(vec![select(Call::Testany, &[4])]);
    let error = run_answering(settings(), fixed(), vec![program]).map(|_| ());
    assert_eq!(
        error.unwrap_err().to_string(),
        "rank 0: MPI_Testany: request 4 was never opened, or is already completed"
    );
}

#[test]
fn times_do_not_depend_on_reading_answers() {
    let operations = vec![
        isend(1, 7, 1000, 1),
        ireceive(Some(1), None, 100, 2),
        compute(300),
        wait(&[1, 2]),
    ];
    let other = || vec![receive(None, None, 1000), send(0, 1, 100)];
    let plain = run(settings(), fixed(), vec![operations.clone(), other()]).unwrap();
    let (program, _) = noting(operations);
    let answered = run_answering(settings(), fixed(), vec![program, listed(other())]).unwrap();
    assert_eq!(plain.end(0), answered.end(0));
    assert!(plain.end(0) > Time::ZERO);
}

fn matched_probe(from: Option<u32>, message: u64, blocks: bool) -> Operation {
    Operation::MatchedProbe {
        from,
        tag: None,
        communicator: 0,
        message,
        blocks,
        call: if blocks { Call::Mprobe } else { Call::Improbe },
    }
}

fn receive_matched(message: u64, bytes: u64, request: Option<u64>) -> Operation {
    Operation::ReceiveMatched {
        message,
        bytes,
        request,
        call: Call::Mrecv,
    }
}

fn cancel(request: u64) -> Operation {
    Operation::Cancel {
        request,
        call: Call::Cancel,
    }
}

/// The receive after the probe fits both messages, and gets the second one.
#[test]
fn a_matched_probe_takes_its_message_from_all_other_receives() {
    for blocks in [true, false] {
        let (program, answers) = noting(vec![
            compute(if blocks { 0 } else { 5000 }),
            matched_probe(Some(1), 8, blocks),
            receive(Some(1), None, 100),
            receive_matched(8, 100, Some(1)),
            wait(&[1]),
        ]);
        let sends = listed(vec![send(0, 7, 100), compute(9000), send(0, 6, 50)]);
        let outcome = run_answering(settings(), fixed(), vec![program, sends]);
        outcome.unwrap().assert_clean();
        let answers = answers.lock().unwrap();
        let probed = if blocks { 10 + EAGER } else { 5000 + 100 };
        let second = 10 + 9000 + 10 + 1052 + 20;
        assert_eq!(answers[2], answer(probed, true, &[completed(None, 1, 7, 100)]));
        assert_eq!(answers[3], answer(second, false, &[completed(None, 1, 6, 50)]));
        // The receive costs its overhead when it is awaited.
        assert_eq!(
            answers[5],
            answer(second + 20, false, &[completed(Some(1), 1, 7, 100)])
        );
    }
}

#[test]
fn a_matched_probe_without_a_message_says_so() {
    let (program, answers) = noting(vec![matched_probe(None, 8, false), receive_matched(8, 100, None)]);
    let error = run_answering(settings(), fixed(), vec![program])
        .err()
        .expect("an error")
        .to_string();
    assert!(error.contains("request 8 was never opened"), "{error}");
    assert_eq!(answers.lock().unwrap()[1], answer(100, false, &[]));
    let twice = vec![matched_probe(None, 8, true), matched_probe(None, 8, true)];
    let sends = listed(vec![send(0, 7, 100), send(0, 7, 100)]);
    let error = run_answering(settings(), fixed(), vec![noting(twice).0, sends]);
    assert!(
        error
            .err()
            .expect("an error")
            .to_string()
            .contains("request 8 is still open")
    );
}

/// The sender of a long message is cleared when the message is received, not when it is found.
#[test]
fn a_rendezvous_waits_for_the_receive_of_its_matched_message() {
    let end = |operations: Vec<Operation>| {
        let (program, answers) = noting(operations);
        let outcome = run_answering(
            settings(),
            fixed(),
            vec![program, listed(vec![send(0, 7, 1_000_000)])],
        );
        outcome.unwrap().assert_clean();
        let answers = answers.lock().unwrap();
        answers.last().unwrap().now_ps
    };
    let received = end(vec![compute(20_000), receive(Some(1), None, 1_000_000)]);
    let mut probed = vec![matched_probe(None, 3, true)];
    let found = end(vec![
        matched_probe(None, 3, true),
        receive_matched(3, 1_000_000, None),
    ]);
    assert!(found < received, "{found} {received}");
    // Until the same time.
    probed.push(compute(20_000));
    probed.push(receive_matched(3, 1_000_000, None));
    let probed = end(probed);
    assert!(
        probed > received,
        "the computation begins when the message is found"
    );
}

#[test]
fn a_receive_is_cancelled_until_it_has_a_message() {
    let (program, answers) = noting(vec![
        ireceive(Some(1), None, 100, 1),
        ireceive(Some(1), None, 100, 2),
        cancel(1),
        wait(&[1, 2]),
        ireceive(Some(1), None, 100, 3),
        compute(9000),
        cancel(3),
        wait(&[3]),
    ]);
    let sends = listed(vec![send(0, 7, 100), send(0, 6, 50)]);
    let outcome = run_answering(settings(), fixed(), vec![program, sends]);
    outcome.unwrap().assert_clean();
    let answers = answers.lock().unwrap();
    assert_eq!(answers[3], answer(0, true, &[]));
    let of_first = Completed {
        request: Some(1),
        message: None,
    };
    assert_eq!(answers[4].completed, [of_first, completed(Some(2), 1, 7, 100)]);
    assert!(!answers[7].flag, "it has its message");
    assert_eq!(answers[8].completed, [completed(Some(3), 1, 6, 50)]);
}

#[test]
fn programs_that_read_no_answers_have_neither() {
    for operation in [receive_matched(1, 8, None), cancel(1), made(1, &[0])] {
        let error = run(settings(), fixed(), vec![vec![operation]])
            .err()
            .expect("an error")
            .to_string();
        assert!(
            error.contains("reads no answers") || error.contains("reacts") || error.contains("request 1"),
            "{error}"
        );
    }
}

fn made(communicator: u32, members: &[u32]) -> Operation {
    Operation::NewCommunicator {
        communicator,
        members: members.to_vec(),
        call: Call::CommSplit,
    }
}

fn allreduce(communicator: u32, bytes: u64) -> Operation {
    Operation::Collective {
        collective: Collective::Allreduce,
        communicator,
        root: 0,
        bytes,
        counts: None,
        request: None,
        reduction: None,
        call: Call::Allreduce,
    }
}

/// Rank 2 says in its message who is a member: whoever sends first is not. Its message in the new communicator comes
/// before the receiver knows that.
#[test]
fn ranks_make_communicators_of_what_they_have_learned() {
    let sender = |late: u64| {
        reacting(move |number, answer| {
            Some(match number {
                0 => compute(late),
                1 => send(2, 0, 10),
                2 => receive(Some(2), None, 100),
                3 if answer.completed[0].message.unwrap().tag == 1 => made(5, &[2, 1]),
                4 => Operation::Send {
                    to: 0,
                    tag: 9,
                    communicator: 5,
                    bytes: 10,
                    request: None,
                    call: Call::Send,
                },
                5 => allreduce(5, 8),
                _ => return None,
            })
        })
    };
    let (chooser, answers) = noting(vec![
        receive(None, None, 100),
        receive(None, None, 100),
        send(0, 0, 10),
        send(1, 1, 10),
        compute(9000),
        made(5, &[2, 1]),
        Operation::Receive {
            from: None,
            tag: None,
            communicator: 5,
            bytes: 10,
            request: None,
            call: Call::Recv,
        },
        allreduce(5, 8),
    ]);
    let outcome = run_answering(settings(), fixed(), vec![sender(0), sender(3000), chooser]);
    outcome.unwrap().assert_clean();
    let answers = answers.lock().unwrap();
    assert_eq!(answers[1].completed, [completed(None, 0, 0, 10)]);
    assert_eq!(answers[6].now_ps, answers[5].now_ps, "it takes no time");
    // Rank 1 of the job is rank 1 of the communicator, where rank 2 is rank 0.
    assert_eq!(answers[7].completed, [completed(None, 1, 9, 10)]);
    assert!(answers[8].now_ps > answers[7].now_ps);
}

/// The algorithm for ranks that share hosts is selected in communicators of the job and in those that ranks make.
#[test]
fn collectives_of_new_communicators_know_the_hosts() {
    let ends = |communicator: u32, made_by_ranks: bool| {
        let mut settings = settings();
        let table = TABLES.iter().find(|table| table.name == "openmpi-5.0").unwrap();
        settings.collectives = AlgorithmSelection::table(table);
        let members = vec![3, 1, 2, 0];
        let world: Vec<u32> = (0..4).collect();
        let job = MpiJob::new(4, vec![world, members.clone()].into(), settings).unwrap();
        let program = || {
            let making = made_by_ranks.then(|| made(communicator, &members));
            listed(making.into_iter().chain([allreduce(communicator, 800)]).collect())
        };
        let job = Arc::new(job.on_hosts(|rank| rank / 2));
        let outcome = run_job_answering(job.clone(), fixed(), (0..4).map(|_| program()).collect()).unwrap();
        outcome.assert_clean();
        let ends: Vec<Time> = (0..4).map(|rank| outcome.end(rank)).collect();
        let two_level = |(_, _, event): &(u32, Time, TimelineEvent)| match event {
            TimelineEvent::SendIssued {
                algorithm: Some(index),
                ..
            } => ALGORITHMS[usize::from(*index)].name == "two-level",
            _ => false,
        };
        assert!(outcome.traced.iter().any(two_level));
        ends
    };
    assert_eq!(ends(1, false), ends(9, true));
}

#[test]
fn communicators_that_contradict_each_other_are_refused() {
    for (operations, needle) in [
        (
            vec![made(0, &[0])],
            "rank 0: MPI_Comm_split: the number of a new communicator is 0",
        ),
        (
            vec![made(4, &[0, 7])],
            "rank 0: MPI_Comm_split: communicator 4 has the member 7",
        ),
        (
            vec![made(4, &[1])],
            "rank 0: MPI_Comm_split: the rank is not a member of communicator 4",
        ),
        (
            vec![made(4, &[0]), made(4, &[0, 1])],
            "communicator 4 was made before of 1 ranks",
        ),
        (vec![allreduce(4, 8)], "there is no communicator 4"),
    ] {
        let programs = vec![noting(operations).0, listed(Vec::new())];
        let error = run_answering(settings(), fixed(), programs)
            .err()
            .expect("an error");
        assert!(error.to_string().contains(needle), "{error}");
    }
}

#[test]
fn ranks_disagree_about_a_collective_of_a_communicator_that_they_made() {
    let program = |bytes| noting(vec![made(4, &[1, 0]), allreduce(4, bytes)]).0;
    let job = Arc::new(MpiJob::new(2, vec![vec![0, 1]].into(), settings()).unwrap());
    let outcome = run_job_answering(job.clone(), fixed(), vec![program(8), program(16)]).unwrap();
    let ranks: Vec<Option<&Rank>> = outcome.ranks.iter().map(Some).collect();
    let programs = None::<fn(u32) -> Result<Box<dyn Program>, TraceError>>;
    let error = check_agreement(&job, &ranks, programs).unwrap_err().to_string();
    assert!(
        error.starts_with("collective 0 of communicator 4: ranks 0 and 1 differ"),
        "{error}"
    );
}

/// Notes what leaves, and what its receives bring.
struct Identified {
    operations: std::vec::IntoIter<Operation>,
    seen: Arc<Mutex<Vec<SentMessage>>>,
    left: Arc<Mutex<Vec<SentMessage>>>,
}

impl Program for Identified {
    fn next(&mut self) -> Result<Option<Operation>, TraceError> {
        Ok(self.operations.next())
    }

    fn answer(&mut self, answer: Answer) {
        let messages = answer.completed.iter().filter_map(|c| c.message);
        self.seen.lock().unwrap().extend(messages.map(|m| m.sent));
    }

    fn sent(&mut self, message: SentMessage) {
        self.left.lock().unwrap().push(message);
    }
}

/// The second receive takes the second message of its sender, and is complete first: the first message is a
/// rendezvous. Messages of collectives, in between, are not told.
#[test]
fn messages_are_told_apart() {
    let (seen, left) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(Vec::new())));
    let identified = |operations: Vec<Operation>| {
        Box::new(Identified {
            operations: operations.into_iter(),
            seen: seen.clone(),
            left: left.clone(),
        })
    };
    let barrier = || Operation::Collective {
        collective: Collective::Barrier,
        communicator: 0,
        root: 0,
        bytes: 0,
        counts: None,
        request: None,
        reduction: None,
        call: Call::Barrier,
    };
    let sender = identified(vec![
        barrier(),
        isend(1, 5, 1 << 20, 1),
        isend(1, 5, 8, 2),
        wait(&[1, 2]),
    ]);
    let receiver = identified(vec![
        barrier(),
        ireceive(Some(0), Some(5), 1 << 20, 7),
        ireceive(Some(0), None, 100, 8),
        select(Call::Waitany, &[7, 8]),
        wait(&[7]),
    ]);
    let outcome = run_answering(settings(), fixed(), vec![sender, receiver]);
    outcome.unwrap().assert_clean();
    let left = left.lock().unwrap().clone();
    let sequences: Vec<u32> = left.iter().map(|message| message.sequence).collect();
    assert!(left.iter().all(|message| (message.from, message.to) == (0, 1)));
    assert!(
        sequences.len() == 2 && sequences[0] + 1 == sequences[1],
        "{sequences:?}"
    );
    assert_eq!(*seen.lock().unwrap(), [left[1], left[0]]);
}

/// A look takes messages in the order in which they came, and no time where there are none.
#[test]
fn a_look_for_arrived_messages_takes_no_time() {
    let look = |blocks| Operation::Select {
        requests: vec![1, 2, 3],
        takes: Takes::Arrived,
        blocks,
        call: Call::Testsome,
    };
    // The receives are not posted in the order in which their messages come.
    let receives = [(1, 3), (2, 1), (3, 2)].map(|(request, from)| ireceive(Some(from), None, 100, request));
    let (program, answers) = noting(
        receives
            .into_iter()
            .chain([look(false), compute(5000), look(false)])
            .collect(),
    );
    let sending = |after| listed(vec![compute(after), send(0, 7, 100)]);
    let outcome = run_answering(
        settings(),
        fixed(),
        vec![program, sending(0), sending(50), sending(90)],
    );
    outcome.unwrap().assert_clean();
    let answers = answers.lock().unwrap();
    assert_eq!(answers[4], answer(0, false, &[]));
    let all = [
        completed(Some(2), 1, 7, 100),
        completed(Some(3), 2, 7, 100),
        completed(Some(1), 3, 7, 100),
    ];
    assert_eq!(answers[6], answer(5000 + 3 * 20, true, &all));
    let (program, answers) = noting(vec![
        ireceive(Some(1), None, 100, 1),
        Operation::Select {
            requests: vec![1],
            takes: Takes::Arrived,
            blocks: true,
            call: Call::Waitsome,
        },
    ]);
    let outcome = run_answering(settings(), fixed(), vec![program, sending(0)]);
    outcome.unwrap().assert_clean();
    let first = answer(10 + EAGER + 20, true, &[completed(Some(1), 1, 7, 100)]);
    assert_eq!(answers.lock().unwrap()[2], first);
}
