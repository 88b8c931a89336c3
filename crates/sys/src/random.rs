//! Unguessable bytes from the kernel. Sources: getrandom(2), urandom(4).

use rustix::io::retry_on_intr;
use rustix::rand::{GetRandomFlags, getrandom};
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

fn by_call(mut buffer: &mut [u8]) -> io::Result<()> {
    while !buffer.is_empty() {
        let got = retry_on_intr(|| getrandom(&mut *buffer, GetRandomFlags::empty()))?;
        buffer = &mut buffer[got..];
    }
    Ok(())
}

/// 128 random bits as 32 hexadecimal digits.
pub fn token() -> io::Result<String> {
    let mut bytes = [0u8; 16];
    fill(&mut bytes)?;
    Ok(bytes.iter().map(|b| format!("{b:02x}")).collect())
}
