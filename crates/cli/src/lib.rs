//! FabricSim: the command line
