//! Each promise of docs/reliability.md, kept for real: processes are killed, disks fill, links go
//! down, peers lie; and nothing is left behind and nothing measured is lost.

mod hostile_files;
mod large;
mod promises;
mod soak;
mod volume;
mod hosts;
mod killed;
mod left;
mod networks;
mod peers;
mod two_hosts;
