//! Names of the reasons for which the running kernel drops packets.

use std::path::Path;

use evenkeel_abi::DROP_REASONS;

use crate::kernel::btf::Btf;

/// The kernel's enumeration (include/net/dropreason-core.h); numbers differ by version.
const ENUMERATION: &str = "skb_drop_reason";

/// What the enumerators that are reasons begin with.
const PREFIX: &str = "SKB_DROP_REASON_";

/// Name of the slot for numbers beyond the table: reasons of subsystems, such as wireless.
const OTHER: &str = "other";

/// Names by number.
#[derive(Debug)]
pub(super) struct DropReasons(Vec<Option<String>>);

impl DropReasons {
    /// As the running kernel numbers them. Without its type information no name is known, but then
    /// no kernel program runs either.
    pub(super) fn of_kernel(sys_root: &Path) -> Self {
        match Btf::from_sys(sys_root) {
            Ok(btf) => Self::new(&btf.enumerators(ENUMERATION)),
            Err(error) => {
                tracing::debug!(%error, "The reasons of dropped packets have no names.");
                Self::new(&[])
            }
        }
    }

    fn new(enumerators: &[(String, i64)]) -> Self {
        let mut names = vec![None; DROP_REASONS as usize];
        for (name, value) in enumerators {
            let Some(name) = name.strip_prefix(PREFIX) else {
                continue;
            };
            if let Some(slot) = usize::try_from(*value)
                .ok()
                .and_then(|value| names.get_mut(value))
            {
                *slot = Some(name.to_lowercase());
            }
        }
        if let Some(last) = names.last_mut() {
            *last = Some(OTHER.to_owned());
        }
        Self(names)
    }

    /// The name of a number: the kernel's, else the number itself.
    pub(super) fn name(&self, reason: usize) -> String {
        self.0
            .get(reason)
            .and_then(Option::clone)
            .unwrap_or_else(|| reason.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers get the names of this very kernel; what is no reason gets none, the last slot is for
    /// all that do not fit, and a mask as large as an enumerator of subsystems breaks nothing.
    #[test]
    fn names_follow_the_enumeration() {
        let enumerators = [
            ("SKB_NOT_DROPPED_YET", 0),
            ("SKB_CONSUMED", 1),
            ("SKB_DROP_REASON_NOT_SPECIFIED", 2),
            ("SKB_DROP_REASON_NO_SOCKET", 3),
            ("SKB_DROP_REASON_SUBSYS_MASK", 0xffff_0000),
            ("SKB_DROP_REASON_NEGATIVE", -1),
        ]
        .map(|(name, value)| (name.to_owned(), value));
        let reasons = DropReasons::new(&enumerators);
        assert_eq!(
            [1, 2, 3, 4, 255].map(|reason| reasons.name(reason)),
            ["1", "not_specified", "no_socket", "4", OTHER]
        );
    }

    /// The kernel that runs the test knows the reason that the end-to-end test provokes.
    #[test]
    fn this_kernel_has_names() {
        let sys = Path::new("/sys");
        if Btf::from_sys(sys).is_err() {
            eprintln!("SKIPPED: no /sys/kernel/btf/vmlinux here");
            return;
        }
        let reasons = DropReasons::of_kernel(sys);
        assert!((0..255).any(|reason| reasons.name(reason) == "no_socket"));
    }
}
