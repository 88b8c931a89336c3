//! Round trips as netperf's TCP_RR makes them: the system's congestion control, and the mean of all.

use super::mean;
use crate::os::call::Setting;
use anyhow::{Context, Result};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use syscost_host::topology::pin_this_thread;

const REQUEST: usize = 56;
const ANSWER: usize = 64;

pub fn mean_round_trip(setting: &Setting<'_>) -> Result<f64> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    std::thread::scope(|scope| {
        let server = scope.spawn(move || -> Result<()> {
            pin_this_thread(setting.cpus.1)?;
            let mut stream = listener.accept()?.0;
            stream.set_nodelay(true)?;
            let mut request = [0; REQUEST];
            // The client's end is the end.
            while stream.read_exact(&mut request).is_ok() {
                stream.write_all(&[1; ANSWER])?;
            }
            Ok(())
        });
        let mut stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        let ns = mean(1, || {
            stream.write_all(&[1; REQUEST])?;
            Ok(stream.read_exact(&mut [0; ANSWER])?)
        });
        drop(stream);
        server.join().ok().context("the server failed")??;
        ns
    })
}
