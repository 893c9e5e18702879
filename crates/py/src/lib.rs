//! FabricSim: the Python extension module
