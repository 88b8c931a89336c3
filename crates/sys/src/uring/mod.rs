//! io_uring: a ring of one thread, set up as fast as this kernel allows, and what is built on it.
//!
//! Only this room knows the crate `io-uring`. A request names memory that the kernel uses until the request's
//! completion says otherwise: [`send`] and [`recv`] own that memory, and keep it (leak it, if they must)
//! until then. Sources: io_uring_setup(2), io_uring_enter(2), io_uring_register(2).

pub mod probe;
pub mod recv;
pub mod send;

use io_uring::{IoUring, cqueue, squeue, types};
use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsRawFd, RawFd};
use std::time::Duration;

/// Flags of io_uring_enter(2), and operations of io_uring_register(2), that the crate keeps to itself.
const ENTER_GETEVENTS: u32 = 1;
const ENTER_EXT_ARG: u32 = 1 << 3;
const ENTER_REGISTERED_RING: u32 = 1 << 4;
const REGISTER_RING_FDS: u32 = 20;
const UNREGISTER_RING_FDS: u32 = 21;

/// `struct io_uring_rsrc_update`.
#[repr(C)]
struct RingSlot {
    offset: u32,
    reserved: u32,
    data: u64,
}

/// A ring that only the thread that made it uses.
pub struct Ring {
    ring: IoUring,
    /// Its number among this thread's registered rings: spares the kernel a look into the file table.
    registered: Option<u32>,
    /// Calls of io_uring_enter(2).
    enters: u64,
    /// Completion queue entries taken.
    entries: u64,
    /// Registered rings belong to a thread, and so does a ring with a single issuer.
    _thread: PhantomData<*const ()>,
}

impl Ring {
    /// Room for so many requests at a time and so many completions that nobody has taken yet.
    pub fn new(requests: u32, completions: u32) -> io::Result<Ring> {
        let ring = fastest(requests.next_power_of_two(), completions.next_power_of_two())?;
        let mut ring = Ring { ring, registered: None, enters: 0, entries: 0, _thread: PhantomData };
        ring.registered = ring.register_itself();
        Ok(ring)
    }

    /// Calls of io_uring_enter(2) so far.
    pub fn enters(&self) -> u64 {
        self.enters
    }

    /// Completion queue entries taken so far.
    pub fn entries(&self) -> u64 {
        self.entries
    }

    /// Requests can name this descriptor as the fixed file 0: spares each a look into the file table.
    fn register_file(&mut self, file: RawFd) -> io::Result<()> {
        self.ring.submitter().register_files(&[file])
    }

    /// Queues a request.
    ///
    /// # Safety
    ///
    /// What it names stays alive and in place, and belongs to the kernel, until its last completion.
    #[inline]
    unsafe fn push(&mut self, request: &squeue::Entry) -> io::Result<()> {
        // SAFETY: as the caller promises.
        unsafe { self.ring.submission().push(request) }
            .map_err(|_| io::Error::other("the submission queue is full"))
    }

    /// Submits what is queued and waits until so many more completions than now are there, or a signal
    /// came: callers look and come again.
    #[inline]
    fn enter(&mut self, more: usize) -> io::Result<()> {
        self.enter_with(more, None)
    }

    /// The same for so long at most (Linux 5.11).
    #[inline]
    fn enter_for(&mut self, more: usize, limit: Duration) -> io::Result<()> {
        self.enter_with(more, Some(types::Timespec::from(limit)))
    }

    #[inline]
    fn enter_with(&mut self, more: usize, limit: Option<types::Timespec>) -> io::Result<()> {
        let queued = self.ring.submission().len() as u32;
        let wanted = (self.ring.completion().len() + more) as u32;
        let (fd, flags) = match self.registered {
            Some(index) => (index as RawFd, ENTER_GETEVENTS | ENTER_REGISTERED_RING),
            None => (self.ring.as_raw_fd(), ENTER_GETEVENTS),
        };
        self.enters += 1;
        // Without a limit it is no mask of signals, of no size.
        let arg = limit.as_ref().map(|limit| types::SubmitArgs::new().timespec(limit));
        let (arg, size, flags) = match &arg {
            Some(arg) => (std::ptr::from_ref(arg).cast(), size_of_val(arg), flags | ENTER_EXT_ARG),
            None => (std::ptr::null::<libc::c_void>(), 0, flags),
        };
        // SAFETY: the descriptor is this ring's, the argument is live; whoever queued a request answers for it.
        let result = unsafe { libc::syscall(libc::SYS_io_uring_enter, fd, queued, wanted, flags, arg, size) };
        if result >= 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            // A signal; completions that have to be taken first; memory that is short for the moment; the time is over.
            Some(libc::EINTR | libc::EBUSY | libc::EAGAIN | libc::ETIME) => Ok(()),
            _ => Err(error),
        }
    }

    /// The next completion, if one is there.
    #[inline]
    fn take(&mut self) -> Option<cqueue::Entry> {
        let entry = self.ring.completion().next()?;
        self.entries += 1;
        Some(entry)
    }

    fn register_itself(&self) -> Option<u32> {
        let mut slot = RingSlot { offset: u32::MAX, reserved: 0, data: self.ring.as_raw_fd() as u64 };
        let made = self.register_ring(REGISTER_RING_FDS, &mut slot);
        (made == 1).then_some(slot.offset)
    }

    fn register_ring(&self, operation: u32, slot: &mut RingSlot) -> libc::c_long {
        let fd = self.ring.as_raw_fd();
        // SAFETY: the kernel reads and writes one live struct of the layout that both operations take.
        unsafe { libc::syscall(libc::SYS_io_uring_register, fd, operation, &raw mut *slot, 1u32) }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        if let Some(offset) = self.registered {
            self.register_ring(UNREGISTER_RING_FDS, &mut RingSlot { offset, reserved: 0, data: 0 });
        }
    }
}

/// The fastest set-up that this kernel takes: completions are only worked on when this thread asks for
/// them (Linux 6.1), else without interrupting it (5.19), else as ever.
fn fastest(requests: u32, completions: u32) -> io::Result<IoUring> {
    let plain = || {
        let mut builder = IoUring::builder();
        builder.setup_cqsize(completions.max(requests));
        builder
    };
    let mut refused = None;
    for rank in 0..4 {
        let mut builder = plain();
        match rank {
            0 => builder.setup_single_issuer().setup_defer_taskrun().setup_submit_all().setup_no_sqarray(),
            1 => builder.setup_single_issuer().setup_defer_taskrun().setup_submit_all(),
            2 => builder.setup_coop_taskrun().setup_submit_all(),
            _ => &mut builder,
        };
        match builder.build(requests) {
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => refused = Some(error),
            made => return made,
        }
    }
    Err(refused.unwrap_or_else(|| io::Error::from_raw_os_error(libc::EINVAL)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use io_uring::opcode;

    #[test]
    fn a_ring_answers_as_many_requests_as_it_has_room_for() {
        let mut ring = match Ring::new(4, 8) {
            Ok(ring) => ring,
            Err(error) => return eprintln!("skipped: no io_uring here: {error}"),
        };
        for id in 0..4 {
            // SAFETY: a request that does nothing names no memory.
            unsafe { ring.push(&opcode::Nop::new().build().user_data(id)) }.unwrap();
        }
        // SAFETY: as above.
        assert!(unsafe { ring.push(&opcode::Nop::new().build()) }.is_err(), "no room for a fifth");
        ring.enter(4).unwrap();
        let ids: Vec<u64> = std::iter::from_fn(|| ring.take()).map(|done| done.user_data()).collect();
        assert_eq!((ids, ring.enters(), ring.entries()), (vec![0, 1, 2, 3], 1, 4));
    }

    #[test]
    fn a_thread_can_make_rings_for_ever() {
        // A thread has 16 places for registered rings: each ring gives its own back.
        for _ in 0..40 {
            match Ring::new(1, 2) {
                Ok(ring) => assert_eq!(ring.registered.is_some(), ring.ring.params().is_feature_ext_arg()),
                Err(error) => return eprintln!("skipped: no io_uring here: {error}"),
            }
        }
    }
}
