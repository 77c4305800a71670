use std::{path::Path, time::Instant};

use super::{Btf, BtfError, Member, MemberKind, blob::Blob};

fn parse(blob: &Blob) -> Btf {
    Btf::parse(blob.bytes()).unwrap()
}

/// The kernel that runs the tests, or `None` with a loud notice.
fn running_kernel() -> Option<Btf> {
    match Btf::from_sys(Path::new("/sys")) {
        Ok(btf) => Some(btf),
        Err(error) => {
            eprintln!("SKIPPED: no type information of the running kernel here: {error}");
            None
        }
    }
}

/// A struct that uses everything the reader must see through.
fn sample() -> Blob {
    let mut blob = Blob::new();
    let int = blob.integer("int", 4, true);
    let long = blob.integer("unsigned long", 8, false);
    let inner = blob.structure("entity", 24, &[("weight", long, 0, 0), ("rq", 5, 64, 0)]);
    let rq = blob.structure("rq", 8, &[("steal", long, 0, 0)]);
    let pointer = blob.pointer(rq);
    assert_eq!(pointer, 5);
    let volatile = blob.record("", 9, false, 0, int, &[]);
    let constant = blob.record("", 10, false, 0, volatile, &[]);
    let pid = blob.typedef("pid_t", constant);
    let either = blob.composite(5, "", 8, &[("tgid", pid, 0, 0), ("raw", long, 0, 0)]);
    let outer = blob.structure("", 16, &[("", either, 64, 0)]);
    let entity = blob.typedef("entity_t", inner);
    let grid = blob.array(int, 3);
    let grid = blob.array(grid, 2);
    blob.forward("task");
    blob.structure(
        "task",
        104,
        &[
            ("pid", pid, 0, 0),
            ("flag_a", int, 32, 1),
            ("flag_b", int, 40, 8),
            ("", outer, 128, 0),
            ("se", entity, 256, 0),
            ("grid", grid, 448, 0),
            ("parent", pointer, 704, 0),
            ("opaque", 0, 768, 0),
        ],
    );
    blob
}

/// Offsets, sizes and kinds come out through typedefs, qualifiers, anonymous parts and paths.
#[test]
fn finds_members_behind_everything_that_c_has() {
    let btf = parse(&sample());
    let task = |path: &str| btf.member("task", path).unwrap();
    let scalar = |offset, size, signed| Member {
        offset,
        size,
        kind: MemberKind::Scalar { signed },
    };
    assert_eq!(task("pid"), scalar(0, 4, true));
    assert_eq!(task("tgid"), scalar(24, 4, true));
    assert_eq!(task("raw"), scalar(24, 8, false));
    assert_eq!(task("se.weight"), scalar(32, 8, false));
    assert_eq!(
        task("se.rq"),
        Member {
            offset: 40,
            size: 8,
            kind: MemberKind::Pointer { to: "rq".into() }
        }
    );
    assert_eq!(
        task("se").kind,
        MemberKind::Struct {
            name: "entity".into()
        }
    );
    assert_eq!(
        task("grid"),
        Member {
            offset: 56,
            size: 24,
            kind: MemberKind::Array { length: 2 }
        }
    );
    assert!(btf.has_struct("task") && btf.has_struct("rq"));
    assert!(!btf.has_struct("pid_t") && !btf.has_struct("tas"));
}

/// What has no byte offset is refused with its own error, not given a wrong number.
#[test]
fn refuses_what_has_no_offset() {
    let btf = parse(&sample());
    let error = |path: &str| btf.member_offset("task", path).unwrap_err();
    assert!(matches!(error("flag_a"), BtfError::BitField { .. }));
    // A bit field that happens to fill a byte is one all the same.
    assert!(matches!(error("flag_b"), BtfError::BitField { .. }));
    assert!(matches!(error("missing"), BtfError::NoMember { .. }));
    assert!(matches!(error(""), BtfError::NoMember { .. }));
    assert!(matches!(error("se."), BtfError::NoMember { .. }));
    assert!(matches!(
        error("parent.steal"),
        BtfError::NotEmbedded { .. }
    ));
    assert!(matches!(error("pid.x"), BtfError::NotEmbedded { .. }));
    assert!(matches!(error("opaque"), BtfError::Malformed(_)));
    assert!(matches!(
        btf.member_offset("nothing", "pid"),
        Err(BtfError::NoStruct(_))
    ));
}

/// Old compilers wrote bit fields without the struct flag: they are recognised by the width of
/// their integer or by an offset inside a byte.
#[test]
fn recognises_bit_fields_of_old_compilers() {
    let mut blob = Blob::new();
    let narrow = blob.record("unsigned int", 1, false, 0, 4, &[3]);
    let plain = blob.integer("int", 4, true);
    let tail = [0, narrow, 0, 0, plain, 33, 0, plain, 64];
    blob.record("old", 4, false, 3, 12, &tail);
    let mut bytes = blob.bytes();
    // Name the members after the fact: "n", "s" and "p" at the end of the strings.
    let strings = bytes.len() as u32;
    bytes.extend_from_slice(b"n\0s\0p\0");
    let length = u32::from_le_bytes(bytes[20..24].try_into().unwrap());
    bytes[20..24].copy_from_slice(&(length + 6).to_le_bytes());
    let names = strings as usize - length as usize - 36;
    for index in 0..3 {
        let at = names + 12 * index;
        bytes[at..at + 4].copy_from_slice(&(length + 2 * index as u32).to_le_bytes());
    }
    let btf = Btf::parse(bytes).unwrap();
    assert!(matches!(
        btf.member("old", "n"),
        Err(BtfError::BitField { .. })
    ));
    assert!(matches!(
        btf.member("old", "s"),
        Err(BtfError::BitField { .. })
    ));
    assert_eq!(btf.member_offset("old", "p").unwrap(), 8);
}

/// Among definitions of one name the one with the member answers; disagreement is an error.
#[test]
fn chooses_between_definitions_of_one_name() {
    let mut blob = Blob::new();
    let int = blob.integer("int", 4, true);
    blob.forward("twin");
    blob.structure("twin", 4, &[("other", int, 0, 0)]);
    blob.structure(
        "twin",
        12,
        &[
            ("pad", int, 0, 0),
            ("here", int, 32, 0),
            ("both", int, 64, 0),
        ],
    );
    blob.structure("twin", 8, &[("both", int, 32, 0)]);
    blob.structure("twin", 12, &[("here", int, 32, 0)]);
    let btf = parse(&blob);
    assert_eq!(btf.member_offset("twin", "here").unwrap(), 4);
    assert!(matches!(
        btf.member_offset("twin", "both"),
        Err(BtfError::Ambiguous { .. })
    ));
}

/// A tracepoint's arguments are counted without the leading data pointer; a typedef of something
/// else is not a tracepoint.
#[test]
fn counts_tracepoint_arguments() {
    let mut blob = Blob::new();
    let prototype = blob.prototype(5);
    let pointer = blob.pointer(prototype);
    blob.typedef("btf_trace_sched_switch", pointer);
    let int = blob.integer("int", 4, true);
    blob.typedef("btf_trace_number", int);
    let empty = blob.prototype(0);
    let pointer = blob.pointer(empty);
    blob.typedef("btf_trace_empty", pointer);
    let btf = parse(&blob);
    assert_eq!(btf.tracepoint_arguments("sched_switch"), Some(4));
    assert_eq!(btf.tracepoint_arguments("number"), None);
    assert_eq!(btf.tracepoint_arguments("empty"), None);
    assert_eq!(btf.tracepoint_arguments("sched"), None);
}

/// Enumerators are found in named and unnamed enums of both widths.
#[test]
fn reads_enumerators() {
    let mut blob = Blob::new();
    blob.enumeration("", &[("HI_SOFTIRQ", 0), ("TIMER_SOFTIRQ", 1)]);
    blob.enumeration("colour", &[("RED", u32::MAX)]);
    blob.enumeration_wide("flags", &[("WIDE", 1 << 40)]);
    let btf = parse(&blob);
    assert_eq!(btf.enum_value("", "TIMER_SOFTIRQ"), Some(1));
    assert_eq!(btf.enum_value("flags", "WIDE"), Some(1 << 40));
    assert_eq!(btf.enum_value("colour", "RED"), Some(i64::from(u32::MAX)));
    assert_eq!(btf.enum_value("colour", "TIMER_SOFTIRQ"), None);
    assert_eq!(btf.enum_value("none", "RED"), None);
}

/// Cycles of typedefs, of anonymous structs and of arrays end in an error.
#[test]
fn cycles_end() {
    let mut blob = Blob::new();
    blob.typedef("a", 2);
    blob.typedef("b", 1);
    blob.structure("s", 8, &[("m", 1, 0, 0), ("", 3, 0, 0), ("arr", 4, 0, 0)]);
    blob.array(4, 1);
    // Eight anonymous copies of itself: 8^32 paths without the bound on visits.
    let fan: Vec<_> = (0..8).map(|_| ("", 5, 0, 0)).collect();
    assert_eq!(blob.structure("fan", 8, &fan), 5);
    blob.typedef("btf_trace_loop", 1);
    let btf = parse(&blob);
    assert!(matches!(btf.member("s", "m"), Err(BtfError::Malformed(_))));
    assert!(matches!(btf.member("s", "x"), Err(BtfError::Malformed(_))));
    assert!(btf.member("s", "arr").is_err());
    assert!(matches!(
        btf.member("fan", "x"),
        Err(BtfError::Malformed(_))
    ));
    assert_eq!(btf.tracepoint_arguments("loop"), None);
}

/// A member that claims to lie outside its struct is not believed.
#[test]
fn members_outside_their_struct_are_refused() {
    let mut blob = Blob::new();
    let int = blob.integer("int", 4, true);
    let huge = blob.array(int, u32::MAX);
    blob.structure("s", 8, &[("a", int, 64, 0), ("b", huge, 0, 0)]);
    let btf = parse(&blob);
    assert!(matches!(btf.member("s", "a"), Err(BtfError::Malformed(_))));
    assert!(matches!(btf.member("s", "b"), Err(BtfError::Malformed(_))));
}

/// Each fault of the header has its own name.
#[test]
fn names_what_is_wrong_with_the_header() {
    let good = sample().bytes();
    let mut swapped = good.clone();
    swapped.swap(0, 1);
    assert!(matches!(Btf::parse(swapped), Err(BtfError::BigEndian)));
    let mut newer = good.clone();
    newer[2] = 2;
    assert!(matches!(Btf::parse(newer), Err(BtfError::Version(2))));
    assert!(matches!(
        Btf::parse(b"\x7fELF".to_vec()),
        Err(BtfError::NotBtf)
    ));
    assert!(matches!(Btf::parse(Vec::new()), Err(BtfError::NotBtf)));
    let mut blob = Blob::new();
    blob.record("future", 20, false, 0, 0, &[]);
    assert!(matches!(
        Btf::parse(blob.bytes()),
        Err(BtfError::UnknownKind { id: 1, kind: 20 })
    ));
}

/// Cut at any byte, the sample is refused; nothing panics.
#[test]
fn every_truncation_is_an_error() {
    let bytes = sample().bytes();
    for length in 0..bytes.len() {
        assert!(Btf::parse(bytes[..length].to_vec()).is_err(), "{length}");
    }
}

/// Random damage never panics and never hangs, and whatever still parses answers questions.
#[test]
fn random_damage_is_survived() {
    let good = sample().bytes();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut parsed = 0;
    for round in 0..20_000 {
        let mut bytes = good.clone();
        // Past the header mostly, so that the damage reaches the types.
        let from = if round % 8 == 0 { 0 } else { 24 };
        for _ in 0..=random() % 6 {
            let at = from + (random() as usize) % (bytes.len() - from);
            bytes[at] = random() as u8;
        }
        if let Ok(btf) = Btf::parse(bytes) {
            parsed += 1;
            for path in ["pid", "tgid", "se.rq", "grid", "missing"] {
                let _ = btf.member("task", path);
            }
            let _ = btf.enum_value("", "x");
            let _ = btf.tracepoint_arguments("x");
        }
    }
    assert!(parsed > 1000, "the damage must reach the lookups: {parsed}");
}

/// The running kernel's own types hold what the probes need, within the time that start-up has.
#[test]
fn reads_the_running_kernel() {
    let begin = Instant::now();
    let Some(btf) = running_kernel() else { return };
    let took = begin.elapsed();
    let begin = Instant::now();
    let start = btf.member("task_struct", "start_boottime").unwrap();
    assert_eq!(
        (start.size, start.kind),
        (8, MemberKind::Scalar { signed: false })
    );
    let pid = btf.member("task_struct", "pid").unwrap();
    let tgid = btf.member("task_struct", "tgid").unwrap();
    assert_eq!((pid.size, tgid.offset), (4, pid.offset + 4));
    assert_eq!(
        btf.member("task_struct", "mm").unwrap().kind,
        MemberKind::Pointer {
            to: "mm_struct".into()
        }
    );
    assert_eq!(
        btf.member("task_struct", "comm").unwrap().kind,
        MemberKind::Array { length: 16 }
    );
    let entity = btf.member_offset("task_struct", "se").unwrap();
    let inside = btf.member_offset("sched_entity", "vruntime").unwrap();
    assert_eq!(
        btf.member_offset("task_struct", "se.vruntime").unwrap(),
        entity + inside
    );
    assert!(btf.tracepoint_arguments("sched_switch").unwrap() >= 3);
    assert_eq!(btf.tracepoint_arguments("sched_wakeup"), Some(1));
    assert_eq!(btf.enum_value("", "NET_RX_SOFTIRQ"), Some(3));
    assert!(matches!(
        btf.member_offset("task_struct", "in_execve"),
        Err(BtfError::BitField { .. })
    ));
    eprintln!(
        "{} types: read and indexed in {took:?}, questions in {:?}",
        btf.type_count(),
        begin.elapsed()
    );
}

/// A missing file says which.
#[test]
fn a_missing_file_is_named() {
    let root = tempfile::tempdir().unwrap();
    let error = Btf::from_sys(root.path()).unwrap_err();
    assert!(error.to_string().contains("kernel/btf/vmlinux"), "{error}");
}
