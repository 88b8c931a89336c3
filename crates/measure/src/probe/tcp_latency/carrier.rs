//! What carries the messages of a latency: the connection itself, or something beside it.

use crate::mechanism::Sender;
use crate::probe::Task;
use crate::probe::transfer::{connection, receiver, sender};
use crate::receiver::Receiver;
use anyhow::Result;
use std::collections::BTreeMap;
use std::net::TcpStream;

/// What a side needs on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WantedEnds {
    Sender,
    Receiver,
    Both,
}

impl WantedEnds {
    pub fn sends(self) -> bool {
        self != WantedEnds::Receiver
    }

    pub fn receives(self) -> bool {
        self != WantedEnds::Sender
    }
}

#[derive(Default)]
pub struct CarrierEnds {
    pub sender: Option<Box<dyn Sender>>,
    pub receiver: Option<Box<dyn Receiver>>,
}

#[derive(Clone, Copy)]
pub struct LatencyCarrier {
    pub ends: fn(&Task, &TcpStream, WantedEnds) -> Result<CarrierEnds>,
    /// Do messages go over the connection? Else both sides make their ends before a schedule is told on it.
    pub is_the_connection: bool,
    /// Of a side's first connection.
    pub facts: fn(&TcpStream) -> BTreeMap<String, String>,
}

/// By the case's mechanism and receiver.
pub const OVER_TCP: LatencyCarrier = LatencyCarrier {
    ends: |task, stream, wanted| {
        Ok(CarrierEnds {
            sender: wanted.sends().then(|| sender::start(task, stream)).transpose()?,
            receiver: wanted.receives().then(|| receiver::start(task, stream)).transpose()?,
        })
    },
    is_the_connection: true,
    facts: connection::facts,
};
