//! The binary: hands the hidden namespace keeper its process, before anything else may start a thread.

use syscost::host::namespaces;

fn main() {
    if std::env::args().nth(1).as_deref() == Some(namespaces::KEEPER_SUBCOMMAND) {
        std::process::exit(namespaces::keeper_main());
    }
}
