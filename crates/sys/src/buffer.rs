//! A heap buffer of stated alignment.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ops::{Deref, DerefMut};

/// Bytes at an address that is a multiple of the asked alignment. Its address never changes, so
/// the kernel may read it while the owner holds it.
#[derive(Debug)]
pub struct Buffer {
    start: *mut u8,
    layout: Layout,
}

impl Buffer {
    /// `bytes` zeroed bytes; `align` must be a power of two. An empty buffer allocates one byte.
    pub fn zeroed(bytes: usize, align: usize) -> Buffer {
        let layout = Layout::from_size_align(bytes, align).expect("alignment is a power of two");
        let allocated = Layout::from_size_align(bytes.max(1), align).expect("as above");
        // SAFETY: the layout's size is not zero.
        let start = unsafe { alloc_zeroed(allocated) };
        if start.is_null() {
            handle_alloc_error(layout);
        }
        Buffer { start, layout }
    }

    #[inline]
    pub fn as_ptr(&self) -> *const u8 {
        self.start
    }

    #[inline]
    pub fn as_mut_ptr(&mut self) -> *mut u8 {
        self.start
    }
}

impl Deref for Buffer {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: `start` points to `layout.size()` initialised bytes that this value owns.
        unsafe { std::slice::from_raw_parts(self.start, self.layout.size()) }
    }
}

impl DerefMut for Buffer {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `deref`, and the borrow is unique.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.layout.size()) }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let allocated = Layout::from_size_align(self.layout.size().max(1), self.layout.align())
            .expect("the layout it was made with");
        // SAFETY: allocated in `zeroed` with this layout, and freed once.
        unsafe { dealloc(self.start, allocated) }
    }
}

// SAFETY: the buffer owns its memory and hands out references under the usual borrow rules.
unsafe impl Send for Buffer {}
// SAFETY: shared access is read-only.
unsafe impl Sync for Buffer {}
