//! Where a cell runs: sender and receiver each with a namespace and a CPU, one route, cubic.
//!
//! The congestion control is a property of the route (`congctl`), so that tools without a flag for
//! it get it too and the host's default stays what it is; what a fresh connection really has is
//! read back. Nothing outside the private namespaces is changed. Source: ip-route(8), tcp(7).

use crate::cell::Path;
use crate::namespace::{self, Namespace};
use crate::process::{self, Seat};
use anyhow::{Context, Result, bail};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;

pub const CONGESTION_CONTROL: &str = "cubic";
const SENDER: Ipv4Addr = Ipv4Addr::new(10, 89, 0, 1);
const RECEIVER: Ipv4Addr = Ipv4Addr::new(10, 89, 0, 2);

/// Both ends of a path.
pub struct Place {
    sender: Namespace,
    /// `None`: the sender's (loopback).
    receiver: Option<Namespace>,
    cpus: (usize, usize),
    pub sender_address: Ipv4Addr,
    pub receiver_address: Ipv4Addr,
    /// What a connection from sender to receiver reported: TCP_CONGESTION.
    pub congestion_control: String,
    /// Interface settings that matter, as `ip` reports them.
    pub mtu: String,
}

impl Place {
    /// With a veth pair of this MTU; a loopback keeps the kernel's.
    pub fn new(path: Path, mtu: Option<u32>, cpus: (usize, usize)) -> Result<Place> {
        let mut place = Place {
            sender: Namespace::new()?,
            receiver: match path {
                Path::Veth => Some(Namespace::new()?),
                Path::Loopback => None,
            },
            cpus,
            sender_address: SENDER,
            receiver_address: match path {
                Path::Veth => RECEIVER,
                Path::Loopback => Ipv4Addr::LOCALHOST,
            },
            congestion_control: String::new(),
            mtu: String::new(),
        };
        match path {
            Path::Veth => place.lay_veth(mtu)?,
            Path::Loopback => place.lay_loopback()?,
        }
        place.congestion_control = place.connection_congestion_control()?;
        if place.congestion_control != CONGESTION_CONTROL {
            bail!(
                "connections on {path} use {}, not {CONGESTION_CONTROL}: is tcp_{CONGESTION_CONTROL} available?",
                place.congestion_control
            );
        }
        Ok(place)
    }

    pub fn sender(&self) -> Seat {
        Seat { namespace: self.sender.fd(), cpu: self.cpus.0 }
    }

    pub fn receiver(&self) -> Seat {
        let namespace = self.receiver.as_ref().unwrap_or(&self.sender);
        Seat { namespace: namespace.fd(), cpu: self.cpus.1 }
    }

    /// CPU of the sender, CPU of the receiver.
    pub fn cpus(&self) -> (usize, usize) {
        self.cpus
    }

    fn lay_veth(&mut self, asked: Option<u32>) -> Result<()> {
        let other = self.receiver.as_ref().expect("a veth pair has two namespaces").proc_path();
        ip(self.sender(), &format!("link add sender type veth peer name receiver netns {other}"))?;
        let ends =
            [(self.sender(), "sender", SENDER, RECEIVER), (self.receiver(), "receiver", RECEIVER, SENDER)];
        for (seat, device, own, peer) in ends {
            ip(seat, "link set lo up")?;
            ip(seat, &format!("addr add {own}/32 dev {device}"))?;
            if let Some(bytes) = asked {
                ip(seat, &format!("link set {device} mtu {bytes}"))?;
            }
            ip(seat, &format!("link set {device} up"))?;
            let route = format!("route add {peer}/32 dev {device} src {own} congctl {CONGESTION_CONTROL}");
            ip(seat, &route)?;
        }
        self.mtu = mtu(&ip(self.sender(), "-o link show sender")?)?;
        Ok(())
    }

    fn lay_loopback(&mut self) -> Result<()> {
        let seat = self.sender();
        ip(seat, "link set lo up")?;
        // getaddrinfo(3) with AI_ADDRCONFIG, as netperf calls it, wants an address beside 127/8.
        ip(seat, &format!("addr add {SENDER}/32 dev lo"))?;
        let route = format!(
            "route replace local 127.0.0.1 dev lo table local proto kernel scope host src 127.0.0.1 congctl {CONGESTION_CONTROL}"
        );
        ip(seat, &route)?;
        self.mtu = mtu(&ip(seat, "-o link show lo")?)?;
        Ok(())
    }

    /// Connects once from sender to receiver and asks the socket.
    fn connection_congestion_control(&self) -> Result<String> {
        let (sender, receiver, address) =
            (self.sender().namespace, self.receiver().namespace, self.receiver_address);
        std::thread::spawn(move || -> Result<String> {
            namespace::enter(receiver)?;
            let listener = TcpListener::bind((address, 0))?;
            namespace::enter(sender)?;
            let stream = TcpStream::connect(listener.local_addr()?)?;
            tcp_congestion(&stream)
        })
        .join()
        .expect("the thread does not panic")
        .context("the receiver cannot be reached from the sender")
    }
}

fn tcp_congestion(stream: &TcpStream) -> Result<String> {
    let mut name = [0u8; 16];
    let mut length = name.len() as libc::socklen_t;
    // SAFETY: the pointers describe a live array and its length.
    let result = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_CONGESTION,
            name.as_mut_ptr().cast(),
            &mut length,
        )
    };
    if result < 0 {
        return Err(std::io::Error::last_os_error()).context("TCP_CONGESTION");
    }
    let text = &name[..length as usize];
    let end = text.iter().position(|b| *b == 0).unwrap_or(text.len());
    Ok(String::from_utf8_lossy(&text[..end]).into_owned())
}

/// Runs ip(8) in a seat's namespace.
fn ip(seat: Seat, arguments: &str) -> Result<String> {
    let mut command = process::command("ip", seat);
    let output = command.args(arguments.split_whitespace()).output().context("cannot run ip (iproute2)")?;
    if !output.status.success() {
        bail!("ip {arguments}: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn mtu(link: &str) -> Result<String> {
    let mut words = link.split_whitespace().skip_while(|word| *word != "mtu");
    Ok(words.nth(1).context("ip prints no MTU")?.to_string())
}
