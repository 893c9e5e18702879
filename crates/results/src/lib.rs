//! FabricSim: histograms, tables, digest, Parquet, summary and report
