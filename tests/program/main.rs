//! The program by its command line, and all that is made from a recorded run or from the sources. One binary: each one more
//! takes as long to link as the program.

mod cli;
mod commands;
mod dependencies;
mod documents;
mod generated;
mod plain_english;
mod registry;
mod report;
mod worked_examples;
