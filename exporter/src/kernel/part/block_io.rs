//! Block I/O.

use super::{ArrayMap, Entries, Field, Part, Shape};
use crate::{
    kernel::probe::{Hook, Program},
    signal::Signal,
};
use evenkeel_abi::{
    DISK_BANK_SERIES, DISK_BANKS, DISK_CACHE_SETS, DISK_TABLE_LIMIT, DISK_TABLE_SETS, DiskSeries,
};

const BLOCK_IO: &[Signal] = &[Signal::BlockIo];

pub(super) const PART: Part = Part {
    programs: &[
        Program {
            name: "block_bio_queue",
            hook: Hook::Tracepoint("block_bio_queue"),
            needs: &["BIO_FLAGS", "BIO_SECTOR", "BIO_SIZE"],
            serves: BLOCK_IO,
            essential_to: &[],
            loss: "waits for a request tag are not in the durations, and no process is charged",
        },
        Program {
            name: "block_split",
            hook: Hook::Tracepoint("block_split"),
            needs: &["BIO_PRIVATE", "BIO_SECTOR", "BIO_SIZE"],
            serves: BLOCK_IO,
            essential_to: &[],
            loss: "waits of split bios for a request tag are not in the durations",
        },
        Program {
            name: "block_rq_issue",
            hook: Hook::Tracepoint("block_rq_issue"),
            needs: &[
                "REQUEST_FLAGS",
                "REQUEST_LENGTH",
                "REQUEST_SECTOR",
                "REQUEST_BIO",
                "REQUEST_START",
            ],
            serves: BLOCK_IO,
            essential_to: &[],
            loss: "durations are those that the kernel keeps, where it keeps them",
        },
        Program {
            name: "block_rq_requeue",
            hook: Hook::Tracepoint("block_rq_requeue"),
            needs: &[
                "REQUEST_QUEUE",
                "REQUEST_FLAGS",
                "QUEUE_DISK",
                "DISK_SEQUENCE",
                "DISK_NAME",
            ],
            serves: BLOCK_IO,
            essential_to: &[],
            loss: "requests that the driver hands back are not counted",
        },
        Program {
            name: "block_rq_complete",
            hook: Hook::Tracepoint("block_rq_complete"),
            needs: &[
                "REQUEST_QUEUE",
                "REQUEST_FLAGS",
                "REQUEST_LENGTH",
                "REQUEST_START",
                "REQUEST_ISSUE",
                "QUEUE_DISK",
                "DISK_SEQUENCE",
                "DISK_NAME",
            ],
            serves: BLOCK_IO,
            essential_to: BLOCK_IO,
            loss: "no request is measured",
        },
        Program {
            name: "block_bio_complete",
            hook: Hook::Tracepoint("block_bio_complete"),
            needs: &[
                "BIO_FLAGS",
                "BIO_STATUS",
                "QUEUE_OPERATIONS",
                "QUEUE_DISK",
                "DISK_SEQUENCE",
                "DISK_NAME",
            ],
            serves: BLOCK_IO,
            essential_to: &[],
            loss: "disks without requests (dm, md, zram) are not measured",
        },
    ],
    fields: &[
        field("REQUEST_QUEUE", &[("request", "q")], Shape::Pointer),
        field(
            "REQUEST_FLAGS",
            &[("request", "cmd_flags")],
            Shape::Scalar(4),
        ),
        field(
            "REQUEST_LENGTH",
            &[("request", "__data_len")],
            Shape::Scalar(4),
        ),
        field(
            "REQUEST_SECTOR",
            &[("request", "__sector")],
            Shape::Scalar(8),
        ),
        field("REQUEST_BIO", &[("request", "bio")], Shape::Pointer),
        field(
            "REQUEST_START",
            &[("request", "start_time_ns")],
            Shape::Scalar(8),
        ),
        field(
            "REQUEST_ISSUE",
            &[("request", "io_start_time_ns")],
            Shape::Scalar(8),
        ),
        field(
            "QUEUE_OPERATIONS",
            &[("request_queue", "mq_ops")],
            Shape::Pointer,
        ),
        field("QUEUE_DISK", &[("request_queue", "disk")], Shape::Pointer),
        field("DISK_SEQUENCE", &[("gendisk", "diskseq")], Shape::Scalar(8)),
        field("DISK_NAME", &[("gendisk", "disk_name")], Shape::Bytes(32)),
        field("BIO_FLAGS", &[("bio", "bi_opf")], Shape::Scalar(4)),
        field(
            "BIO_SECTOR",
            &[("bio", "bi_iter.bi_sector")],
            Shape::Scalar(8),
        ),
        field("BIO_SIZE", &[("bio", "bi_iter.bi_size")], Shape::Scalar(4)),
        field("BIO_STATUS", &[("bio", "bi_status")], Shape::Scalar(1)),
        field("BIO_PRIVATE", &[("bio", "bi_private")], Shape::Pointer),
    ],
    arrays: &[
        ArrayMap {
            name: "DISK_IO",
            entries: Entries::Banked {
                entries: DISK_BANK_SERIES,
                banks: DISK_BANKS,
            },
            words: DiskSeries::WORDS,
            serves: BLOCK_IO,
        },
        ArrayMap {
            name: "DISK_CACHE",
            entries: Entries::PerCpu(DISK_CACHE_SETS),
            words: 0,
            serves: BLOCK_IO,
        },
        table("DISK_ARRIVALS"),
        table("DISK_ISSUES"),
    ],
};

/// A table of bios or requests on their way.
pub(in crate::kernel) const fn table(name: &'static str) -> ArrayMap {
    ArrayMap {
        name,
        entries: Entries::PerFourCpus {
            entries: DISK_TABLE_SETS,
            limit: DISK_TABLE_LIMIT,
        },
        words: 0,
        serves: BLOCK_IO,
    }
}

const fn field(
    global: &'static str,
    places: &'static [(&'static str, &'static str)],
    shape: Shape,
) -> Field {
    Field {
        global,
        places,
        shape,
    }
}
