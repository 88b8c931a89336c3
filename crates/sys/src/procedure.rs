//! Procedures with 0 to 7 integer arguments, and loops that call them: written as machine code.
//!
//! A compiler folds, inlines or vectorises a call that does nothing; here each loop holds one real
//! call instruction and sets every argument anew, as the platform's calling convention puts it.
//! The called procedure adds its last argument, which is 1, to a sum that the loop returns: the sum
//! proves how often it was called and that the argument arrived where the convention says.
//! Sources: System V AMD64 ABI, section 3.2.3; Procedure Call Standard for the Arm 64-bit
//! Architecture, section 6.

/// A loop of calls of one procedure.
#[derive(Clone, Copy, Debug)]
pub struct Calls {
    /// Calls `procedure` this often (at least once) and returns the sum, which is that number.
    run: extern "C" fn(u64) -> u64,
    procedure: extern "C" fn(),
}

impl Calls {
    /// Calls the procedure this often, at least once; the result is how often it was called.
    pub fn run(&self, n: u64) -> u64 {
        (self.run)(n.max(1))
    }

    /// Where the loop's machine code begins: for a look at it.
    pub fn code(&self) -> *const u8 {
        self.run as *const u8
    }

    /// The address that the loop's call instruction must lead to.
    pub fn procedure(&self) -> *const u8 {
        self.procedure as *const u8
    }
}

/// The loop for this many arguments; `None`: not written for this processor, or more than seven.
pub fn calls(arguments: u64) -> Option<Calls> {
    CALLS.get(usize::try_from(arguments).ok()?).copied()
}

/// The same loop without the call: what is subtracted. `None` as for [`calls`].
pub fn empty_loop(n: u64) -> Option<u64> {
    EMPTY.map(|run| run(n.max(1)))
}

/// A function of these instructions and no others, by this name in the program. (Naked functions are newer than the
/// oldest Rust that builds this.)
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! machine_code {
    ($symbol:expr, fn $name:ident($($argument:ident: $type:ty)?) $(-> $returned:ty)?, $($line:expr),*) => {
        mod $name {
            core::arch::global_asm!(
                concat!(".text\n.globl ", $symbol, "\n.hidden ", $symbol, "\n.type ", $symbol, ", %function"),
                concat!($symbol, ":"),
                $($line,)*
                concat!(".size ", $symbol, ", . - ", $symbol),
            );
        }
        // SAFETY: the instructions above keep to the platform's calling convention.
        unsafe extern "C" {
            #[link_name = $symbol]
            safe fn $name($($argument: $type)?) $(-> $returned)?;
        }
    };
}

/// A procedure and its loop: these instructions put the arguments, and this one adds the last to the sum.
/// Around the call the stack is kept aligned, and arguments are taken off it again.
#[cfg(target_arch = "x86_64")]
macro_rules! calls {
    ($arguments:literal, [$($set:literal),*], $add:literal) => {
        calls!($arguments, "", [$($set),*], "", "", $add)
    };
    ($arguments:literal, $enter:literal, [$($set:literal),*], $clean:literal, $leave:literal, $add:literal) => {{
        machine_code!(concat!("syscost_procedure_", $arguments), fn procedure(), $add, "ret");
        machine_code!(
            concat!("syscost_calls_", $arguments),
            fn run(n: u64) -> u64,
            "push rbx",
            $enter,
            "mov rbx, rdi",
            "xor eax, eax",
            ".p2align 5",
            "2:",
            $($set,)*
            concat!("call syscost_procedure_", $arguments),
            $clean,
            "dec rbx",
            "jnz 2b",
            $leave,
            "pop rbx",
            "ret"
        );
        Calls { run, procedure }
    }};
}

#[cfg(target_arch = "x86_64")]
mod code {
    use super::Calls;

    machine_code!(
        "syscost_empty_loop",
        fn empty(n: u64) -> u64,
        "push rbx",
        "mov rbx, rdi",
        "xor eax, eax",
        ".p2align 5",
        "2:",
        "dec rbx",
        "jnz 2b",
        "pop rbx",
        "ret"
    );

    pub const EMPTY: Option<extern "C" fn(u64) -> u64> = Some(empty);
    pub const CALLS: &[Calls] = &[
        calls!(0, [], "add rax, 1"),
        calls!(1, ["mov edi, 1"], "add rax, rdi"),
        calls!(2, ["mov edi, 3", "mov esi, 1"], "add rax, rsi"),
        calls!(3, ["mov edi, 3", "mov esi, 4", "mov edx, 1"], "add rax, rdx"),
        calls!(4, ["mov edi, 3", "mov esi, 4", "mov edx, 5", "mov ecx, 1"], "add rax, rcx"),
        calls!(5, ["mov edi, 3", "mov esi, 4", "mov edx, 5", "mov ecx, 6", "mov r8d, 1"], "add rax, r8"),
        calls!(
            6,
            ["mov edi, 3", "mov esi, 4", "mov edx, 5", "mov ecx, 6", "mov r8d, 7", "mov r9d, 1"],
            "add rax, r9"
        ),
        // The seventh travels on the stack; it lies above the return address.
        calls!(
            7,
            "sub rsp, 8",
            ["mov edi, 3", "mov esi, 4", "mov edx, 5", "mov ecx, 6", "mov r8d, 7", "mov r9d, 8", "push 1"],
            "add rsp, 8",
            "add rsp, 8",
            "add rax, [rsp + 8]"
        ),
    ];
}

/// As above: eight arguments fit into registers here, so that the stack is left alone.
#[cfg(target_arch = "aarch64")]
macro_rules! calls {
    ($arguments:literal, [$($set:literal),*], $add:literal) => {{
        machine_code!(concat!("syscost_procedure_", $arguments), fn procedure(), $add, "ret");
        machine_code!(
            concat!("syscost_calls_", $arguments),
            fn run(n: u64) -> u64,
            "stp x29, x30, [sp, #-32]!",
            "str x19, [sp, #16]",
            "mov x19, x0",
            "mov x9, #0",
            ".p2align 5",
            "2:",
            $($set,)*
            concat!("bl syscost_procedure_", $arguments),
            "subs x19, x19, #1",
            "b.ne 2b",
            "mov x0, x9",
            "ldr x19, [sp, #16]",
            "ldp x29, x30, [sp], #32",
            "ret"
        );
        Calls { run, procedure }
    }};
}

#[cfg(target_arch = "aarch64")]
mod code {
    use super::Calls;

    machine_code!(
        "syscost_empty_loop",
        fn empty(n: u64) -> u64,
        ".p2align 5",
        "2:",
        "subs x0, x0, #1",
        "b.ne 2b",
        "ret"
    );

    pub const EMPTY: Option<extern "C" fn(u64) -> u64> = Some(empty);
    pub const CALLS: &[Calls] = &[
        calls!(0, [], "add x9, x9, #1"),
        calls!(1, ["mov x0, #1"], "add x9, x9, x0"),
        calls!(2, ["mov x0, #3", "mov x1, #1"], "add x9, x9, x1"),
        calls!(3, ["mov x0, #3", "mov x1, #4", "mov x2, #1"], "add x9, x9, x2"),
        calls!(4, ["mov x0, #3", "mov x1, #4", "mov x2, #5", "mov x3, #1"], "add x9, x9, x3"),
        calls!(5, ["mov x0, #3", "mov x1, #4", "mov x2, #5", "mov x3, #6", "mov x4, #1"], "add x9, x9, x4"),
        calls!(
            6,
            ["mov x0, #3", "mov x1, #4", "mov x2, #5", "mov x3, #6", "mov x4, #7", "mov x5, #1"],
            "add x9, x9, x5"
        ),
        calls!(
            7,
            [
                "mov x0, #3",
                "mov x1, #4",
                "mov x2, #5",
                "mov x3, #6",
                "mov x4, #7",
                "mov x5, #8",
                "mov x6, #1"
            ],
            "add x9, x9, x6"
        ),
    ];
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod code {
    use super::Calls;
    pub const EMPTY: Option<extern "C" fn(u64) -> u64> = None;
    pub const CALLS: &[Calls] = &[];
}

use code::{CALLS, EMPTY};

#[cfg(test)]
mod tests {
    use super::*;

    /// The offsets of instructions in the loop that call its procedure. An x86 call may begin at
    /// any byte, but four bytes that happen to be the right distance are no accident.
    fn calls_in_code(calls: &Calls) -> Vec<usize> {
        const LOOP_BYTES: usize = 96;
        let leads_there = |at: &usize| {
            // SAFETY: the loops are followed by their procedures and the rest of the program's code,
            // which is mapped and only read.
            let byte = |i: usize| unsafe { calls.code().add(i).read() };
            let word = |i: usize| i32::from_le_bytes([byte(i), byte(i + 1), byte(i + 2), byte(i + 3)]);
            if cfg!(target_arch = "x86_64") {
                let target = calls.code().wrapping_add(at + 5).wrapping_offset(word(at + 1) as isize);
                byte(*at) == 0xe8 && target == calls.procedure()
            } else {
                let (opcode, distance) = (word(*at) as u32 >> 26, (word(*at) << 6 >> 4) as isize);
                let target = calls.code().wrapping_add(*at).wrapping_offset(distance);
                at % 4 == 0 && opcode == 0b100101 && target == calls.procedure()
            }
        };
        (0..LOOP_BYTES).filter(leads_there).collect()
    }

    #[test]
    fn every_loop_holds_one_call_instruction() {
        for arguments in 0..CALLS.len() as u64 {
            let calls = calls(arguments).unwrap();
            assert_eq!(calls_in_code(&calls).len(), 1, "{arguments} arguments");
        }
    }

    #[test]
    fn the_procedure_is_called_as_often_as_asked() {
        for arguments in 0..CALLS.len() as u64 {
            let calls = calls(arguments).unwrap();
            for n in [1, 2, 1000] {
                assert_eq!(calls.run(n), n, "{arguments} arguments");
            }
        }
        assert!(calls(8).is_none());
    }
}
