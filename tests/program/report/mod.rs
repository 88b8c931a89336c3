//! A run's directory and everything rebuilt from it: files, tables, pages. The recorded-looking run is that of [`common`].

mod anatomy;
mod browser;
#[path = "../../support/browser.rs"]
mod loading;
#[path = "../../support/schema.rs"]
mod schema;
mod common;
mod comparisons;
mod cookbook;
mod audit_columns;
mod copies;
mod course;
mod ending;
mod run_files;
mod operations;
mod pages;
mod published;
mod recommendation;
mod references;
mod findings;
mod gate;
mod exports;
mod format;
