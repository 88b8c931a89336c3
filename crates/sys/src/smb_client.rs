//! An SMB client in user space: libsmbclient, found at run time.
//!
//! It reads one open file of one server as a guest; every read is a request to the server. The
//! library keeps its state for the whole process, so that one file at a time is enough.
//! Source: libsmbclient.h of Samba 4.

use super::library::Library;
use std::ffi::{CString, c_char, c_int, c_void};
use std::io;
use std::sync::OnceLock;

type Authenticate =
    extern "C" fn(*const c_char, *const c_char, *mut c_char, c_int, *mut c_char, c_int, *mut c_char, c_int);

struct SmbFunctions {
    init: unsafe extern "C" fn(Authenticate, c_int) -> c_int,
    open: unsafe extern "C" fn(*const c_char, c_int, libc::mode_t) -> c_int,
    lseek: unsafe extern "C" fn(c_int, libc::off_t, c_int) -> libc::off_t,
    read: unsafe extern "C" fn(c_int, *mut c_void, libc::size_t) -> libc::ssize_t,
    close: unsafe extern "C" fn(c_int) -> c_int,
}

const NAMES: &[&str] = &["libsmbclient.so.0"];

fn functions(library: &Library) -> Result<SmbFunctions, String> {
    // SAFETY: each field has the type that libsmbclient.h declares for the name.
    unsafe {
        Ok(SmbFunctions {
            init: library.function(c"smbc_init")?,
            open: library.function(c"smbc_open")?,
            lseek: library.function(c"smbc_lseek")?,
            read: library.function(c"smbc_read")?,
            close: library.function(c"smbc_close")?,
        })
    }
}

/// Is the library here, with every function? Otherwise what the loader says. Looked for once.
pub fn available() -> Result<(), String> {
    static ANSWER: OnceLock<Result<(), String>> = OnceLock::new();
    ANSWER.get_or_init(|| Library::offers(NAMES, functions)).clone()
}

/// An open file of an SMB server.
pub struct SmbFile {
    functions: SmbFunctions,
    descriptor: c_int,
}

impl SmbFile {
    /// Opens `name` of the share as a guest.
    pub fn open(server: &str, share: &str, name: &str) -> io::Result<SmbFile> {
        let library = Library::open(NAMES).map_err(io::Error::other)?;
        let functions = functions(&library).map_err(io::Error::other)?;
        let url = CString::new(format!("smb://{server}/{share}/{name}"))?;
        // SAFETY: the function lives as long as the program, and may be called at any time.
        if unsafe { (functions.init)(as_guest, 0) } < 0 {
            return Err(refused("start"));
        }
        // SAFETY: the url is a C string.
        let descriptor = unsafe { (functions.open)(url.as_ptr(), libc::O_RDONLY, 0) };
        if descriptor < 0 { Err(refused("open")) } else { Ok(SmbFile { functions, descriptor }) }
    }

    /// One READ of the protocol (the seek is the library's own book-keeping); returns the bytes read.
    #[inline]
    pub fn read_at(&mut self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        // SAFETY: the descriptor is open.
        if unsafe { (self.functions.lseek)(self.descriptor, offset as libc::off_t, libc::SEEK_SET) } < 0 {
            return Err(refused("seek"));
        }
        // SAFETY: the descriptor is open, and the buffer holds the length that is asked for.
        let got = unsafe { (self.functions.read)(self.descriptor, buffer.as_mut_ptr().cast(), buffer.len()) };
        if got < 0 { Err(refused("read")) } else { Ok(got as usize) }
    }
}

impl Drop for SmbFile {
    fn drop(&mut self) {
        // SAFETY: the descriptor is open and not used again.
        unsafe { (self.functions.close)(self.descriptor) };
    }
}

fn refused(what: &str) -> io::Error {
    let error = io::Error::last_os_error();
    io::Error::new(error.kind(), format!("libsmbclient cannot {what}: {error}"))
}

/// Answers the library's question for a name and a password: a guest, without one. Buffers come
/// with their lengths.
extern "C" fn as_guest(
    _server: *const c_char,
    _share: *const c_char,
    _workgroup: *mut c_char,
    _workgroup_length: c_int,
    user: *mut c_char,
    user_length: c_int,
    password: *mut c_char,
    password_length: c_int,
) {
    const GUEST: &[u8] = b"guest\0";
    if !user.is_null() && user_length as usize >= GUEST.len() {
        // SAFETY: the buffer has room for the name and its end, and does not overlap a constant.
        unsafe { std::ptr::copy_nonoverlapping(GUEST.as_ptr().cast(), user, GUEST.len()) };
    }
    if !password.is_null() && password_length > 0 {
        // SAFETY: the buffer has room for one byte.
        unsafe { *password = 0 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_has_a_name_and_no_password() {
        let (mut user, mut password) = ([1 as c_char; 8], [1 as c_char; 2]);
        let none = std::ptr::null_mut();
        as_guest(none, none, none, 0, user.as_mut_ptr(), 8, password.as_mut_ptr(), 2);
        assert_eq!(user.map(|c| c as u8), *b"guest\0\x01\x01");
        assert_eq!(password, [0, 1]);
        as_guest(none, none, none, 0, user.as_mut_ptr(), 2, none, 0);
    }

    #[test]
    fn the_library_is_here_or_says_why_not() {
        if let Err(why) = available() {
            assert!(why.contains("smb"), "{why}");
            eprintln!("skipped: {why}");
        }
    }
}
