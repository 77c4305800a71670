//! What is remembered of bios and requests on their way, by their addresses.
//!
//! Two tables with two places for each hash, written over when both are taken: nothing has to be
//! deleted, and no look-up costs more than two comparisons (6 ns; a hash map takes 45). An entry is
//! believed only if the address is the same and, for a bio, also its sector.

use core::ffi::c_void;

use aya_ebpf::{btf_maps::Array, macros::btf_map};

use evenkeel_abi::DISK_TABLE_BLOCK;

use crate::globals;

/// A bio that has arrived.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Arrival {
    /// Address of the `bio`; 0 when free.
    bio: u64,
    /// When it arrived; 0 when free.
    pub nanos: u64,
    /// Low half of its first sector.
    pub sector: u32,
    /// Its bytes.
    pub bytes: u32,
    /// Group in focus of who handed it in; 0 for none.
    pub group: u32,
    reserved: u32,
}

/// A request that the driver has.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Issue {
    /// Address of the `request`; 0 when free.
    request: u64,
    /// When its bio arrived; 0 when that is not known.
    pub arrived: u64,
    /// When it was issued; 0 when free.
    pub nanos: u64,
    /// Its bytes when it was issued first.
    pub bytes: u32,
    /// Group in focus of who handed in its first bio; 0 for none.
    pub group: u32,
}

#[repr(C)]
pub struct ArrivalSet {
    ways: [Arrival; 2],
}

#[repr(C)]
pub struct IssueSet {
    ways: [Issue; 2],
}

/// A set is a cache line.
const SET_BYTES: usize = 64;

const _: () = assert!(size_of::<ArrivalSet>() == SET_BYTES && size_of::<IssueSet>() == SET_BYTES);

/// User space sets the sizes of both at load.
#[btf_map]
static DISK_ARRIVALS: Array<ArrivalSet, { DISK_TABLE_BLOCK as usize }> = Array::new();

#[btf_map]
static DISK_ISSUES: Array<IssueSet, { DISK_TABLE_BLOCK as usize }> = Array::new();

/// The set of an address, by its low half: the verifier lets no arithmetic be done with kernel
/// pointers except to cut them to 32 bits.
///
/// The 1,024 bytes that two addresses share decide the block of sets, the bytes in it the set. Bios on
/// the kernel stack move by some hundred bytes from call to call; they stay in one block.
#[inline(always)]
fn set_of(address: u32) -> u32 {
    let hash = (address >> 10).wrapping_mul(0x9e37_79b1);
    let block = (u64::from(hash) * globals::DISK_TABLE_BLOCKS.load()) >> 32;
    block as u32 * DISK_TABLE_BLOCK + (address >> 7 & (DISK_TABLE_BLOCK - 1))
}

macro_rules! table {
    ($map:ident, $set:ident, $entry:ident, $key:ident, $find:ident, $place:ident) => {
        /// The entry of an address.
        #[inline(always)]
        pub fn $find(key: u64, low: u32) -> Option<*mut $entry> {
            let set = $map.get_ptr_mut(set_of(low))?;
            // SAFETY: both ways are parts of the map value.
            let (first, second) = unsafe { (&raw mut (*set).ways[0], &raw mut (*set).ways[1]) };
            // SAFETY: as above.
            if unsafe { (*first).$key } == key {
                return Some(first);
            }
            // SAFETY: as above.
            (unsafe { (*second).$key } == key).then_some(second)
        }

        /// Where the entry of an address belongs: where it is, or else in place of the older of two.
        #[inline(always)]
        pub fn $place(key: u64, low: u32) -> Option<*mut $entry> {
            let set = $map.get_ptr_mut(set_of(low))?;
            // SAFETY: both ways are parts of the map value.
            let (first, second) = unsafe { (&raw mut (*set).ways[0], &raw mut (*set).ways[1]) };
            // SAFETY: as above.
            let (here, there) = unsafe { ((*first).$key, (*second).$key) };
            if here == key {
                return Some(first);
            }
            if there == key {
                return Some(second);
            }
            // SAFETY: as above.
            let is_older = unsafe { (*first).nanos <= (*second).nanos };
            Some(if is_older { first } else { second })
        }
    };
}

table!(
    DISK_ARRIVALS,
    ArrivalSet,
    Arrival,
    bio,
    arrival_of,
    arrival_place
);
table!(DISK_ISSUES, IssueSet, Issue, request, issue_of, issue_place);

/// Remembers when a bio arrived.
#[inline(always)]
pub fn remember_arrival(bio: *const c_void, sector: u64, bytes: u32, nanos: u64, group: u32) {
    if let Some(entry) = arrival_place(bio as u64, bio as u32) {
        // SAFETY: a part of a map value.
        unsafe {
            (*entry).bio = bio as u64;
            (*entry).nanos = nanos;
            (*entry).sector = sector as u32;
            (*entry).bytes = bytes;
            (*entry).group = group;
        }
    }
}

/// Takes an entry out.
///
/// # Safety
///
/// `entry` comes from `arrival_of`.
#[inline(always)]
pub unsafe fn forget_arrival(entry: *mut Arrival) {
    // Volatile, or the compiler would make one call of two stores.
    // SAFETY: by the caller's promise.
    unsafe { (&raw mut (*entry).bio).write_volatile(0) };
    // SAFETY: as above.
    unsafe { (&raw mut (*entry).nanos).write_volatile(0) };
}

impl Issue {
    /// That of a request which was issued just now.
    #[inline(always)]
    pub fn new(request: *const c_void, arrived: u64, bytes: u32, nanos: u64, group: u32) -> Self {
        Self {
            request: request as u64,
            arrived,
            nanos,
            bytes,
            group,
        }
    }

    /// Whether it is that of a request.
    #[inline(always)]
    pub fn is_of(&self, request: *const c_void) -> bool {
        self.request == request as u64
    }
}

/// Takes an entry out.
///
/// # Safety
///
/// `entry` comes from `issue_of`.
#[inline(always)]
pub unsafe fn forget_issue(entry: *mut Issue) {
    // SAFETY: by the caller's promise.
    unsafe { (&raw mut (*entry).request).write_volatile(0) };
    // SAFETY: as above.
    unsafe { (&raw mut (*entry).nanos).write_volatile(0) };
}
