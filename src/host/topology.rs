//! CPUs, cores and where a round's threads are pinned.

/// Where sender and receiver threads run: the `placement` axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Placement {
    /// Thread pairs on different cores.
    Different,
    /// Both threads of a pair on one CPU.
    Same,
    /// Unpinned.
    None,
    /// Sender CPUs and receiver CPUs, used in turn.
    Explicit { sender: Vec<usize>, receiver: Vec<usize> },
}

impl Placement {
    /// Reads `different`, `same`, `none` or `0,2:1,3`.
    pub fn parse(text: &str) -> Result<Placement, String> {
        match text {
            "different" => return Ok(Placement::Different),
            "same" => return Ok(Placement::Same),
            "none" => return Ok(Placement::None),
            _ => {}
        }
        let error = || "write different, same, none, or sender CPUs and receiver CPUs as 0,2:1,3".to_string();
        let (sender, receiver) = text.split_once(':').ok_or_else(error)?;
        let list = |s: &str| -> Result<Vec<usize>, String> {
            s.split(',').map(|n| n.trim().parse().map_err(|_| error())).collect()
        };
        Ok(Placement::Explicit { sender: list(sender)?, receiver: list(receiver)? })
    }
}
