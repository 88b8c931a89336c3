//! What a reader has to send, and which ways can send it: by what mechanisms say of themselves.

use crate::compare::study::RIVALS;
use serde::Serialize;
use syscost_core::axis::Point;
use syscost_measure::mechanism::{self, Handover, Packing, Reuse};

/// Where the payload of a reader lies before it is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Situation {
    /// In several buffers.
    Pieces,
    OneBuffer,
    File,
    /// In one buffer, and has to arrive encrypted.
    EncryptedBuffer,
    EncryptedFile,
    /// What competes asks nothing of where the payload lies.
    Anywhere,
}

impl Situation {
    /// In the order of reports.
    pub const ALL: [Situation; 6] = [
        Situation::Pieces,
        Situation::OneBuffer,
        Situation::File,
        Situation::EncryptedBuffer,
        Situation::EncryptedFile,
        Situation::Anywhere,
    ];

    /// Can this way, or case, send what the reader has?
    pub fn can_use(self, way: &Point) -> bool {
        let Some(mechanism) = way.text(RIVALS).and_then(mechanism::find) else {
            return self == Situation::Anywhere;
        };
        let facts = mechanism.about().facts;
        let file = facts.reuse == Reuse::File;
        match (self, facts.handover == Handover::Encrypted) {
            (Situation::Pieces, false) => !file && facts.packing != Packing::Beforehand,
            // A list of pieces may name one; packing one buffer, or sending it in parts, helps nobody.
            (Situation::OneBuffer, false) => {
                let lent = (facts.packing, facts.handover) == (Packing::ByKernel, Handover::Referenced);
                !file && (facts.packing == Packing::Beforehand || lent)
            }
            (Situation::File, false) | (Situation::EncryptedFile, true) => file,
            (Situation::EncryptedBuffer, true) => !file,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use syscost_core::axis::Value;

    #[test]
    fn every_mechanism_suits_somebody_and_the_control_nobody_with_pieces_or_a_file() {
        let way = |id: &str| {
            let mut way = Point::default();
            way.set(RIVALS.id, Value::text(id));
            way
        };
        for mechanism in mechanism::ALL {
            let way = way(mechanism.about().id);
            assert!(Situation::ALL.iter().any(|situation| situation.can_use(&way)), "{way}");
            assert!(!Situation::Anywhere.can_use(&way), "{way}");
        }
        let control = way(mechanism::control().about().id);
        let able: Vec<Situation> = Situation::ALL.into_iter().filter(|s| s.can_use(&control)).collect();
        assert_eq!(able, [Situation::OneBuffer]);
        assert!(Situation::Anywhere.can_use(&Point::default()));
    }
}
