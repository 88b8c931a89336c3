//! Asks whether a network device could hand its receive queues to a ring (zero-copy receive).
//!
//! It must not take a queue: that restarts it, and other traffic with it. So it asks for a queue that no
//! device has, and the kernel's answer tells a device that could (ERANGE) from one that cannot.
//! Source: Documentation/networking/iou-zcrx.rst.

use crate::mapping::{Mapping, Pages, page_bytes};
use io_uring::types::{
    IORING_MEM_REGION_TYPE_USER, io_uring_region_desc, io_uring_zcrx_area_reg, io_uring_zcrx_ifq_reg,
};
use io_uring::{IoUring, cqueue, squeue};
use std::io;

/// Entries of the ring through which buffers would be given back.
const REFILLS: u32 = 64;
/// A queue number beyond those of every device; the largest one means "none".
const NO_SUCH_QUEUE: u32 = u32::MAX - 1;

/// `Ok`: the device manages its queues for others. Else the kernel's refusal.
pub fn ask(interface: u32) -> io::Result<()> {
    let mut builder = IoUring::<squeue::Entry, cqueue::Entry32>::builder();
    builder.setup_single_issuer().setup_defer_taskrun();
    let ring = builder.build(REFILLS)?;
    // The kernel wants entries of 16 bytes behind a page for the ring's head and tail.
    let refills = Mapping::anonymous(page_bytes() + 16 * REFILLS as usize, Pages::Base)?;
    let memory = Mapping::anonymous(16 * page_bytes(), Pages::Base)?;
    let region = io_uring_region_desc {
        user_addr: refills.as_ptr() as u64,
        size: refills.len() as u64,
        flags: IORING_MEM_REGION_TYPE_USER,
        ..Default::default()
    };
    let area = io_uring_zcrx_area_reg {
        addr: memory.as_ptr() as u64,
        len: memory.len() as u64,
        ..Default::default()
    };
    let request = io_uring_zcrx_ifq_reg {
        if_idx: interface,
        if_rxq: NO_SUCH_QUEUE,
        rq_entries: REFILLS,
        area_ptr: &raw const area as u64,
        region_ptr: &raw const region as u64,
        ..Default::default()
    };
    // All that the request points to outlives the ring: it is dropped first.
    let answer = ring.submitter().register_ifq(&request);
    drop(ring);
    match answer {
        Err(error) if error.raw_os_error() == Some(libc::ERANGE) => Ok(()),
        answer => answer,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_and_no_device_have_no_queues_to_give() {
        for interface in [1, i32::MAX as u32] {
            let error = ask(interface).expect_err("it is no hardware");
            // EPERM: an ordinary user; EINVAL, EOPNOTSUPP: a kernel without it; ENODEV: no such device.
            eprintln!("interface {interface}: {error}");
            assert!(error.raw_os_error().is_some(), "the kernel's own answer: {error}");
        }
    }
}
