//! FabricSim: toy models and conformance suites
