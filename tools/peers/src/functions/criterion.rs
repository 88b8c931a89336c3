//! The bench of criterion's: one function of `spin.c`, from the object and by the name that the environment has.

use criterion::{Criterion, criterion_group, criterion_main};
use std::ffi::{CString, c_char, c_int, c_void};

// SAFETY: dlopen(3) and dlsym(3) have these types.
unsafe extern "C" {
    fn dlopen(file: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(object: *mut c_void, name: *const c_char) -> *mut c_void;
}

/// The flag RTLD_NOW of dlopen(3) on Linux.
const RTLD_NOW: c_int = 2;

fn spin(criterion: &mut Criterion) {
    let text = |name| CString::new(std::env::var(name).expect("in the environment")).expect("no zero byte");
    let (object, name) = (text("SPIN_OBJECT"), text("SPIN_NAME"));
    // SAFETY: both texts end with a zero byte.
    let found = unsafe { dlsym(dlopen(object.as_ptr(), RTLD_NOW), name.as_ptr()) };
    assert!(!found.is_null(), "{object:?} has no {name:?}");
    // SAFETY: every function of spin.c has this type.
    let spin: extern "C" fn(u64) -> u64 = unsafe { std::mem::transmute(found) };
    let mut state = 1;
    // Each call waits for the one before, as in spin.c.
    criterion.bench_function("spin", |bencher| {
        bencher.iter(|| {
            state = spin(state);
            state
        })
    });
}

criterion_group!(benches, spin);
criterion_main!(benches);
