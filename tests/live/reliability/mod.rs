//! Each promise of docs/reliability.md, kept for real: processes are killed, disks fill, links go
//! down, peers lie; and nothing is left behind and nothing measured is lost.

mod clocks;
mod disks;
mod held_up;
mod killed;
mod left;
mod peers;
mod promises;
mod hosts;
mod two_hosts;
