//! Deadlock freedom by the channel dependency graph.
