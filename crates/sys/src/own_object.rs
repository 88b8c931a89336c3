//! A user's own code in a shared object, as `include/syscost.h` declares it: what it offers, and calls into it.
//!
//! Opening it runs its initialisers: only a worker, or the process that asks what is in it, may do so. It stays open,
//! since what it started may run on.

use crate::buffer::Buffer;
use crate::library::Library;
use std::ffi::{CString, c_char, c_int, c_void};
use std::io;
use std::mem::offset_of;
use std::os::fd::RawFd;
use std::ptr;

mod entry;
mod receiving;

use entry::{MOST, RawAxis, axes, text};
pub use entry::{OwnAxis, OwnEntry, OwnKind};
use receiving::RawReceiver;
pub use receiving::{OwnReceived, OwnReceiving};

/// What `syscost new header` prints.
pub const HEADER: &str = include_str!("../include/syscost.h");
const VERSION: u32 = 1;

#[repr(C)]
struct RawSetting {
    axis: *const c_char,
    value: *const c_char,
}

#[repr(C)]
struct RawCase {
    size: usize,
    settings: *const RawSetting,
    setting_count: usize,
}

/// What an operation says that it did.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OwnDone {
    pub operations: u64,
    pub bytes: u64,
}

/// How every descriptor begins.
#[repr(C)]
struct RawHead {
    size: usize,
    name: *const c_char,
    summary: *const c_char,
    axes: *const RawAxis,
    axis_count: usize,
}

/// A descriptor of the header.
///
/// # Safety
/// It begins with a [`RawHead`], and the object's list of this kind has such descriptors.
unsafe trait RawCode: Sized + 'static {
    const KIND: OwnKind;

    fn head(&self) -> &RawHead {
        // SAFETY: as the trait demands.
        unsafe { &*ptr::from_ref(self).cast() }
    }

    /// What the header requires, and it has not.
    fn lacks(&self) -> Option<&'static str>;
}

#[repr(C)]
struct RawOperation {
    _head: RawHead,
    setup: Option<unsafe extern "C" fn(*const RawCase) -> *mut c_void>,
    run: Option<unsafe extern "C" fn(*mut c_void, u64, *mut OwnDone) -> c_int>,
    check: Option<unsafe extern "C" fn(*mut c_void) -> c_int>,
    teardown: Option<EndFunction>,
}

// SAFETY: as the header has it.
unsafe impl RawCode for RawOperation {
    const KIND: OwnKind = OwnKind::Operation;

    fn lacks(&self) -> Option<&'static str> {
        self.run.is_none().then_some("has no run()")
    }
}

#[repr(C)]
struct RawPiece {
    data: *const c_void,
    bytes: usize,
}

#[repr(C)]
struct RawMessage {
    size: usize,
    pieces: *const RawPiece,
    piece_count: usize,
    bytes: usize,
    flags: c_int,
    settings: *const RawSetting,
    setting_count: usize,
}

/// What a way to send says of itself.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OwnCounts {
    pub system_calls: u64,
    pub completions: u64,
    pub completions_copied: u64,
    pub copied_bytes: u64,
}

#[repr(C)]
struct RawMechanism {
    _head: RawHead,
    open: Option<OpenFunction>,
    send: Option<SendFunction>,
    flush: Option<unsafe extern "C" fn(*mut c_void, *mut OwnCounts) -> c_int>,
    close: Option<EndFunction>,
}

type OpenFunction = unsafe extern "C" fn(c_int, *const RawMessage) -> *mut c_void;
type SendFunction = unsafe extern "C" fn(*mut c_void, u64, *mut OwnCounts) -> c_int;
type EndFunction = unsafe extern "C" fn(*mut c_void);

// SAFETY: as the header has it.
unsafe impl RawCode for RawMechanism {
    const KIND: OwnKind = OwnKind::Mechanism;

    fn lacks(&self) -> Option<&'static str> {
        (self.open.is_none() || self.send.is_none()).then_some("lacks open() or send()")
    }
}

#[repr(C)]
struct RawExports {
    version: u32,
    size: u32,
    /// One of each [`OwnKind`].
    lists: [RawList; 3],
}

/// Pointers to descriptors.
#[repr(C)]
struct RawList {
    first: *const *const RawHead,
    count: usize,
}

/// An object that is open for the rest of this process's life.
pub struct OwnLibrary {
    exports: RawExports,
}

impl OwnLibrary {
    /// `path` needs a slash: the loader would look elsewhere.
    pub fn open(path: &str) -> Result<OwnLibrary, String> {
        let library = Library::open(&[path])?;
        // SAFETY: `dlsym` gives the address of the variable, which the header declares with this type.
        let exports: *const RawExports = unsafe { library.function(c"syscost_object") }.map_err(|why| {
            format!("it defines no syscost_object (extern const syscost_exports syscost_object): {why}")
        })?;
        // SAFETY: a variable of at least eight bytes by the header; the library is never closed.
        let [version, size] = unsafe { *exports.cast::<[u32; 2]>() };
        if version != VERSION {
            return Err(format!(
                "it was compiled with version {version} of syscost.h, and this syscost has version {VERSION}: write the header \
                 again with `syscost new header`, and compile"
            ));
        }
        if (size as usize) < offset_of!(RawExports, lists) + 2 * size_of::<RawList>() {
            return Err(format!(
                "its syscost_object says a size of {size} B: set it to sizeof(syscost_exports)"
            ));
        }
        // SAFETY: null pointers and zeroes are valid; what an older header does not have stays so.
        let mut known: RawExports = unsafe { std::mem::zeroed() };
        let length = (size as usize).min(size_of::<RawExports>());
        // SAFETY: the variable has as many bytes as it says, and so has the copy.
        unsafe { ptr::copy_nonoverlapping(exports.cast::<u8>(), (&raw mut known).cast(), length) };
        Ok(OwnLibrary { exports: known })
    }

    fn all<T: RawCode>(&self) -> Result<Vec<&'static T>, String> {
        let RawList { first, count } = &self.exports.lists[T::KIND as usize];
        // SAFETY: the header declares a list of so many pointers.
        let all = unsafe { list(first.cast::<*const T>(), *count) }?;
        all.iter().map(|raw| checked(*raw)).collect()
    }

    fn described<T: RawCode>(&self) -> Result<Vec<OwnEntry>, String> {
        let entry = |raw: &T| {
            let head = raw.head();
            let name = text(head.name, "the name of its code")?;
            let (summary, axes) = (text(head.summary, "a summary")?, axes(head.axes, head.axis_count)?);
            match raw.lacks() {
                Some(lacks) => Err(format!("its {} {name} {lacks}", T::KIND.word())),
                None => Ok(OwnEntry { called: name.clone(), name, kind: T::KIND, summary, axes }),
            }
        };
        self.all()?.into_iter().map(entry).collect()
    }

    /// Everything that it offers.
    pub fn offered(&self) -> Result<Vec<OwnEntry>, String> {
        let operations = self.described::<RawOperation>()?;
        Ok([operations, self.described::<RawMechanism>()?, self.described::<RawReceiver>()?].concat())
    }

    fn find<T: RawCode>(&self, name: &str) -> io::Result<&'static T> {
        let all = self.all::<T>().map_err(io::Error::other)?;
        let found = all.into_iter().find(|raw| text(raw.head().name, "").is_ok_and(|own| own == name));
        let found = found.ok_or_else(|| format!("the object has no {} {name}", T::KIND.word()));
        found.map_err(io::Error::other)
    }

    /// Sets up the operation of this name.
    pub fn operation(&self, name: &str, settings: &[(String, String)]) -> io::Result<OwnOperation> {
        let raw: &RawOperation = self.find(name)?;
        let settings = OwnSettings::of(settings)?;
        let case = RawCase {
            size: size_of::<RawCase>(),
            settings: settings.raw.as_ptr(),
            setting_count: settings.raw.len(),
        };
        let made = match raw.setup {
            // SAFETY: the argument is as the header says, and the object's code is trusted to be what it says.
            Some(setup) => made(|| unsafe { setup(&raw const case) }, "setup")?,
            None => ptr::null_mut(),
        };
        Ok(OwnOperation { raw, context: OwnContext { made, end: raw.teardown }, _settings: settings })
    }

    /// Opens the way of this name on a connected socket, with a message of these fields.
    pub fn mechanism(
        &self,
        name: &str,
        socket: RawFd,
        fields: Vec<Buffer>,
        settings: &[(String, String)],
    ) -> io::Result<OwnConnection> {
        let raw: &RawMechanism = self.find(name)?;
        let piece = |field: &Buffer| RawPiece { data: field.as_ptr().cast(), bytes: field.len() };
        let message =
            OwnMessage::of(fields.iter().map(piece).collect(), libc::MSG_NOSIGNAL, settings, fields)?;
        let (Some(open), Some(send)) = (raw.open, raw.send) else {
            return Err(lacking(raw, name));
        };
        // SAFETY: the message and all that it points to live as long as the connection.
        let made = made(|| unsafe { open(socket, message.raw()) }, "open")?;
        let context = OwnContext { made, end: raw.close };
        Ok(OwnConnection { raw, send, context, counts: OwnCounts::default(), _message: message })
    }
}

fn lacking<T: RawCode>(raw: &T, name: &str) -> io::Error {
    io::Error::other(format!("its {} {name} {}", T::KIND.word(), raw.lacks().unwrap_or_default()))
}

/// Pointers of a list that the object describes.
///
/// # Safety
/// A list that is not null has to have so many entries, for the rest of this process's life.
unsafe fn list<T>(first: *const *const T, count: usize) -> Result<&'static [*const T], String> {
    match (first.is_null(), count) {
        (_, 0) => Ok(&[]),
        (false, 1..=MOST) => {
            // SAFETY: as the caller says.
            Ok(unsafe { std::slice::from_raw_parts(first, count) })
        }
        (true, _) => Err(format!("it counts {count} entries of a list that is NULL")),
        (false, _) => Err(format!("it counts {count} entries of a list: at most {MOST} are read")),
    }
}

/// A descriptor that is as large as this version of the header has it.
fn checked<T: RawCode>(raw: *const T) -> Result<&'static T, String> {
    let what = format!("syscost_{}", T::KIND.word());
    if raw.is_null() {
        return Err(format!("a {what} of its lists is NULL"));
    }
    // SAFETY: not null, and the header says that a descriptor, which begins with its size, is there and constant.
    let said = unsafe { *raw.cast::<usize>() };
    if said < size_of::<T>() {
        return Err(format!("a {what} says a size of {said} B: set it to sizeof({what})"));
    }
    // SAFETY: as above; the library is never closed.
    Ok(unsafe { &*raw })
}

/// The values of an object's own axes, in memory that it may keep pointers to.
struct OwnSettings {
    raw: Vec<RawSetting>,
    _texts: Vec<CString>,
}

impl OwnSettings {
    fn of(settings: &[(String, String)]) -> io::Result<OwnSettings> {
        let (mut raw, mut texts) = (Vec::new(), Vec::new());
        for (axis, value) in settings {
            let (axis, value) = (CString::new(axis.as_str())?, CString::new(value.as_str())?);
            raw.push(RawSetting { axis: axis.as_ptr(), value: value.as_ptr() });
            texts.extend([axis, value]);
        }
        Ok(OwnSettings { raw, _texts: texts })
    }
}

/// A message as an object is given it, in memory that it may keep pointers to.
struct OwnMessage {
    raw: Box<RawMessage>,
    _held: (Vec<RawPiece>, OwnSettings, Vec<Buffer>),
}

impl OwnMessage {
    /// `fields`: what the pieces point to.
    fn of(
        pieces: Vec<RawPiece>,
        flags: c_int,
        settings: &[(String, String)],
        fields: Vec<Buffer>,
    ) -> io::Result<OwnMessage> {
        let settings = OwnSettings::of(settings)?;
        let raw = Box::new(RawMessage {
            size: size_of::<RawMessage>(),
            pieces: pieces.as_ptr(),
            piece_count: pieces.len(),
            bytes: pieces.iter().map(|piece| piece.bytes).sum(),
            flags,
            settings: settings.raw.as_ptr(),
            setting_count: settings.raw.len(),
        });
        Ok(OwnMessage { raw, _held: (pieces, settings, fields) })
    }

    fn raw(&self) -> *const RawMessage {
        &raw const *self.raw
    }
}

/// A context, or why there is none.
fn made(make: impl FnOnce() -> *mut c_void, what: &str) -> io::Result<*mut c_void> {
    // SAFETY: the address of this thread's errno is valid.
    unsafe { *libc::__errno_location() = 0 };
    let context = make();
    if !context.is_null() {
        return Ok(context);
    }
    let error = io::Error::last_os_error();
    Err(match error.raw_os_error() {
        Some(0) | None => io::Error::other(format!("{what}() returned NULL and set no errno")),
        Some(_) => error,
    })
}

fn succeeded(status: c_int, what: &str) -> io::Result<()> {
    match status {
        0 => Ok(()),
        1.. => Err(io::Error::from_raw_os_error(status)),
        _ => Err(io::Error::other(format!("{what} returned {status}, which is no errno value"))),
    }
}

/// What the object has made, and how that is ended.
struct OwnContext {
    made: *mut c_void,
    end: Option<EndFunction>,
}

impl Drop for OwnContext {
    fn drop(&mut self) {
        if let Some(end) = self.end {
            // SAFETY: the context is the object's own, and is not used again.
            unsafe { end(self.made) };
        }
    }
}

/// An operation that is set up, used by one thread.
pub struct OwnOperation {
    raw: &'static RawOperation,
    /// Ended before what it was given goes.
    context: OwnContext,
    _settings: OwnSettings,
}

impl OwnOperation {
    #[inline]
    pub fn run(&mut self, iterations: u64, done: &mut OwnDone) -> io::Result<()> {
        let Some(run) = self.raw.run else { return Err(io::Error::other("it has no run()")) };
        // SAFETY: the context is the object's own, and `done` is live and exclusively borrowed.
        succeeded(unsafe { run(self.context.made, iterations, done) }, "run()")
    }

    /// `None`: it has no check.
    pub fn check(&mut self) -> Option<io::Result<()>> {
        // SAFETY: the context is the object's own.
        self.raw.check.map(|check| succeeded(unsafe { check(self.context.made) }, "check()"))
    }
}

/// A user's way to send on one connection, used by one thread.
pub struct OwnConnection {
    raw: &'static RawMechanism,
    send: SendFunction,
    context: OwnContext,
    /// As the object has added to it.
    pub counts: OwnCounts,
    /// It was given pointers to it.
    _message: OwnMessage,
}

impl OwnConnection {
    #[inline]
    pub fn send(&mut self, messages: u64) -> io::Result<()> {
        // SAFETY: the context is the object's own; the counts are live and exclusively borrowed.
        succeeded(unsafe { (self.send)(self.context.made, messages, &raw mut self.counts) }, "send()")
    }

    #[inline]
    pub fn flush(&mut self) -> io::Result<()> {
        let Some(flush) = self.raw.flush else { return Ok(()) };
        // SAFETY: as in `send`.
        succeeded(unsafe { flush(self.context.made, &raw mut self.counts) }, "flush()")
    }
}
