//! Executables in the tables, as kernel programs read them.

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use evenkeel_abi::{CfaKind, UnwindExecutable, UnwindRule};

use super::{
    Row, Rows, RowsError, RowsLimits,
    executables::ExecutableRows,
    space::GRACE,
    tables::{PlaceError, Tables},
};
use crate::{
    kernel::{mapped_array::WritableArray, part::unwind::UnwindArrays},
    symbol::Executable,
};

/// Long enough ago that an executable makes room.
const IDLE: Duration = Duration::from_secs(4);

fn arrays(executables: usize, pages: usize, rows: usize, rules: usize) -> UnwindArrays {
    let array = |words| WritableArray::anonymous(words).expect("memory");
    UnwindArrays {
        mappings: array(64),
        executables: array(executables * size_of::<UnwindExecutable>() / 8),
        pages: array(pages),
        rows: array(rows / 2),
        rules: array(rules),
    }
}

fn executable(id: u32) -> Arc<Executable> {
    Arc::new(Executable::open(id, Path::new("/proc/self/exe")).expect("own executable"))
}

/// Rows with a number of different rules, one a row.
fn rows(count: u16, first_offset: i64) -> Rows {
    let rule = |index| {
        UnwindRule::with_cfa(CfaKind::StackPointer, first_offset + index * 8).expect("fits")
    };
    let mut rules = vec![UnwindRule::default()];
    rules.extend((0..i64::from(count)).map(rule));
    Rows {
        first_address: 0x1_0000,
        pages: vec![0, u32::from(count)],
        rows: (0..count)
            .map(|index| Row {
                low: index * 4,
                rule: index + 1,
            })
            .collect(),
        rules,
        refused: 0,
    }
}

/// Every rule of this program is found in the tables as it is in its rows, at and between all borders.
#[test]
fn tables_say_what_rows_say() {
    let own = executable(7);
    let rows = Rows::build(&own, &RowsLimits::default()).expect("rows");
    assert!(rows.rows.len() > 10_000, "{}", rows.rows.len());
    let (tables, _) = Tables::new(arrays(16, 4096, 4 << 20, 65_536));
    let mut executables = ExecutableRows::new(tables);
    let now = Instant::now();
    // Another one before it, so that nothing begins at 0.
    executables.map(&executable(3), now).expect("slot");
    assert!(executables.place(3, &Ok(self::rows(9, 800)), now));
    executables.map(&own, now).expect("slot");
    let reader = executables.reader();
    assert_eq!(reader.rule(7, rows.first_address), None, "not placed yet");
    assert!(executables.place(7, &Ok(rows.clone()), now));
    let first = rows.first_address;
    for (page, range) in rows.pages.windows(2).enumerate() {
        let base = first + (page as u64) * 0x1_0000;
        for row in &rows.rows[range[0] as usize..range[1] as usize] {
            let address = base + u64::from(row.low);
            for address in [address.saturating_sub(1), address, address + 1] {
                assert_eq!(reader.rule(7, address), Some(rows.rule_at(address)));
            }
        }
    }
    assert_eq!(reader.rule(7, 0), Some(UnwindRule::default()));
    assert_eq!(reader.rule(7, u64::MAX), Some(UnwindRule::default()));
    assert_eq!(reader.rule(8, first), None, "another executable");
    let fill = executables.fill();
    assert!(fill.rows >= rows.rows.len() as u64 && fill.rows <= fill.row_limit);
}

/// An executable without rows is known to have none; before that nothing is known.
#[test]
fn without_rows_is_known() {
    let (tables, _) = Tables::new(arrays(16, 64, 64, 64));
    let mut executables = ExecutableRows::new(tables);
    let now = Instant::now();
    executables.map(&executable(3), now).expect("slot");
    let reader = executables.reader();
    assert_eq!(reader.rule(3, 0x1000), None);
    assert!(executables.sampled(3, now), "wanted");
    assert!(executables.place(3, &Err(RowsError::Absent), now));
    assert_eq!(reader.rule(3, 0x1000), Some(UnwindRule::default()));
    assert!(!executables.sampled(3, now), "tried once");
    assert_eq!(executables.counters().unusable, 1);
}

/// Without room the rows that were not sampled for the longest time make it, but only after a while in which
/// nobody can be reading them; rows that are in use stay, and what finds no room is counted.
#[test]
fn the_least_recently_sampled_makes_room() {
    let (tables, _) = Tables::new(arrays(16, 64, 100, 1000));
    let mut executables = ExecutableRows::new(tables);
    let begin = Instant::now();
    for id in [1, 2] {
        executables.map(&executable(id), begin).expect("slot");
        assert!(executables.place(id, &Ok(rows(40, i64::from(id) * 1000)), begin));
    }
    let later = begin + IDLE;
    executables.sampled(2, later);
    executables.map(&executable(3), later).expect("slot");
    let third = Ok(rows(40, 3000));
    let reader = executables.reader();
    assert!(
        !executables.place(3, &third, later),
        "room was made, not free"
    );
    assert_eq!(reader.rule(1, 0x1_0000), None, "made room");
    assert!(reader.rule(2, 0x1_0000).is_some(), "sampled since");
    assert!(executables.place(3, &third, later + GRACE));
    assert!(reader.rule(3, 0x1_0000).is_some());
    let counters = executables.counters();
    assert_eq!(
        (counters.evicted, counters.placed, counters.no_room),
        (1, 2, 0)
    );
    // The one that made room is wanted again when it is sampled, and finds none for now.
    assert!(executables.sampled(1, later + GRACE));
    assert!(executables.place(1, &Ok(rows(40, 1000)), later + GRACE));
    assert_eq!(executables.counters().no_room, 1);
    assert!(!executables.sampled(1, later + GRACE), "not tried at once");
    assert!(executables.sampled(1, later + Duration::from_secs(60)));
    // What can never fit evicts nobody.
    executables.map(&executable(4), later).expect("slot");
    assert!(executables.place(4, &Ok(rows(200, 0)), later + Duration::from_secs(90)));
    assert_eq!(
        (
            executables.counters().no_room,
            executables.counters().placed
        ),
        (2, 2)
    );
}

/// While all rows are in use, what finds no room says so at once, and nobody waits for ever for room that was
/// given back long ago.
#[test]
fn nobody_waits_for_ever() {
    let (tables, _) = Tables::new(arrays(16, 64, 100, 1000));
    let mut executables = ExecutableRows::new(tables);
    let mut now = Instant::now();
    for id in [1, 2, 3] {
        executables.map(&executable(id), now).expect("slot");
    }
    assert!(executables.place(1, &Ok(rows(90, 0)), now));
    now += IDLE;
    assert!(!executables.place(2, &Ok(rows(80, 0)), now));
    now += GRACE;
    assert!(executables.place(2, &Ok(rows(80, 0)), now));
    for _ in 0..3 {
        now += GRACE;
        executables.sampled(2, now);
        assert!(
            executables.place(3, &Ok(rows(80, 0)), now),
            "no room, at once"
        );
    }
    assert_eq!(executables.counters().no_room, 3);
}

/// Rows that find no room leave everything as it was.
#[test]
fn failed_placing_takes_nothing() {
    let (mut tables, _) = Tables::new(arrays(16, 2, 100, 10));
    let now = Instant::now();
    let before = tables.fill();
    assert!(matches!(
        tables.publish(0, &rows(9, 0), now).map(drop),
        Ok(())
    ));
    assert!(matches!(
        tables.publish(1, &rows(9, 0), now),
        Err(PlaceError::Pages { .. })
    ));
    assert!(matches!(
        tables.publish(1, &rows(200, 0), now),
        Err(PlaceError::Rows { .. })
    ));
    assert!(tables.fill().rows >= before.rows);
    let (mut tables, _) = Tables::new(arrays(16, 64, 100, 10));
    assert!(matches!(
        tables.publish(1, &rows(12, 0), now),
        Err(PlaceError::Rules)
    ));
    let fill = tables.fill();
    assert_eq!((fill.rows, fill.pages), (0, 0));
    assert!(tables.publish(1, &rows(9, 0), now + GRACE).is_ok());
}

/// A slot is not given to another executable while a process has the first one mapped.
#[test]
fn slots_are_kept_while_mapped() {
    let (tables, _) = Tables::new(arrays(evenkeel_abi::UNWIND_EXECUTABLES, 64, 100, 1000));
    let mut executables = ExecutableRows::new(tables);
    let now = Instant::now();
    let one = executable(1);
    let slots: Vec<u32> = (0..evenkeel_abi::UNWIND_EXECUTABLES as u32)
        .filter_map(|id| {
            let mut other = Executable::open(id, Path::new("/proc/self/exe")).ok()?;
            other.id = id + 10;
            executables.map(&Arc::new(other), now)
        })
        .collect();
    assert_eq!(slots.len(), evenkeel_abi::UNWIND_EXECUTABLES);
    assert_eq!(executables.map(&one, now), None, "all are mapped");
    assert_eq!(executables.counters().no_slot, 1);
    executables.unmap(slots[5]);
    assert_eq!(executables.map(&one, now), None, "a walk may still use it");
    assert_eq!(executables.map(&one, now + GRACE), Some(slots[5]));
}
