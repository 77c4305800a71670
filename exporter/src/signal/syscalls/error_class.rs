//! Classes of the errors that system calls fail with: 130 numbers would be 2,000 series.

use evenkeel_abi::{ERROR_CLASSES, ERROR_NUMBERS};
use evenkeel_semconv::attribute::value::evenkeel_syscall_error_class as value;
use rustix::io::Errno;

/// A class: its name and its errors.
type Class = (&'static str, &'static [Errno]);

/// The classes, in the order of their numbers. The first is that of all errors that are in none.
#[rustfmt::skip]
pub(super) const CLASSES: &[Class] = &[
    (value::OTHER, &[]),
    (value::WOULD_BLOCK, &[Errno::AGAIN, Errno::INPROGRESS, Errno::ALREADY]),
    (value::INTERRUPTED, &[Errno::INTR, Errno::CANCELED]),
    (value::TIMED_OUT, &[Errno::TIMEDOUT, Errno::TIME]),
    (value::NOT_FOUND, &[
        Errno::NOENT, Errno::SRCH, Errno::NXIO, Errno::NODEV, Errno::NODATA, Errno::CHILD,
        Errno::NOTDIR,
    ]),
    (value::EXISTS, &[Errno::EXIST, Errno::NOTEMPTY, Errno::ISDIR, Errno::ADDRINUSE]),
    (value::NOT_PERMITTED, &[Errno::PERM, Errno::ACCESS, Errno::ROFS]),
    (value::INVALID, &[
        Errno::INVAL, Errno::BADF, Errno::FAULT, Errno::NOSYS, Errno::OPNOTSUPP, Errno::NOTTY,
        Errno::NOTSOCK, Errno::SPIPE, Errno::RANGE, Errno::NAMETOOLONG, Errno::LOOP, Errno::DOM,
        Errno::NOEXEC, Errno::PROTONOSUPPORT, Errno::NOPROTOOPT, Errno::AFNOSUPPORT,
        Errno::PROTOTYPE, Errno::MSGSIZE, Errno::DESTADDRREQ, Errno::ADDRNOTAVAIL,
    ]),
    (value::EXHAUSTED, &[
        Errno::NOMEM, Errno::NOSPC, Errno::MFILE, Errno::NFILE, Errno::DQUOT, Errno::NOBUFS,
        Errno::FBIG, Errno::USERS, Errno::MLINK,
    ]),
    (value::BUSY, &[Errno::BUSY, Errno::DEADLK, Errno::TXTBSY, Errno::NOLCK]),
    (value::CONNECTION, &[
        Errno::CONNREFUSED, Errno::CONNRESET, Errno::CONNABORTED, Errno::PIPE, Errno::NOTCONN,
        Errno::ISCONN, Errno::HOSTUNREACH, Errno::HOSTDOWN, Errno::NETUNREACH, Errno::NETDOWN,
        Errno::NETRESET, Errno::SHUTDOWN,
    ]),
    (value::IO, &[Errno::IO, Errno::REMOTEIO, Errno::STALE, Errno::UCLEAN, Errno::OVERFLOW]),
];

/// The table by error number that the kernel programs look classes up in.
pub(crate) fn table() -> [u8; ERROR_NUMBERS] {
    let mut table = [0; ERROR_NUMBERS];
    for (class, (_, errors)) in (0_u8..).zip(CLASSES) {
        for error in *errors {
            if let Ok(number) = usize::try_from(error.raw_os_error())
                && let Some(row) = table.get_mut(number)
            {
                *row = class;
            }
        }
    }
    table
}

const _: () = assert!(CLASSES.len() <= ERROR_CLASSES);

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// No error is of two classes, and what is in none is of the first.
    #[test]
    fn classes_are_disjoint() {
        let mut seen = HashSet::new();
        for (class, errors) in CLASSES {
            for error in *errors {
                assert!(seen.insert(error.raw_os_error()), "{class}: {error:?}");
            }
        }
        let table = table();
        let class = |error: Errno| CLASSES[usize::from(table[error.raw_os_error() as usize])].0;
        assert_eq!(class(Errno::BADF), value::INVALID);
        assert_eq!(class(Errno::WOULDBLOCK), value::WOULD_BLOCK);
        assert_eq!(class(Errno::XFULL), value::OTHER);
        assert_eq!(table[0], 0);
    }
}
