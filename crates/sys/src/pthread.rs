//! The C library's threads, bare: made with attributes that stay the same, and joined.
//!
//! Sources: pthread_create(3), pthread_join(3), pthread_attr_setstacksize(3).

use std::ffi::c_void;
use std::io;
use std::mem::MaybeUninit;

/// How a thread is made. Freed on drop.
pub struct Attributes(libc::pthread_attr_t);

impl Attributes {
    /// The defaults, but for the stack's size: a whole number of pages, not below the least.
    pub fn with_stack(bytes: usize) -> io::Result<Attributes> {
        let mut attributes = MaybeUninit::uninit();
        // SAFETY: the pointer is to room for the attributes, which it initialises.
        checked(unsafe { libc::pthread_attr_init(attributes.as_mut_ptr()) })?;
        // SAFETY: initialised by the call above, which succeeded.
        let mut attributes = Attributes(unsafe { attributes.assume_init() });
        // SAFETY: initialised attributes, borrowed exclusively.
        checked(unsafe { libc::pthread_attr_setstacksize(&raw mut attributes.0, bytes) })?;
        Ok(attributes)
    }
}

impl Drop for Attributes {
    fn drop(&mut self) {
        // SAFETY: initialised, and destroyed once.
        unsafe { libc::pthread_attr_destroy(&raw mut self.0) };
    }
}

/// Makes a thread that adds one to `count` and returns it, and waits for it.
#[inline]
pub fn create_and_join(attributes: &Attributes, count: u64) -> io::Result<u64> {
    extern "C" fn add_one(count: *mut c_void) -> *mut c_void {
        // SAFETY: the pointer is to the maker's integer, which it does not touch until it has joined.
        unsafe { *count.cast::<u64>() += 1 };
        std::ptr::null_mut()
    }
    let mut count = count;
    let mut thread = MaybeUninit::uninit();
    let argument = (&raw mut count).cast();
    // SAFETY: live attributes; the argument lives on this stack until the thread is joined below.
    checked(unsafe {
        libc::pthread_create(thread.as_mut_ptr(), &raw const attributes.0, add_one, argument)
    })?;
    // SAFETY: the thread was made, is joinable, and is joined once.
    checked(unsafe { libc::pthread_join(thread.assume_init(), std::ptr::null_mut()) })?;
    Ok(count)
}

/// These functions return the error instead of setting errno.
fn checked(error: i32) -> io::Result<()> {
    if error == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(error)) }
}
