//! The C library that this program is linked with, and how.
//!
//! It is part of what is measured: memcpy, fork, posix_spawn, pthread_create, malloc and the way to the
//! vDSO's clock are its. Two builds of the same source compare only where it is the same.
//! Source: gnu_get_libc_version(3); the reference of Rust, "Static and dynamic C runtimes".

/// Linked into the program: nothing has to be on the machine, and nothing can be loaded later.
pub const STATIC: bool = cfg!(target_feature = "crt-static");

/// `glibc 2.36, shared`. Of a shared library the version is that of this machine, not of the one that built
/// the program.
pub fn name() -> String {
    format!("{}, {}", library(), if STATIC { "static" } else { "shared" })
}

#[cfg(target_env = "gnu")]
fn library() -> String {
    // SAFETY: it takes nothing and returns a C string that lives as long as the program.
    let version = unsafe { std::ffi::CStr::from_ptr(libc::gnu_get_libc_version()) };
    format!("glibc {}", version.to_string_lossy())
}

/// musl does not tell a program its version.
#[cfg(target_env = "musl")]
fn library() -> String {
    "musl".into()
}

#[cfg(not(any(target_env = "gnu", target_env = "musl")))]
compile_error!("say here how this C library is called");
