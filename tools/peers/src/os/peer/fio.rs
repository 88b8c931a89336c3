//! fio: reads of 4 KiB from a file of 64 MiB, one at a time by pread(2).

use super::{Measure, Peer, figure, first_line, one};
use crate::parse::fio::latency_ns;

pub struct Fio;

const MEAN: &str =
    "a mean over all reads, in which a few slow ones weigh; two clock readings a read are in it";

const MEASURES: &[Measure] = &[
    one(
        "fio --name=r --filename={file} --size=64M --io_size=16M --bs=4k --ioengine=psync --thread --readonly --direct=1 \
         --rw=randread --output-format=json",
        &[figure("file_direct_random", latency_ns)],
        MEAN,
    ),
    one(
        "fio --name=r --filename={file} --size=64M --io_size=16M --bs=4k --ioengine=psync --thread --readonly --direct=1 \
         --rw=read --output-format=json",
        &[figure("file_direct_sequential", latency_ns)],
        MEAN,
    ),
    one(
        "fio --name=r --filename={file} --size=64M --bs=4k --ioengine=psync --thread --readonly --direct=0 --invalidate=1 \
         --rw=read --output-format=json",
        &[figure("file_cold_sequential", latency_ns)],
        MEAN,
    ),
    one(
        "fio --name=r --filename={file} --size=64M --io_size=16M --bs=4k --ioengine=psync --thread --readonly --direct=0 \
         --invalidate=1 --rw=randread --output-format=json",
        &[figure("file_cold_random", latency_ns)],
        MEAN,
    ),
];

impl Peer for Fio {
    fn id(&self) -> &'static str {
        "fio"
    }

    fn source(&self) -> &'static str {
        "Debian: fio"
    }

    fn version(&self) -> Result<String, String> {
        first_line(&self.program("fio")?, &["--version"])
    }

    fn measures(&self) -> &'static [Measure] {
        MEASURES
    }
}
