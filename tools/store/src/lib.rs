//! A store of runs: Parquet files that DuckDB, pandas and polars read, and a cell's history in them.
//!
//! - `runs.parquet`: a row a run
//! - `results/machine=HASH/month=2026-11/RUN.parquet`: a row per case and metric
//! - `months/machine=HASH/2026-11.parquet`: the same rows, a month in one file
//! - `samples/machine=HASH/month=2026-11/RUN.parquet`: a row a sample, on request
//!
//! A file is replaced as a whole, so a reader sees the old one or the new one. A module imports only modules above it in
//! this list.

pub mod table;
pub mod rows;
pub mod add;
pub mod history;
pub mod otava;
