//! Unguessable bytes from the kernel. Sources: getrandom(2), urandom(4).

use std::fs::File;
use std::io::{self, Read};

/// Fills a buffer; from the device where a sandbox refuses the call.
pub fn fill(buffer: &mut [u8]) -> io::Result<()> {
    by_call(buffer).or_else(|refused| {
        let device = File::open("/dev/urandom").and_then(|mut device| device.read_exact(buffer));
        device.map_err(|error| {
            let said = format!(
                "a sandbox refuses getrandom ({refused}), and /dev/urandom cannot be read ({error}): allow one of \
                 the two"
            );
            io::Error::new(refused.kind(), said)
        })
    })
}

fn by_call(buffer: &mut [u8]) -> io::Result<()> {
    let mut done = 0;
    while done < buffer.len() {
        let left = &mut buffer[done..];
        // SAFETY: the pointer and the length describe a live, exclusively borrowed slice.
        let got = unsafe { libc::getrandom(left.as_mut_ptr().cast(), left.len(), 0) };
        match got {
            -1 => {
                let error = io::Error::last_os_error();
                if error.kind() != io::ErrorKind::Interrupted {
                    return Err(error);
                }
            }
            got => done += got as usize,
        }
    }
    Ok(())
}

/// 128 random bits as 32 hexadecimal digits.
pub fn token() -> io::Result<String> {
    let mut bytes = [0u8; 16];
    fill(&mut bytes)?;
    Ok(bytes.iter().map(|b| format!("{b:02x}")).collect())
}
