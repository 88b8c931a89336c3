//! Each promise of docs/reliability.md, kept for real: processes are killed, disks fill, links go
//! down, peers lie; and nothing is left behind and nothing measured is lost.

mod browsed;
mod clocks;
mod conditions;
mod connections;
mod copied;
mod disks;
mod disturbed;
mod held_up;
mod hostile_files;
pub mod hosts;
mod large;
pub mod left;
mod lies;
mod limits;
mod lying_hosts;
mod logins;
pub mod machines;
mod networks;
mod nothing;
mod outputs;
mod pages;
mod peers;
mod places;
pub mod privileges;
mod promises;
mod resumed;
mod rights;
mod sandboxes;
mod text_files;
mod two_hosts;
mod unasked;
mod unplugged;
mod volume;
