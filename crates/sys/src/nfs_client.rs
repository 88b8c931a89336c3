//! An NFS client in user space: libnfs, found at run time.
//!
//! It reads one open file of one server, and caches nothing: libnfs has no page cache unless one
//! is asked for, and its read-ahead is switched off. Source: nfsc/libnfs.h of libnfs 4 and 5.

use super::library::Library;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::io;
use std::ptr::null_mut;
use std::sync::OnceLock;

/// `struct nfs_url`: the part that is read here. The names in it belong to the url.
#[repr(C)]
struct Url {
    server: *mut c_char,
    path: *mut c_char,
    file: *mut c_char,
}

type Context = *mut c_void;
type Handle = *mut c_void;

struct NfsFunctions {
    init_context: unsafe extern "C" fn() -> Context,
    destroy_context: unsafe extern "C" fn(Context),
    get_error: unsafe extern "C" fn(Context) -> *const c_char,
    parse_url: unsafe extern "C" fn(Context, *const c_char) -> *mut Url,
    destroy_url: unsafe extern "C" fn(*mut Url),
    set_timeout: unsafe extern "C" fn(Context, c_int),
    mount: unsafe extern "C" fn(Context, *const c_char, *const c_char) -> c_int,
    open: unsafe extern "C" fn(Context, *const c_char, c_int, *mut Handle) -> c_int,
    close: unsafe extern "C" fn(Context, Handle) -> c_int,
    pread: unsafe extern "C" fn(Context, Handle, u64, u64, *mut c_void) -> c_int,
}

/// The soname counts changes of the interface; these have the functions above as they are here.
const NAMES: &[&str] = &["libnfs.so.13", "libnfs.so.14", "libnfs.so.12"];
/// A server that is there answers at once.
const TIMEOUT_MS: c_int = 10_000;

fn functions(library: &Library) -> Result<NfsFunctions, String> {
    // SAFETY: each field has the type that nfsc/libnfs.h declares for the name.
    unsafe {
        Ok(NfsFunctions {
            init_context: library.function(c"nfs_init_context")?,
            destroy_context: library.function(c"nfs_destroy_context")?,
            get_error: library.function(c"nfs_get_error")?,
            parse_url: library.function(c"nfs_parse_url_dir")?,
            destroy_url: library.function(c"nfs_destroy_url")?,
            set_timeout: library.function(c"nfs_set_timeout")?,
            mount: library.function(c"nfs_mount")?,
            open: library.function(c"nfs_open")?,
            close: library.function(c"nfs_close")?,
            pread: library.function(c"nfs_pread")?,
        })
    }
}

/// Is the library here, with every function? Otherwise what the loader says. Looked for once.
pub fn available() -> Result<(), String> {
    static ANSWER: OnceLock<Result<(), String>> = OnceLock::new();
    ANSWER.get_or_init(|| Library::offers(NAMES, functions)).clone()
}

/// An open file of an NFS server.
pub struct NfsFile {
    functions: NfsFunctions,
    context: Context,
    handle: Handle,
}

impl NfsFile {
    /// Mounts `export` of the server by NFS 4 and opens `name` in it.
    pub fn open(server: &str, export: &str, name: &str) -> io::Result<NfsFile> {
        let library = Library::open(NAMES).map_err(io::Error::other)?;
        let functions = functions(&library).map_err(io::Error::other)?;
        // SAFETY: takes nothing; null is checked.
        let context = unsafe { (functions.init_context)() };
        if context.is_null() {
            return Err(io::Error::other("libnfs gives no context"));
        }
        let mut file = NfsFile { functions, context, handle: null_mut() };
        file.mount(&c_string(&format!("nfs://{server}{export}?version=4&readahead=0"))?)?;
        let name = c_string(&format!("/{name}"))?;
        // SAFETY: the context is live, the name is a C string, and the handle is written to a live
        // pointer.
        let status = unsafe {
            (file.functions.open)(file.context, name.as_ptr(), libc::O_RDONLY, &raw mut file.handle)
        };
        file.check(status, "open").map(|_| file)
    }

    fn mount(&mut self, url: &CStr) -> io::Result<()> {
        // SAFETY: the context is live and the url is a C string; null is checked.
        let parsed = unsafe { (self.functions.parse_url)(self.context, url.as_ptr()) };
        if parsed.is_null() {
            return Err(self.error("parse the url", -libc::EINVAL));
        }
        // SAFETY: the context and the url are live; the names in the url are C strings of its own.
        let status = unsafe {
            (self.functions.set_timeout)(self.context, TIMEOUT_MS);
            let status = (self.functions.mount)(self.context, (*parsed).server, (*parsed).path);
            (self.functions.destroy_url)(parsed);
            status
        };
        self.check(status, "mount").map(|_| ())
    }

    /// One READ of the protocol; returns the bytes read.
    #[inline]
    pub fn read_at(&mut self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let (start, length) = (buffer.as_mut_ptr().cast(), buffer.len() as u64);
        // SAFETY: context and handle are live, and the buffer holds the length that is asked for.
        let got = unsafe { (self.functions.pread)(self.context, self.handle, offset, length, start) };
        self.check(got, "read").map(|got| got as usize)
    }

    fn check(&self, status: c_int, what: &str) -> io::Result<c_int> {
        if status < 0 { Err(self.error(what, status)) } else { Ok(status) }
    }

    /// Functions return the negative error number, and keep a text beside it.
    fn error(&self, what: &str, status: c_int) -> io::Error {
        // SAFETY: the context is live; the text belongs to it.
        let text = unsafe { (self.functions.get_error)(self.context) };
        let text = if text.is_null() {
            String::new()
        } else {
            // SAFETY: not null, hence a C string, which is copied before the next call.
            unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
        };
        let error = io::Error::from_raw_os_error(-status);
        io::Error::new(error.kind(), format!("libnfs cannot {what}: {error} {text}"))
    }
}

impl Drop for NfsFile {
    fn drop(&mut self) {
        // SAFETY: handle and context are live, are released in this order, and not used again.
        unsafe {
            if !self.handle.is_null() {
                (self.functions.close)(self.context, self.handle);
            }
            (self.functions.destroy_context)(self.context);
        }
    }
}

fn c_string(text: &str) -> io::Result<CString> {
    CString::new(text).map_err(io::Error::from)
}
