//! FabricSim: one experiment in, one result out
