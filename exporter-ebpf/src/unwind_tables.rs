//! What user space knows of code: which executable is mapped where in a process, and by which rule
//! the caller of an instruction is found (`evenkeel_abi::UnwindRule`).
//!
//! Maps: `UNWIND_*`, all written by user space, which publishes rows before pages before
//! executables before processes, and withdraws them the other way round. Arrays, because a look-up in
//! a known array is inlined: a hash costs 45 ns, an array 5.
//!
//! Cost: 60 ns to find a mapping among 16, once for each change of mapping; 50 ns to find a rule.

use aya_ebpf::{
    btf_maps::{Array, HashMap},
    macros::btf_map,
};
use evenkeel_abi::{
    NO_EXECUTABLE, NO_RULE, UNWIND_PAGE_BITS, UnwindExecutable, UnwindMapping, UnwindProcess,
    UnwindRule,
};

use crate::counters::MMAPABLE;

/// Steps of a binary search among the mappings of a process.
const MAPPING_STEPS: u32 = evenkeel_abi::UNWIND_PROCESS_MAPPINGS.ilog2() + 1;

/// Steps of a binary search among the rows of a page: there is at most one for each address.
const ROW_STEPS: u32 = UNWIND_PAGE_BITS + 1;

#[btf_map]
static UNWIND_PROCESSES: HashMap<u32, UnwindProcess, { evenkeel_abi::UNWIND_PROCESSES }> =
    HashMap::new();

#[btf_map]
static UNWIND_MAPPINGS: Array<UnwindMapping, 1, MMAPABLE> = Array::new();

#[btf_map]
static UNWIND_EXECUTABLES: Array<UnwindExecutable, 1, MMAPABLE> = Array::new();

#[btf_map]
static UNWIND_PAGES: Array<u64, 1, MMAPABLE> = Array::new();

#[btf_map]
static UNWIND_ROWS: Array<u64, 1, MMAPABLE> = Array::new();

#[btf_map]
static UNWIND_RULES: Array<u64, 1, MMAPABLE> = Array::new();

/// Forgets the mappings of a process: it runs another program now.
#[inline(always)]
pub fn forget(pid: u32) {
    // Whether there were any makes no difference.
    let _ = UNWIND_PROCESSES.remove(pid);
}

/// Where a walk is in the tables.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Place {
    /// Mapping of the last frame; empty before the first one.
    mapping: UnwindMapping,
    /// Its executable.
    executable: UnwindExecutable,
    /// First mapping of the process.
    first: u32,
    /// Its mappings; 0 while they are not known.
    count: u32,
    /// 1 while it is known of all code so far how its callers are found, if only by frame pointers.
    pub is_sure: u64,
}

impl Place {
    /// The beginning of a walk in a process.
    #[inline(always)]
    pub fn begin(&mut self, pid: u32, start_time: u64) {
        self.mapping.start = 0;
        self.mapping.end = 0;
        self.first = 0;
        self.count = 0;
        self.is_sure = 1;
        let Some(process) = UNWIND_PROCESSES.get_ptr(pid) else {
            return;
        };
        // SAFETY: a value of the map; one that is replaced stays whole until the program ends.
        unsafe {
            if (*process).start_time == start_time {
                self.first = (*process).first;
                self.count = (*process).count;
            }
        }
    }

    /// The rule for the instruction at an address; the one that knows nothing where the process, the
    /// mapping or the rows are not known.
    #[inline(always)]
    pub fn rule(&mut self, address: u64) -> UnwindRule {
        let nothing = UnwindRule(0);
        if address.wrapping_sub(self.mapping.start)
            >= self.mapping.end.wrapping_sub(self.mapping.start)
            && !self.enter_mapping(address)
        {
            self.is_sure = 0;
            return nothing;
        }
        let offset = address
            .wrapping_sub(self.mapping.bias)
            .wrapping_sub(self.executable.first_address);
        let page = offset >> UNWIND_PAGE_BITS;
        if page >= self.executable.page_count as u64 {
            if self.executable.page_count == 0 && self.mapping.executable != NO_EXECUTABLE {
                self.is_sure = 0;
            }
            return nothing;
        }
        let page = self.executable.pages + page as u32;
        let (Some(first), Some(end)) = (UNWIND_PAGES.get_ptr(page), UNWIND_PAGES.get_ptr(page + 1))
        else {
            return nothing;
        };
        // SAFETY: values of the map.
        let (first, end) = unsafe { (*first as u32, *end as u32) };
        // A page begins on a multiple of its size, so that rows keep the low half of the address.
        rule(row(first, end, offset as u32 & 0xffff))
    }

    /// Finds the mapping of an address; false when there is none.
    #[inline(always)]
    fn enter_mapping(&mut self, address: u64) -> bool {
        let (mut low, mut high) = (self.first, self.first.wrapping_add(self.count));
        for _ in 0..MAPPING_STEPS {
            if low >= high {
                break;
            }
            let middle = low + ((high - low) >> 1);
            let Some(mapping) = UNWIND_MAPPINGS.get_ptr(middle) else {
                return false;
            };
            // SAFETY: a value of the map.
            if unsafe { (*mapping).start } <= address {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        if low == self.first {
            return false;
        }
        let Some(mapping) = UNWIND_MAPPINGS.get_ptr(low - 1) else {
            return false;
        };
        // SAFETY: a value of the map.
        self.mapping = unsafe { *mapping };
        self.executable.page_count = 0;
        if address >= self.mapping.end {
            // Nothing is there: not to be taken for the mapping of the next frame.
            self.mapping.end = self.mapping.start;
            return false;
        }
        if self.mapping.executable != NO_EXECUTABLE
            && let Some(executable) = UNWIND_EXECUTABLES.get_ptr(self.mapping.executable)
        {
            // SAFETY: a value of the map.
            self.executable = unsafe { *executable };
        }
        true
    }
}

/// The last of some rows that begins at or before an address in its page; 0 when there is none.
#[inline(always)]
fn row(first: u32, end: u32, address: u32) -> u32 {
    let (mut low, mut high) = (first, end);
    let mut found = 0;
    for _ in 0..ROW_STEPS {
        if low >= high {
            break;
        }
        let middle = low + ((high - low) >> 1);
        let Some(pair) = UNWIND_ROWS.get_ptr(middle >> 1) else {
            return 0;
        };
        // SAFETY: a value of the map.
        let row = (unsafe { *pair } >> ((middle & 1) * 32)) as u32;
        if row & 0xffff <= address {
            found = row;
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    found
}

#[inline(always)]
fn rule(row: u32) -> UnwindRule {
    let number = row >> 16;
    if number == NO_RULE as u32 {
        return UnwindRule(0);
    }
    match UNWIND_RULES.get_ptr(number) {
        // SAFETY: a value of the map.
        Some(rule) => UnwindRule(unsafe { *rule }),
        None => UnwindRule(0),
    }
}
