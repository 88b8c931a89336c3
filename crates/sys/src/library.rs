//! A shared library that is looked for when it is needed, so that nothing has to be there to build
//! or to start. Source: dlopen(3), dlsym(3).
//!
//! A library stays open unless it is closed by name: what it started may run on.

use super::c_library;
use std::ffi::{CStr, CString, c_void};
use std::ptr::NonNull;

const IS_STATIC: &str = "this syscost is a static build, which loads no shared library: use the ordinary one, which `cargo install` and the Debian package give";

pub struct Library {
    handle: NonNull<c_void>,
}

impl Library {
    /// The first of these names that the loader finds; otherwise what it says of the last.
    pub fn open(names: &[&str]) -> Result<Library, String> {
        // glibc would load it into a static program together with a second C library, of another version
        // perhaps, and crash in it; musl has no loader then.
        if c_library::STATIC {
            return Err(format!("{} cannot be loaded: {IS_STATIC}", names.first().unwrap_or(&"a library")));
        }
        let mut why = "no name was given".to_string();
        for name in names {
            let name = CString::new(*name).map_err(|e| e.to_string())?;
            // SAFETY: the name is a C string; the libraries asked for run nothing but their own
            // initialisers.
            let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
            match NonNull::new(handle) {
                Some(handle) => return Ok(Library { handle }),
                None => why = last_error(),
            }
        }
        Err(why)
    }

    /// Is one of these libraries here, with everything that `functions` looks up in it? Otherwise what the
    /// loader says.
    pub fn offers<T>(names: &[&str], functions: fn(&Library) -> Result<T, String>) -> Result<(), String> {
        let library = Library::open(names)?;
        let found = functions(&library).map(|_| ());
        library.close();
        found
    }

    /// Takes the library out of the process again. Only for one of which nothing was called: no
    /// function of it may be called afterwards.
    fn close(self) {
        // SAFETY: the handle is open, and is not used again.
        unsafe { libc::dlclose(self.handle.as_ptr()) };
    }

    /// The address of a function, as the pointer type `F`.
    ///
    /// # Safety
    /// `F` must be the `extern "C"` function pointer that the library's header declares.
    pub unsafe fn function<F: Copy>(&self, name: &CStr) -> Result<F, String> {
        const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
        // SAFETY: the handle is open, and the name is a C string.
        let address = unsafe { libc::dlsym(self.handle.as_ptr(), name.as_ptr()) };
        if address.is_null() {
            return Err(last_error());
        }
        // SAFETY: a pointer of the same size, which the caller says has this type.
        Ok(unsafe { std::mem::transmute_copy(&address) })
    }
}

fn last_error() -> String {
    // SAFETY: takes nothing; the text belongs to this thread until its next call.
    let text = unsafe { libc::dlerror() };
    if text.is_null() {
        return "the loader gives no reason".into();
    }
    // SAFETY: not null, hence a C string that lives until the next call, and it is copied here.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_library_and_a_missing_function_say_so() {
        let missing = Library::open(&["libsyscost-nowhere.so.0"]).err().unwrap();
        assert!(missing.contains("libsyscost-nowhere"), "{missing}");
        let Ok(library) = Library::open(&["libsyscost-nowhere.so.0", "libc.so.6", "libc.so"]) else {
            eprintln!("skipped: this libc has no shared library to open, or is linked statically");
            return;
        };
        type Getpid = unsafe extern "C" fn() -> libc::pid_t;
        // SAFETY: getpid(2) has this type.
        let getpid: Getpid = unsafe { library.function(c"getpid") }.unwrap();
        // SAFETY: getpid takes nothing and cannot fail.
        assert_eq!(unsafe { getpid() } as u32, std::process::id());
        // SAFETY: never called: it does not exist.
        assert!(unsafe { library.function::<Getpid>(c"no_such_function") }.is_err());
    }
}
