//! Capabilities of the traits of router and NIC models, shown with toy models: flits whose tail time is not known
//! in advance, numbered packets on links that fail, and lossy routers with NICs that resend. All executors give the
//! same results, and every event can be undone.

mod flits;
mod line;
mod lossy;
mod retry;
mod toy;

use fabric::router::{Speedup, input_queued, output_queued, packet};
use line::Line;

#[test]
fn the_registered_models_run_on_the_line() {
    let (deliveries, _) = Line::<packet::PacketRouter, _>::new((), line::nic).check();
    assert_eq!(deliveries.len(), line::MESSAGES);
    let faster = input_queued::Parameters {
        speedup: Speedup::new(1.5).expect("a speedup"),
        output_buffer: Some(300),
        ..input_queued::Parameters::default()
    };
    for parameters in [input_queued::Parameters::default(), faster] {
        let (deliveries, _) = Line::<input_queued::InputQueuedRouter, _>::new(parameters, line::nic).check();
        assert_eq!(deliveries.len(), line::MESSAGES);
    }
    let (deliveries, _) = Line::<output_queued::OutputQueuedRouter, _>::new((), line::nic).check();
    assert_eq!(deliveries.len(), line::MESSAGES);
}
