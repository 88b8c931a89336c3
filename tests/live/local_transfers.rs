//! Every way between two processes without TCP, every byte verified.

use crate::common::all_verify;

#[test]
fn every_way_at_sizes_around_lines_and_pages() {
    all_verify(
        "local_transfer",
        &[("size", "8,9,63,64,1000,4096,65537,524289,1M"), ("threads", "1"), ("placement", "none")],
    );
}

#[test]
fn every_way_with_threads_batches_and_both_ends_on_one_cpu() {
    all_verify(
        "local_transfer",
        &[
            ("size", "13,4K,100000"),
            ("threads", "1,3"),
            ("batch", "1,7,128"),
            ("placement", "same"),
            ("alignment", "page"),
        ],
    );
}

#[test]
fn every_way_in_any_shape() {
    all_verify(
        "local_transfer",
        &[("fields", "24,512K/64x17/1x9"), ("batch", "1,16"), ("placement", "none")],
    );
}
