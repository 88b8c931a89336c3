//! Names of functions outside the kernel by address: of the files that a process has mapped, by their own symbol tables.
//!
//! What inlining left of a function has its caller's name, and so has a function whose file was stripped of its names.

use object::{Object, ObjectSegment, ObjectSymbol, SymbolKind};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Files larger than this are not read for their names.
const LARGEST: u64 = 1 << 30;
/// A process whose map lacks an address is asked again so often: what it maps later has to be found.
const MOST_READINGS: u32 = 20;

/// Code of one file that a process has mapped.
#[derive(Clone, Debug, PartialEq, Eq)]
struct MappedCode {
    start: u64,
    end: u64,
    offset: u64,
    path: PathBuf,
}

/// What sampled processes have mapped. It is read while they run.
#[derive(Clone, Debug, Default)]
pub(super) struct UserMaps {
    /// Files with the user's own code.
    own: Vec<PathBuf>,
    processes: BTreeMap<u32, (u32, Vec<MappedCode>)>,
}

impl UserMaps {
    pub fn of(own: Vec<PathBuf>) -> UserMaps {
        UserMaps { own, ..UserMaps::default() }
    }

    /// The place in the user's own code from which this function of a library was called, by what lies on top of the stack.
    /// Wrappers of system calls keep no frame pointer, so that the chain lacks who called them.
    pub fn caller(&self, pid: u32, inside: u64, stack: &[u8]) -> Option<u64> {
        let mapped = &self.processes.get(&pid)?.1;
        let library = &at(mapped, inside)?.path;
        let words =
            stack.chunks_exact(8).map(|word| u64::from_ne_bytes(word.try_into().expect("eight bytes")));
        // The first that is code elsewhere is where it returns to: what lies above belongs to other frames.
        let elsewhere = words.filter_map(|word| Some((word, at(mapped, word)?)));
        let (address, code) = elsewhere.into_iter().find(|(_, code)| code.path != *library)?;
        (self.own.contains(&code.path) && !self.own.contains(library)).then_some(address)
    }

    /// Sees to it that this address is known, if the process still tells.
    pub fn learn(&mut self, pid: u32, address: u64) {
        let (readings, mapped) = self.processes.entry(pid).or_default();
        if at(mapped, address).is_none() && *readings < MOST_READINGS {
            *readings += 1;
            if let Ok(text) = fs::read_to_string(format!("/proc/{pid}/maps")) {
                *mapped = text.lines().filter_map(code).collect();
            }
        }
    }
}

/// A line of /proc/PID/maps that is code of a file: `7f..-7f.. r-xp 00001000 08:01 1234  /usr/lib/libc.so.6`.
fn code(line: &str) -> Option<MappedCode> {
    let (head, path) = line.split_at(line.find('/')?);
    let mut fields = head.split_whitespace();
    let (start, end) = fields.next()?.split_once('-')?;
    let hex = |text: &str| u64::from_str_radix(text, 16).ok();
    fields.next().filter(|rights| rights.contains('x'))?;
    Some(MappedCode { start: hex(start)?, end: hex(end)?, offset: hex(fields.next()?)?, path: path.into() })
}

fn at(mapped: &[MappedCode], address: u64) -> Option<&MappedCode> {
    mapped.iter().find(|code| (code.start..code.end).contains(&address))
}

/// Functions of one file, by the addresses that it was linked for.
#[derive(Debug, Default)]
struct FileSymbols {
    /// Offset in the file, length, address.
    segments: Vec<(u64, u64, u64)>,
    /// Start, end (0: unknown), name.
    functions: Vec<(u64, u64, String)>,
}

impl FileSymbols {
    fn read(path: &Path) -> Option<FileSymbols> {
        fs::metadata(path).ok().filter(|about| about.len() <= LARGEST)?;
        let bytes = fs::read(path).ok()?;
        let file = object::File::parse(&*bytes).ok()?;
        let segment = |segment: object::Segment<'_, '_>| {
            let (offset, length) = segment.file_range();
            (offset, length, segment.address())
        };
        let mut functions: Vec<(u64, u64, String)> = Vec::new();
        for symbol in file.symbols().chain(file.dynamic_symbols()) {
            if symbol.kind() == SymbolKind::Text && symbol.is_definition() {
                if let Ok(name) = symbol.name() {
                    let end = if symbol.size() == 0 { 0 } else { symbol.address() + symbol.size() };
                    functions.push((symbol.address(), end, plain(name)));
                }
            }
        }
        functions.sort_by_key(|(start, ..)| *start);
        functions.dedup_by_key(|(start, ..)| *start);
        Some(FileSymbols { segments: file.segments().map(segment).collect(), functions })
    }

    /// The function at this place of the file.
    fn name(&self, offset: u64) -> Option<&str> {
        let inside = |(from, length, _): &&(u64, u64, u64)| offset >= *from && offset - from < *length;
        let (from, _, address) = self.segments.iter().find(inside)?;
        let address = address + (offset - from);
        let before = self.functions.partition_point(|(start, ..)| *start <= address).checked_sub(1)?;
        let (_, end, name) = &self.functions[before];
        (*end == 0 || address < *end).then_some(name)
    }
}

/// Neither ends a frame nor is taken for the name of a file.
fn plain(name: &str) -> String {
    name.replace([';', '\n'], ":")
}

/// Names of the code that processes had mapped.
pub(super) struct UserNames<'m> {
    maps: &'m UserMaps,
    files: BTreeMap<&'m Path, Option<FileSymbols>>,
    /// What measures: its functions are no code of the user's.
    own: Option<PathBuf>,
}

impl<'m> UserNames<'m> {
    pub fn of(maps: &'m UserMaps) -> UserNames<'m> {
        UserNames { maps, files: BTreeMap::new(), own: fs::canonicalize(syscost_sys::program::path()).ok() }
    }

    /// Frames of a chain of addresses, the outermost first; the chain begins with the innermost. It ends where syscost's own
    /// code or no code of a file begins: callers are found by frame pointers, which not every function keeps.
    pub fn frames(&mut self, pid: u32, chain: &[u64]) -> Vec<String> {
        let mut frames: Vec<String> = chain.iter().map_while(|address| self.frame(pid, *address)).collect();
        frames.reverse();
        frames
    }

    /// `forward (sum.so)`
    fn frame(&mut self, pid: u32, address: u64) -> Option<String> {
        let maps: &'m UserMaps = self.maps;
        let mapped = at(&maps.processes.get(&pid)?.1, address)?;
        if self.own.as_deref() == Some(&*mapped.path) {
            return None;
        }
        let symbols = self.files.entry(&mapped.path).or_insert_with(|| FileSymbols::read(&mapped.path));
        let name = symbols.as_ref().and_then(|file| file.name(address - mapped.start + mapped.offset));
        let file = mapped.path.file_name()?.to_string_lossy();
        Some(format!("{} ({})", name.unwrap_or(super::symbols::UNKNOWN), plain(&file)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_maps_are_read_as_the_kernel_writes_them() {
        let line = "7f10a000-7f10b000 r-xp 00001000 08:01 1234                 /usr/lib/a b.so";
        let read = code(line).unwrap();
        assert_eq!((read.start, read.end, read.offset), (0x7f10_a000, 0x7f10_b000, 0x1000));
        assert_eq!(read.path, Path::new("/usr/lib/a b.so"));
        assert_eq!(code(&line.replace("r-xp", "rw-p")), None);
        assert_eq!(code("7ffd0000-7ffd1000 r-xp 00000000 00:00 0   [vdso]"), None);
    }

    #[test]
    fn a_caller_without_a_frame_is_found_on_the_stack() {
        let mapped = [
            "1000-2000 r-xp 0 08:01 1 /libc.so",
            "3000-4000 r-xp 0 08:01 1 /mine.so",
            "5000-6000 r-xp 0 08:01 1 /tool",
        ];
        let mapped = mapped.iter().filter_map(|line| code(line)).collect();
        let maps = UserMaps { own: vec!["/mine.so".into()], processes: BTreeMap::from([(7, (1, mapped))]) };
        let of = |inside: u64, stack: &[u64]| {
            let stack: Vec<u8> = stack.iter().flat_map(|word| word.to_ne_bytes()).collect();
            maps.caller(7, inside, &stack)
        };
        assert_eq!(of(0x1500, &[9, 0x1600, 0x3100, 0x5000]), Some(0x3100));
        assert_eq!(of(0x1500, &[9, 0x5000, 0x3100]), None, "the tool called it");
        assert_eq!((of(0x3500, &[0x3100]), of(0x1500, &[])), (None, None));
    }

    #[test]
    fn functions_of_this_process_have_their_names() {
        let mut maps = UserMaps::default();
        let inside = libc::getpid as *const () as u64;
        maps.learn(std::process::id(), inside);
        let mut names = UserNames::of(&maps);
        let frames = names.frames(std::process::id(), &[inside, 1, inside]);
        assert_eq!(frames.len(), 1, "nothing is at address 1: {frames:?}");
        assert!(frames[0].contains("getpid (libc"), "{frames:?}");
    }
}
