//! Values of the kernel object's read-only globals on this kernel: field offsets from BTF, and
//! what tracepoints carry.

use std::collections::BTreeMap;

use evenkeel_abi::StackHook;

use super::{
    btf::{Btf, BtfError, MemberKind},
    part::{
        self, Field, Shape,
        network::DROP_REASON_FACT,
        scheduler::{GROUP_FIELDS, QUOTA_FIELDS, THROTTLED_TIME_FIELDS, WAIT_FIELDS},
    },
    probe::Hook,
};

/// Offsets and facts of this kernel, by the name of the global that carries each.
#[derive(Clone, Debug, Default)]
pub struct Globals {
    values: BTreeMap<&'static str, u64>,
    missing: BTreeMap<&'static str, String>,
    registers: [u64; 16],
}

impl Globals {
    /// Looks everything up. A field that is not there is remembered with the reason; it turns off
    /// the programs that need it.
    pub fn from_btf(btf: &Btf) -> Self {
        let mut globals = Self::default();
        for field in part::fields() {
            match find(btf, field) {
                Ok(offset) => globals.set(field.global, offset),
                Err(reason) => {
                    globals.missing.insert(field.global, reason);
                }
            }
        }
        globals.set_frame_pointer(btf);
        globals.set_unwind_registers(btf);
        part::syscalls::find_abi(btf, &mut globals);
        globals.set_optional(btf);
        for program in part::programs() {
            if let Hook::Tracepoint(name) | Hook::Bursts(name) = program.hook
                && btf.tracepoint_arguments(name).is_none()
            {
                let reason = format!("this kernel has no tracepoint {name}");
                globals.missing.insert(program.name, reason);
            }
        }
        let arguments = |name, wanted| {
            let count = btf.tracepoint_arguments(name).unwrap_or(0);
            u64::from(count >= wanted)
        };
        globals.set("HAS_PREV_STATE_ARGUMENT", arguments("sched_switch", 4));
        globals.set(
            "HAS_GROUP_DEAD_ARGUMENT",
            arguments("sched_process_exit", 2),
        );
        globals.set(
            "HAS_RETRANSMIT_ERROR_ARGUMENT",
            arguments("tcp_retransmit_skb", 3),
        );
        if arguments("kfree_skb", 3) == 0 {
            globals.refuse(
                DROP_REASON_FACT,
                "this kernel gives no reasons for dropped packets".into(),
            );
        }
        globals.set("RETURN_ADDRESS_MASK", return_address_mask());
        globals.set("USER_ADDRESS_LIMIT", 1 << 56);
        globals
    }

    /// Fields of another shape, and fields that there is another way without.
    fn set_optional(&mut self, btf: &Btf) {
        let mut set = |name, offset: Result<u32, BtfError>| match offset {
            Ok(offset) => self.set(name, u64::from(offset)),
            Err(error) => {
                self.missing.insert(name, error.to_string());
            }
        };
        // An array of length 1 before 6.5, of unknown length since.
        set("PID_NUMBERS", btf.member_offset("pid", "numbers"));
        set("TASK_COMM", btf.member_offset("task_struct", "comm"));
        // x86-64 keeps the number in `orig_ax`, arm64 in `syscallno`.
        let number = btf
            .member_offset("pt_regs", "orig_ax")
            .or_else(|_| btf.member_offset("pt_regs", "syscallno"));
        set("REGS_SYSTEM_CALL", number);
        for (name, register, index) in [("REGS_ARGUMENT_2", "si", 1), ("REGS_ARGUMENT_3", "dx", 2)]
        {
            let offset = btf.member_offset("pt_regs", register).or_else(|_| {
                btf.member_offset("pt_regs", "regs")
                    .map(|regs| regs + index * 8)
            });
            set(name, offset);
        }
        // Since 6.18 each task is throttled by itself.
        if let Ok(offset) = btf.member_offset("task_struct", "throttled") {
            self.set("TASK_THROTTLED", u64::from(offset));
            self.set("HAS_THROTTLED", 1);
        }
        for (fact, fields) in [
            ("HAS_TASK_GROUP", GROUP_FIELDS),
            ("HAS_QUOTA_FIELDS", QUOTA_FIELDS),
            ("HAS_THROTTLED_TIME", THROTTLED_TIME_FIELDS),
            ("HAS_WAIT_FIELDS", WAIT_FIELDS),
        ] {
            self.set(fact, u64::from(self.lacking(fields).is_none()));
        }
        let hook = if btf.tracepoint_arguments("irq_work_entry").is_some() {
            StackHook::Interrupt
        } else if btf.tracepoint_arguments("sched_exit_tp").is_some() {
            StackHook::Exit
        } else {
            StackHook::None
        };
        self.set("STACK_HOOK", hook as u64);
    }

    /// The frame pointer: `bp` on x86-64, register 29 on arm64.
    fn set_frame_pointer(&mut self, btf: &Btf) {
        let offset = btf.member_offset("pt_regs", "bp").or_else(|_| {
            btf.member_offset("pt_regs", "regs")
                .map(|regs| regs + 29 * 8)
        });
        match offset {
            Ok(offset) => self.set("REGS_FP", u64::from(offset)),
            Err(error) => {
                self.missing.insert("REGS_FP", error.to_string());
            }
        }
    }

    /// Where walking by rules finds registers: in `pt_regs` by the numbers of the DWARF ABI supplements,
    /// and in the `ucontext` that the kernel leaves for a signal handler
    /// (arch/x86/include/uapi/asm/sigcontext.h, arch/arm64/include/uapi/asm/sigcontext.h).
    fn set_unwind_registers(&mut self, btf: &Btf) {
        const X86_64: [&str; 16] = [
            "ax", "dx", "cx", "bx", "si", "di", "bp", "sp", "r8", "r9", "r10", "r11", "r12", "r13",
            "r14", "r15",
        ];
        let offset = |name| btf.member_offset("pt_regs", name).map(u64::from);
        let context = if let Ok(first) = offset("regs") {
            let numbers = 0_u64..;
            for (register, number) in self.registers.iter_mut().zip(numbers) {
                *register = first + number * 8;
            }
            self.set("REGS_LINK", first + 30 * 8);
            self.set("HAS_X86_CODE", 0);
            [440, 432, 416]
        } else {
            for (register, name) in self.registers.iter_mut().zip(X86_64) {
                match offset(name) {
                    Ok(offset) => *register = offset,
                    Err(error) => {
                        self.missing
                            .insert("REGISTERS_BY_NUMBER", error.to_string());
                    }
                }
            }
            self.set("REGS_LINK", 0);
            self.set("HAS_X86_CODE", 1);
            [168, 160, 120]
        };
        let names = ["CONTEXT_IP", "CONTEXT_SP", "CONTEXT_FP"];
        for (name, offset) in names.into_iter().zip(context) {
            self.set(name, offset);
        }
    }

    /// Offsets in `pt_regs` by DWARF number.
    pub fn registers(&self) -> &[u64; 16] {
        &self.registers
    }

    /// Sets a global.
    pub fn set(&mut self, name: &'static str, value: u64) {
        self.missing.remove(name);
        self.values.insert(name, value);
    }

    /// The value of a global.
    pub fn get(&self, name: &str) -> Option<u64> {
        self.values.get(name).copied()
    }

    /// Marks a global as unusable: its offset was found but did not prove right.
    pub fn refuse(&mut self, name: &'static str, reason: String) {
        self.values.remove(name);
        self.missing.insert(name, reason);
    }

    /// Why one of these globals is not known; `None` when all are.
    pub fn lacking(&self, needs: &[&str]) -> Option<String> {
        needs
            .iter()
            .find_map(|name| self.missing.get(*name).cloned())
    }

    /// Names and values.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &u64)> {
        self.values.iter().map(|(name, value)| (*name, value))
    }
}

fn find(btf: &Btf, field: &Field) -> Result<u64, String> {
    let mut reason = String::new();
    for (structure, path) in field.places {
        match btf.member(structure, path) {
            Ok(member) => {
                let fits = match (field.shape, &member.kind) {
                    (Shape::Pointer, MemberKind::Pointer { .. }) => true,
                    (Shape::Scalar(size), MemberKind::Scalar { .. })
                    | (Shape::Bytes(size), MemberKind::Array { .. }) => member.size == size,
                    _ => false,
                };
                if fits {
                    return Ok(u64::from(member.offset));
                }
                reason = format!(
                    "{structure}.{path} has another type here: {:?}",
                    member.kind
                );
            }
            Err(error) => reason = error.to_string(),
        }
    }
    Err(reason)
}

/// arm64 signs return addresses in the bits above the 48 (or 52) of an address; x86-64 uses them.
fn return_address_mask() -> u64 {
    if cfg!(target_arch = "aarch64") {
        (1 << 52) - 1
    } else {
        u64::MAX
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// On the kernel that runs the test every field is found.
    #[test]
    fn this_kernel_has_every_field() {
        let Ok(btf) = Btf::from_sys(Path::new("/sys")) else {
            eprintln!("SKIPPED: no /sys/kernel/btf/vmlinux here");
            return;
        };
        let globals = Globals::from_btf(&btf);
        assert_eq!(globals.missing, BTreeMap::new());
        assert!(globals.get("TASK_PID").is_some_and(|offset| offset > 0));
        assert_eq!(globals.lacking(&["TASK_PID", "REGS_IP"]), None);
    }

    /// A refused field is reported with the reason given.
    #[test]
    fn refused_field_is_lacking() {
        let mut globals = Globals::default();
        globals.set("TASK_PID", 8);
        globals.refuse("TASK_PID", "reads 7, should be 3".into());
        assert_eq!(
            globals.lacking(&["TASK_PID"]).as_deref(),
            Some("reads 7, should be 3")
        );
        assert_eq!(globals.get("TASK_PID"), None);
    }
}
