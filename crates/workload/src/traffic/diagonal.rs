//! Diagonal: a step in every dimension at once.
//!
//! By one: the digit permutation d_x = s_x + 1 mod k of Dally and Towles 2004, table 3.1, called `neighbor`
//! there and in BookSim; in n dimensions the partner is n links away. By half of each size: to the most distant
//! router of a torus.

use super::PatternKind;
use super::pair::PartnerPattern;
use config::parameters;

pub(super) const KIND: PatternKind = PatternKind {
    name: "diagonal",
    summary: "a step in each dimension at once; on a torus, mesh or HyperX",
    parameters: parameters! {
        choice("step", &["one", "half"],
            "by how much each coordinate moves: one, or half the size, modulo the size");
    },
    example: "",
    build: |section, place| {
        let half = section.choice("step")? == "half";
        let grid = place.grid(section)?;
        let step = move |size| if half { size / 2 } else { 1 };
        let partner = move |source| grid.moved(source, |size, x| (x + step(size)) % size);
        Ok(Box::new(PartnerPattern(partner)))
    },
};

#[cfg(test)]
mod tests {
    use super::super::test_support::{FakeNetwork, partners_on};

    #[test]
    fn one_and_half() {
        let torus = FakeNetwork::torus(&[4, 3], 1);
        let one = partners_on("diagonal", "", &torus);
        assert_eq!((one[0], one[3 + 4 * 2]), (Some(1 + 4), Some(0)));
        let half = partners_on("diagonal", "step = \"half\"", &torus);
        assert_eq!((half[0], half[3 + 4 * 2]), (Some(2 + 4), Some(1)));
    }

    #[test]
    fn other_steps_are_refused() {
        let error = FakeNetwork::torus(&[4, 3], 1).error("diagonal", "step = \"quarter\"");
        assert!(error.contains("expected one of: one, half"), "{error}");
    }
}
