//! Metrics. Generated from the registry by `semconv-generate`: do not edit.

use super::attribute;
use crate::{Instrument, MetricAttribute, MetricDescriptor, Number, Requirement};

/// Lines of maps of run-time code that could not be understood, and functions that found no room. Counter in `{line}`.
pub static EVENKEEL_CODE_MAP_DROPPED_LINES: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.code_map.dropped_lines",
    unit: "{line}",
    description: "Lines of maps of run-time code that could not be understood, and functions that found no room.",
    instrument: Instrument::Counter,
    number: Number::Int,
    attributes: &[],
};

/// Maps of run-time code that were not read: of another user than their process, or older than it. Counter in `{file}`.
pub static EVENKEEL_CODE_MAP_REFUSALS: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.code_map.refusals",
    unit: "{file}",
    description: "Maps of run-time code that were not read: of another user than their process, or older than it.",
    instrument: Instrument::Counter,
    number: Number::Int,
    attributes: &[],
};

/// Context switches of the whole host. Counter in `{context_switch}`.
pub static EVENKEEL_CPU_CONTEXT_SWITCHES: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.cpu.context_switches",
    unit: "{context_switch}",
    description: "Context switches of the whole host.",
    instrument: Instrument::Counter,
    number: Number::Int,
    attributes: &[],
};

/// Time of each CPU that interrupts took for themselves. Counter in `s`.
pub static EVENKEEL_CPU_INTERRUPT_TIME: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.cpu.interrupt.time",
    unit: "s",
    description: "Time of each CPU that interrupts took for themselves.",
    instrument: Instrument::Counter,
    number: Number::Double,
    attributes: &[
        MetricAttribute {
            name: attribute::CPU_LOGICAL_NUMBER,
            requirement: Requirement::Required,
        },
        MetricAttribute {
            name: attribute::EVENKEEL_INTERRUPT_KIND,
            requirement: Requirement::Required,
        },
    ],
};

/// Tasks running or ready on a CPU, sampled with the frequency of the profiles. Histogram in `{task}`.
pub static EVENKEEL_CPU_RUN_QUEUE_LENGTH: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.cpu.run_queue.length",
    unit: "{task}",
    description: "Tasks running or ready on a CPU, sampled with the frequency of the profiles.",
    instrument: Instrument::Histogram,
    number: Number::Double,
    attributes: &[],
};

/// Time a runnable task waited on a run queue before it ran. Histogram in `s`.
pub static EVENKEEL_CPU_RUN_QUEUE_WAIT_DURATION: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.cpu.run_queue.wait.duration",
    unit: "s",
    description: "Time a runnable task waited on a run queue before it ran.",
    instrument: Instrument::Histogram,
    number: Number::Double,
    attributes: &[
        MetricAttribute {
            name: attribute::EVENKEEL_CPU_RUN_QUEUE_ENQUEUE_REASON,
            requirement: Requirement::Required,
        },
    ],
};

/// Time that tasks waited on run queues, as the scheduler itself sums it. Counter in `s`.
pub static EVENKEEL_CPU_RUN_QUEUE_WAIT_TIME: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.cpu.run_queue.wait.time",
    unit: "s",
    description: "Time that tasks waited on run queues, as the scheduler itself sums it.",
    instrument: Instrument::Counter,
    number: Number::Double,
    attributes: &[],
};

/// CPU time that the hypervisor gave to others while this host had work to do. Counter in `s`.
pub static EVENKEEL_CPU_STOLEN_TIME: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.cpu.stolen.time",
    unit: "s",
    description: "CPU time that the hypervisor gave to others while this host had work to do.",
    instrument: Instrument::Counter,
    number: Number::Double,
    attributes: &[
        MetricAttribute {
            name: attribute::CPU_LOGICAL_NUMBER,
            requirement: Requirement::OptIn,
        },
    ],
};

/// Share of each second of each CPU that was stolen. Histogram in `1`.
pub static EVENKEEL_CPU_STOLEN_UTILIZATION: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.cpu.stolen.utilization",
    unit: "1",
    description: "Share of each second of each CPU that was stolen.",
    instrument: Instrument::Histogram,
    number: Number::Double,
    attributes: &[
        MetricAttribute {
            name: attribute::CPU_LOGICAL_NUMBER,
            requirement: Requirement::OptIn,
        },
    ],
};

/// Context switches seen, by why the task left the CPU. Counter in `{context_switch}`.
pub static EVENKEEL_CPU_SWITCHES: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.cpu.switches",
    unit: "{context_switch}",
    description: "Context switches seen, by why the task left the CPU.",
    instrument: Instrument::Counter,
    number: Number::Int,
    attributes: &[
        MetricAttribute {
            name: attribute::EVENKEEL_CONTEXT_SWITCH_TYPE,
            requirement: Requirement::Required,
        },
    ],
};

/// Disk operations that the driver had, looked at once a second. Histogram in `{operation}`.
pub static EVENKEEL_DISK_OPERATION_DEPTH: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.disk.operation.depth",
    unit: "{operation}",
    description: "Disk operations that the driver had, looked at once a second.",
    instrument: Instrument::Histogram,
    number: Number::Double,
    attributes: &[
        MetricAttribute {
            name: attribute::EVENKEEL_DISK_INSTANCE,
            requirement: Requirement::ConditionallyRequired,
        },
        MetricAttribute {
            name: attribute::SYSTEM_DEVICE,
            requirement: Requirement::Required,
        },
    ],
};

/// Time from when the driver got a disk operation to its last completion. Histogram in `s`.
pub static EVENKEEL_DISK_OPERATION_DEVICE_DURATION: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.disk.operation.device.duration",
    unit: "s",
    description: "Time from when the driver got a disk operation to its last completion.",
    instrument: Instrument::Histogram,
    number: Number::Double,
    attributes: &[
        MetricAttribute {
            name: attribute::EVENKEEL_DISK_INSTANCE,
            requirement: Requirement::ConditionallyRequired,
        },
        MetricAttribute {
            name: attribute::EVENKEEL_DISK_OPERATION_TYPE,
            requirement: Requirement::Required,
        },
        MetricAttribute {
            name: attribute::SYSTEM_DEVICE,
            requirement: Requirement::Required,
        },
    ],
};

/// Time from the arrival of a disk operation to its completion. Histogram in `s`.
pub static EVENKEEL_DISK_OPERATION_DURATION: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.disk.operation.duration",
    unit: "s",
    description: "Time from the arrival of a disk operation to its completion.",
    instrument: Instrument::Histogram,
    number: Number::Double,
    attributes: &[
        MetricAttribute {
            name: attribute::EVENKEEL_DISK_INSTANCE,
            requirement: Requirement::ConditionallyRequired,
        },
        MetricAttribute {
            name: attribute::EVENKEEL_DISK_OPERATION_TYPE,
            requirement: Requirement::Required,
        },
        MetricAttribute {
            name: attribute::SYSTEM_DEVICE,
            requirement: Requirement::Required,
        },
    ],
};

/// Disk operations that ended with an error. Counter in `{operation}`.
pub static EVENKEEL_DISK_OPERATION_ERRORS: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.disk.operation.errors",
    unit: "{operation}",
    description: "Disk operations that ended with an error.",
    instrument: Instrument::Counter,
    number: Number::Int,
    attributes: &[
        MetricAttribute {
            name: attribute::ERROR_TYPE,
            requirement: Requirement::Required,
        },
        MetricAttribute {
            name: attribute::EVENKEEL_DISK_INSTANCE,
            requirement: Requirement::ConditionallyRequired,
        },
        MetricAttribute {
            name: attribute::EVENKEEL_DISK_OPERATION_TYPE,
            requirement: Requirement::Required,
        },
        MetricAttribute {
            name: attribute::SYSTEM_DEVICE,
            requirement: Requirement::Required,
        },
    ],
};

/// Operations that were issued to a disk and have not completed. UpDownCounter in `{operation}`.
pub static EVENKEEL_DISK_OPERATION_IN_FLIGHT: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.disk.operation.in_flight",
    unit: "{operation}",
    description: "Operations that were issued to a disk and have not completed.",
    instrument: Instrument::UpDownCounter,
    number: Number::Int,
    attributes: &[
        MetricAttribute {
            name: attribute::SYSTEM_DEVICE,
            requirement: Requirement::Required,
        },
    ],
};

/// Completions of a part of a disk operation. Counter in `{operation}`.
pub static EVENKEEL_DISK_OPERATION_PARTIAL_COMPLETIONS: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.disk.operation.partial_completions",
    unit: "{operation}",
    description: "Completions of a part of a disk operation.",
    instrument: Instrument::Counter,
    number: Number::Int,
    attributes: &[
        MetricAttribute {
            name: attribute::EVENKEEL_DISK_INSTANCE,
            requirement: Requirement::ConditionallyRequired,
        },
        MetricAttribute {
            name: attribute::EVENKEEL_DISK_OPERATION_TYPE,
            requirement: Requirement::Required,
        },
        MetricAttribute {
            name: attribute::SYSTEM_DEVICE,
            requirement: Requirement::Required,
        },
    ],
};

/// Time from the arrival of a disk operation until the driver got it. Histogram in `s`.
pub static EVENKEEL_DISK_OPERATION_QUEUE_DURATION: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.disk.operation.queue.duration",
    unit: "s",
    description: "Time from the arrival of a disk operation until the driver got it.",
    instrument: Instrument::Histogram,
    number: Number::Double,
    attributes: &[
        MetricAttribute {
            name: attribute::EVENKEEL_DISK_INSTANCE,
            requirement: Requirement::ConditionallyRequired,
        },
        MetricAttribute {
            name: attribute::EVENKEEL_DISK_OPERATION_TYPE,
            requirement: Requirement::Required,
        },
        MetricAttribute {
            name: attribute::SYSTEM_DEVICE,
            requirement: Requirement::Required,
        },
    ],
};

/// Times that a driver handed a disk operation back because it could not take it yet. Counter in `{operation}`.
pub static EVENKEEL_DISK_OPERATION_REQUEUES: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.disk.operation.requeues",
    unit: "{operation}",
    description: "Times that a driver handed a disk operation back because it could not take it yet.",
    instrument: Instrument::Counter,
    number: Number::Int,
    attributes: &[
        MetricAttribute {
            name: attribute::EVENKEEL_DISK_INSTANCE,
            requirement: Requirement::ConditionallyRequired,
        },
        MetricAttribute {
            name: attribute::EVENKEEL_DISK_OPERATION_TYPE,
            requirement: Requirement::Required,
        },
        MetricAttribute {
            name: attribute::SYSTEM_DEVICE,
            requirement: Requirement::Required,
        },
    ],
};

/// Sizes of disk operations. Histogram in `By`.
pub static EVENKEEL_DISK_OPERATION_SIZE: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.disk.operation.size",
    unit: "By",
    description: "Sizes of disk operations.",
    instrument: Instrument::Histogram,
    number: Number::Double,
    attributes: &[
        MetricAttribute {
            name: attribute::EVENKEEL_DISK_INSTANCE,
            requirement: Requirement::ConditionallyRequired,
        },
        MetricAttribute {
            name: attribute::EVENKEEL_DISK_OPERATION_TYPE,
            requirement: Requirement::Required,
        },
        MetricAttribute {
            name: attribute::SYSTEM_DEVICE,
            requirement: Requirement::Required,
        },
    ],
};

/// Executable files that were closed to make room; their frames have no names until they are seen again. Counter in `{file}`.
pub static EVENKEEL_EXECUTABLE_TABLE_EVICTIONS: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.executable.table.evictions",
    unit: "{file}",
    description: "Executable files that were closed to make room; their frames have no names until they are seen again.",
    instrument: Instrument::Counter,
    number: Number::Int,
    attributes: &[],
};

/// Windows that wait to be sent. UpDownCounter in `{window}`.
pub static EVENKEEL_EXPORT_QUEUE_LENGTH: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.export.queue.length",
    unit: "{window}",
    description: "Windows that wait to be sent.",
    instrument: Instrument::UpDownCounter,
    number: Number::Int,
    attributes: &[
        MetricAttribute {
            name: attribute::EVENKEEL_EXPORT_SIGNAL,
            requirement: Requirement::Required,
        },
    ],
};

/// Memory that the waiting windows occupy. UpDownCounter in `By`.
pub static EVENKEEL_EXPORT_QUEUE_SIZE: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.export.queue.size",
    unit: "By",
    description: "Memory that the waiting windows occupy.",
    instrument: Instrument::UpDownCounter,
    number: Number::Int,
    attributes: &[
        MetricAttribute {
            name: attribute::EVENKEEL_EXPORT_SIGNAL,
            requirement: Requirement::Required,
        },
    ],
};

/// Time from sending a request to its answer or failure. Histogram in `s`.
pub static EVENKEEL_EXPORT_REQUEST_DURATION: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.export.request.duration",
    unit: "s",
    description: "Time from sending a request to its answer or failure.",
    instrument: Instrument::Histogram,
    number: Number::Double,
    attributes: &[
        MetricAttribute {
            name: attribute::EVENKEEL_EXPORT_SIGNAL,
            requirement: Requirement::Required,
        },
    ],
};

/// Requests that were sent again. Counter in `{retry}`.
pub static EVENKEEL_EXPORT_RETRIES: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.export.retries",
    unit: "{retry}",
    description: "Requests that were sent again.",
    instrument: Instrument::Counter,
    number: Number::Int,
    attributes: &[
        MetricAttribute {
            name: attribute::EVENKEEL_EXPORT_SIGNAL,
            requirement: Requirement::Required,
        },
    ],
};

/// Windows by what became of them. Counter in `{window}`.
pub static EVENKEEL_EXPORT_WINDOWS: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.export.windows",
    unit: "{window}",
    description: "Windows by what became of them.",
    instrument: Instrument::Counter,
    number: Number::Int,
    attributes: &[
        MetricAttribute {
            name: attribute::EVENKEEL_EXPORT_OUTCOME,
            requirement: Requirement::Required,
        },
        MetricAttribute {
            name: attribute::EVENKEEL_EXPORT_SIGNAL,
            requirement: Requirement::Required,
        },
    ],
};

/// Time from the arrival to the completion of an I/O that the service or container in focus queued. Histogram in `s`.
pub static EVENKEEL_FOCUS_BLOCK_IO_DURATION: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.focus.block_io.duration",
    unit: "s",
    description: "Time from the arrival to the completion of an I/O that the service or container in focus queued.",
    instrument: Instrument::Histogram,
    number: Number::Double,
    attributes: &[
        MetricAttribute {
            name: attribute::EVENKEEL_FOCUS_TARGET,
            requirement: Requirement::Required,
        },
    ],
};

/// Time that a task of the service or container in focus was blocked. Histogram in `s`.
pub static EVENKEEL_FOCUS_OFF_CPU_DURATION: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.focus.off_cpu.duration",
    unit: "s",
    description: "Time that a task of the service or container in focus was blocked.",
    instrument: Instrument::Histogram,
    number: Number::Double,
    attributes: &[
        MetricAttribute {
            name: attribute::EVENKEEL_FOCUS_TARGET,
            requirement: Requirement::Required,
        },
    ],
};

/// Time that a task of the service or container in focus waited for a CPU. Histogram in `s`.
pub static EVENKEEL_FOCUS_RUN_QUEUE_WAIT_DURATION: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.focus.run_queue.wait.duration",
    unit: "s",
    description: "Time that a task of the service or container in focus waited for a CPU.",
    instrument: Instrument::Histogram,
    number: Number::Double,
    attributes: &[
        MetricAttribute {
            name: attribute::EVENKEEL_FOCUS_TARGET,
            requirement: Requirement::Required,
        },
    ],
};

/// Time that a system call of the service or container in focus took. Histogram in `s`.
pub static EVENKEEL_FOCUS_SYSCALL_DURATION: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.focus.syscall.duration",
    unit: "s",
    description: "Time that a system call of the service or container in focus took.",
    instrument: Instrument::Histogram,
    number: Number::Double,
    attributes: &[
        MetricAttribute {
            name: attribute::EVENKEEL_FOCUS_TARGET,
            requirement: Requirement::Required,
        },
    ],
};

/// Measured cost of one call of a BPF helper on this host. Gauge in `s`.
pub static EVENKEEL_HELPER_COST: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.helper.cost",
    unit: "s",
    description: "Measured cost of one call of a BPF helper on this host.",
    instrument: Instrument::Gauge,
    number: Number::Double,
    attributes: &[
        MetricAttribute {
            name: attribute::EVENKEEL_HELPER_NAME,
            requirement: Requirement::Required,
        },
    ],
};

/// Time from the begin of an interrupt's handling to its end. Histogram in `s`.
pub static EVENKEEL_INTERRUPT_DURATION: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.interrupt.duration",
    unit: "s",
    description: "Time from the begin of an interrupt's handling to its end.",
    instrument: Instrument::Histogram,
    number: Number::Double,
    attributes: &[
        MetricAttribute {
            name: attribute::EVENKEEL_INTERRUPT_KIND,
            requirement: Requirement::Required,
        },
        MetricAttribute {
            name: attribute::EVENKEEL_INTERRUPT_NAME,
            requirement: Requirement::Required,
        },
    ],
};

/// CPU time that interrupts took for themselves. Counter in `s`.
pub static EVENKEEL_INTERRUPT_TIME: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.interrupt.time",
    unit: "s",
    description: "CPU time that interrupts took for themselves.",
    instrument: Instrument::Counter,
    number: Number::Double,
    attributes: &[
        MetricAttribute {
            name: attribute::EVENKEEL_INTERRUPT_KIND,
            requirement: Requirement::Required,
        },
        MetricAttribute {
            name: attribute::EVENKEEL_INTERRUPT_NAME,
            requirement: Requirement::Required,
        },
    ],
};

/// Kernel memory that the maps of the agent occupy. UpDownCounter in `By`.
pub static EVENKEEL_MAP_MEMORY_USAGE: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.map.memory.usage",
    unit: "By",
    description: "Kernel memory that the maps of the agent occupy.",
    instrument: Instrument::UpDownCounter,
    number: Number::Int,
    attributes: &[
        MetricAttribute {
            name: attribute::EVENKEEL_MAP_NAME,
            requirement: Requirement::Recommended,
        },
    ],
};

/// Packets that the kernel dropped, in all network namespaces. Counter in `{packet}`.
pub static EVENKEEL_NETWORK_DROPS: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.network.drops",
    unit: "{packet}",
    description: "Packets that the kernel dropped, in all network namespaces.",
    instrument: Instrument::Counter,
    number: Number::Int,
    attributes: &[
        MetricAttribute {
            name: attribute::EVENKEEL_NETWORK_DROP_REASON,
            requirement: Requirement::Required,
        },
    ],
};

/// CPU time that receiving a packet took in `net_rx`. Histogram in `s`.
pub static EVENKEEL_NETWORK_PACKET_RECEIVE_DURATION: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.network.packet.receive.duration",
    unit: "s",
    description: "CPU time that receiving a packet took in `net_rx`.",
    instrument: Instrument::Histogram,
    number: Number::Double,
    attributes: &[],
};

/// Packets that were taken from the receive queues of devices and CPUs, in all network namespaces. Counter in `{packet}`.
pub static EVENKEEL_NETWORK_PACKETS_POLLED: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.network.packets.polled",
    unit: "{packet}",
    description: "Packets that were taken from the receive queues of devices and CPUs, in all network namespaces.",
    instrument: Instrument::Counter,
    number: Number::Int,
    attributes: &[
        MetricAttribute {
            name: attribute::EVENKEEL_NETWORK_POLL_CONTEXT,
            requirement: Requirement::Required,
        },
    ],
};

/// Polls of the receive queues of devices and CPUs. Counter in `{poll}`.
pub static EVENKEEL_NETWORK_POLLS: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.network.polls",
    unit: "{poll}",
    description: "Polls of the receive queues of devices and CPUs.",
    instrument: Instrument::Counter,
    number: Number::Int,
    attributes: &[
        MetricAttribute {
            name: attribute::EVENKEEL_NETWORK_POLL_OUTCOME,
            requirement: Requirement::Required,
        },
    ],
};

/// Packets and connections that found no room in a queue. Counter in `{packet}`.
pub static EVENKEEL_NETWORK_QUEUE_DROPS: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.network.queue.drops",
    unit: "{packet}",
    description: "Packets and connections that found no room in a queue.",
    instrument: Instrument::Counter,
    number: Number::Int,
    attributes: &[
        MetricAttribute {
            name: attribute::EVENKEEL_NETWORK_QUEUE_DROP_REASON,
            requirement: Requirement::Required,
        },
    ],
};

/// Runs of `net_rx` that ended with packets left, for want of time or budget. Counter in `{run}`.
pub static EVENKEEL_NETWORK_SOFTIRQ_SQUEEZES: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.network.softirq.squeezes",
    unit: "{run}",
    description: "Runs of `net_rx` that ended with packets left, for want of time or budget.",
    instrument: Instrument::Counter,
    number: Number::Int,
    attributes: &[],
};

/// CPU time of the soft interrupts that receive and transmit packets. Counter in `s`.
pub static EVENKEEL_NETWORK_SOFTIRQ_TIME: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.network.softirq.time",
    unit: "s",
    description: "CPU time of the soft interrupts that receive and transmit packets.",
    instrument: Instrument::Counter,
    number: Number::Double,
    attributes: &[
        MetricAttribute {
            name: attribute::EVENKEEL_INTERRUPT_NAME,
            requirement: Requirement::Required,
        },
    ],
};

/// Segments that arrived on established TCP connections. Counter in `{segment}`.
pub static EVENKEEL_NETWORK_TCP_RECEIVED_SEGMENTS: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.network.tcp.received_segments",
    unit: "{segment}",
    description: "Segments that arrived on established TCP connections.",
    instrument: Instrument::Counter,
    number: Number::Int,
    attributes: &[],
};

/// TCP segments that were sent again. Counter in `{segment}`.
pub static EVENKEEL_NETWORK_TCP_RETRANSMISSIONS: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.network.tcp.retransmissions",
    unit: "{segment}",
    description: "TCP segments that were sent again.",
    instrument: Instrument::Counter,
    number: Number::Int,
    attributes: &[
        MetricAttribute {
            name: attribute::EVENKEEL_NETWORK_TCP_RETRANSMISSION_KIND,
            requirement: Requirement::Required,
        },
    ],
};

/// Smoothed round-trip times of TCP connections. Histogram in `s`.
pub static EVENKEEL_NETWORK_TCP_ROUND_TRIP_DURATION: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.network.tcp.round_trip.duration",
    unit: "s",
    description: "Smoothed round-trip times of TCP connections.",
    instrument: Instrument::Histogram,
    number: Number::Double,
    attributes: &[],
};

/// Share of the segments at which the round-trip time is looked at. Gauge in `1`.
pub static EVENKEEL_NETWORK_TCP_ROUND_TRIP_SAMPLING_RATIO: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.network.tcp.round_trip.sampling.ratio",
    unit: "1",
    description: "Share of the segments at which the round-trip time is looked at.",
    instrument: Instrument::Gauge,
    number: Number::Double,
    attributes: &[],
};

/// Time that tasks were blocked, by what they waited for. Counter in `s`.
pub static EVENKEEL_OFF_CPU_TIME: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.off_cpu.time",
    unit: "s",
    description: "Time that tasks were blocked, by what they waited for.",
    instrument: Instrument::Counter,
    number: Number::Double,
    attributes: &[
        MetricAttribute {
            name: attribute::EVENKEEL_OFF_CPU_REASON,
            requirement: Requirement::Required,
        },
    ],
};

/// Time that tasks were stalled for want of a resource. Counter in `s`.
pub static EVENKEEL_PRESSURE_STALL_TIME: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.pressure.stall.time",
    unit: "s",
    description: "Time that tasks were stalled for want of a resource.",
    instrument: Instrument::Counter,
    number: Number::Double,
    attributes: &[
        MetricAttribute {
            name: attribute::EVENKEEL_PRESSURE_RESOURCE,
            requirement: Requirement::Required,
        },
        MetricAttribute {
            name: attribute::EVENKEEL_PRESSURE_SCOPE,
            requirement: Requirement::Required,
        },
    ],
};

/// Bytes that processes handed to disks, estimated from a sample. Counter in `By`.
pub static EVENKEEL_PROCESS_DISK_IO: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.process.disk.io",
    unit: "By",
    description: "Bytes that processes handed to disks, estimated from a sample.",
    instrument: Instrument::Counter,
    number: Number::Int,
    attributes: &[
        MetricAttribute {
            name: attribute::CONTAINER_ID,
            requirement: Requirement::ConditionallyRequired,
        },
        MetricAttribute {
            name: attribute::DISK_IO_DIRECTION,
            requirement: Requirement::Required,
        },
        MetricAttribute {
            name: attribute::PROCESS_EXECUTABLE_NAME,
            requirement: Requirement::Required,
        },
    ],
};

/// Processes that were forgotten while alive because the table was full. Counter in `{process}`.
pub static EVENKEEL_PROCESS_TABLE_EVICTIONS: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.process.table.evictions",
    unit: "{process}",
    description: "Processes that were forgotten while alive because the table was full.",
    instrument: Instrument::Counter,
    number: Number::Int,
    attributes: &[],
};

/// Processes that the agent knows. UpDownCounter in `{process}`.
pub static EVENKEEL_PROCESS_TABLE_SIZE: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.process.table.size",
    unit: "{process}",
    description: "Processes that the agent knows.",
    instrument: Instrument::UpDownCounter,
    number: Number::Int,
    attributes: &[],
};

/// Time that a kernel program of the agent ran. Counter in `s`.
pub static EVENKEEL_PROGRAM_RUN_TIME: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.program.run.time",
    unit: "s",
    description: "Time that a kernel program of the agent ran.",
    instrument: Instrument::Counter,
    number: Number::Double,
    attributes: &[
        MetricAttribute {
            name: attribute::EVENKEEL_PROGRAM_NAME,
            requirement: Requirement::Required,
        },
    ],
};

/// Runs of a kernel program of the agent. Counter in `{run}`.
pub static EVENKEEL_PROGRAM_RUNS: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.program.runs",
    unit: "{run}",
    description: "Runs of a kernel program of the agent.",
    instrument: Instrument::Counter,
    number: Number::Int,
    attributes: &[
        MetricAttribute {
            name: attribute::EVENKEEL_PROGRAM_NAME,
            requirement: Requirement::Required,
        },
    ],
};

/// Events that the kernel programs or readers of a signal saw. Counter in `{event}`.
pub static EVENKEEL_SIGNAL_EVENTS: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.signal.events",
    unit: "{event}",
    description: "Events that the kernel programs or readers of a signal saw.",
    instrument: Instrument::Counter,
    number: Number::Int,
    attributes: &[
        MetricAttribute {
            name: attribute::EVENKEEL_SIGNAL_NAME,
            requirement: Requirement::Required,
        },
    ],
};

/// Events that a signal saw but could not account for. Counter in `{event}`.
pub static EVENKEEL_SIGNAL_LOSSES: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.signal.losses",
    unit: "{event}",
    description: "Events that a signal saw but could not account for.",
    instrument: Instrument::Counter,
    number: Number::Int,
    attributes: &[
        MetricAttribute {
            name: attribute::EVENKEEL_LOSS_REASON,
            requirement: Requirement::Required,
        },
        MetricAttribute {
            name: attribute::EVENKEEL_SIGNAL_NAME,
            requirement: Requirement::Required,
        },
    ],
};

/// 1 for the state that the signal is in, 0 for the others. UpDownCounter in `1`.
pub static EVENKEEL_SIGNAL_STATUS: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.signal.status",
    unit: "1",
    description: "1 for the state that the signal is in, 0 for the others.",
    instrument: Instrument::UpDownCounter,
    number: Number::Int,
    attributes: &[
        MetricAttribute {
            name: attribute::EVENKEEL_SIGNAL_NAME,
            requirement: Requirement::Required,
        },
        MetricAttribute {
            name: attribute::EVENKEEL_SIGNAL_REASON,
            requirement: Requirement::ConditionallyRequired,
        },
        MetricAttribute {
            name: attribute::EVENKEEL_SIGNAL_STATE,
            requirement: Requirement::Required,
        },
    ],
};

/// Frames that were left out because their address was not code: the frame pointer was not one. Counter in `{frame}`.
pub static EVENKEEL_STACK_REFUSED_FRAMES: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.stack.refused_frames",
    unit: "{frame}",
    description: "Frames that were left out because their address was not code: the frame pointer was not one.",
    instrument: Instrument::Counter,
    number: Number::Int,
    attributes: &[],
};

/// Walks of user stacks, by how they ended. Counter in `{walk}`.
pub static EVENKEEL_STACK_WALKS: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.stack.walks",
    unit: "{walk}",
    description: "Walks of user stacks, by how they ended.",
    instrument: Instrument::Counter,
    number: Number::Int,
    attributes: &[
        MetricAttribute {
            name: attribute::EVENKEEL_STACK_END,
            requirement: Requirement::Required,
        },
    ],
};

/// Entries that were dropped from the cache of names because it was full. Counter in `{entry}`.
pub static EVENKEEL_SYMBOL_CACHE_EVICTIONS: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.symbol.cache.evictions",
    unit: "{entry}",
    description: "Entries that were dropped from the cache of names because it was full.",
    instrument: Instrument::Counter,
    number: Number::Int,
    attributes: &[],
};

/// Entries in the cache of names. UpDownCounter in `{entry}`.
pub static EVENKEEL_SYMBOL_CACHE_SIZE: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.symbol.cache.size",
    unit: "{entry}",
    description: "Entries in the cache of names.",
    instrument: Instrument::UpDownCounter,
    number: Number::Int,
    attributes: &[],
};

/// System calls entered, by family. Counter in `{call}`.
pub static EVENKEEL_SYSCALL_CALLS: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.syscall.calls",
    unit: "{call}",
    description: "System calls entered, by family.",
    instrument: Instrument::Counter,
    number: Number::Int,
    attributes: &[
        MetricAttribute {
            name: attribute::EVENKEEL_SYSCALL_FAMILY,
            requirement: Requirement::Required,
        },
    ],
};

/// Time from the entry of a system call to its end, by family. Histogram in `s`.
pub static EVENKEEL_SYSCALL_DURATION: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.syscall.duration",
    unit: "s",
    description: "Time from the entry of a system call to its end, by family.",
    instrument: Instrument::Histogram,
    number: Number::Double,
    attributes: &[
        MetricAttribute {
            name: attribute::EVENKEEL_SYSCALL_FAMILY,
            requirement: Requirement::Required,
        },
    ],
};

/// System calls that failed, by family and class of error. Counter in `{error}`.
pub static EVENKEEL_SYSCALL_ERRORS: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.syscall.errors",
    unit: "{error}",
    description: "System calls that failed, by family and class of error.",
    instrument: Instrument::Counter,
    number: Number::Int,
    attributes: &[
        MetricAttribute {
            name: attribute::EVENKEEL_SYSCALL_ERROR_CLASS,
            requirement: Requirement::Required,
        },
        MetricAttribute {
            name: attribute::EVENKEEL_SYSCALL_FAMILY,
            requirement: Requirement::Required,
        },
    ],
};

/// System calls that tasks are in, by family and age. UpDownCounter in `{call}`.
pub static EVENKEEL_SYSCALL_IN_FLIGHT_COUNT: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.syscall.in_flight.count",
    unit: "{call}",
    description: "System calls that tasks are in, by family and age.",
    instrument: Instrument::UpDownCounter,
    number: Number::Int,
    attributes: &[
        MetricAttribute {
            name: attribute::EVENKEEL_SYSCALL_AGE,
            requirement: Requirement::Required,
        },
        MetricAttribute {
            name: attribute::EVENKEEL_SYSCALL_FAMILY,
            requirement: Requirement::Required,
        },
    ],
};

/// System calls entered, of each call that was listed. Counter in `{call}`.
pub static EVENKEEL_SYSCALL_LISTED_CALLS: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.syscall.listed.calls",
    unit: "{call}",
    description: "System calls entered, of each call that was listed.",
    instrument: Instrument::Counter,
    number: Number::Int,
    attributes: &[
        MetricAttribute {
            name: attribute::EVENKEEL_SYSCALL_NAME,
            requirement: Requirement::Required,
        },
    ],
};

/// Time from the entry of a system call to its end, of each call that was listed. Histogram in `s`.
pub static EVENKEEL_SYSCALL_LISTED_DURATION: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.syscall.listed.duration",
    unit: "s",
    description: "Time from the entry of a system call to its end, of each call that was listed.",
    instrument: Instrument::Histogram,
    number: Number::Double,
    attributes: &[
        MetricAttribute {
            name: attribute::EVENKEEL_SYSCALL_NAME,
            requirement: Requirement::Required,
        },
    ],
};

/// Time for which system calls were watched. Counter in `s`.
pub static EVENKEEL_SYSCALL_SAMPLING_ATTACHED_TIME: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.syscall.sampling.attached.time",
    unit: "s",
    description: "Time for which system calls were watched.",
    instrument: Instrument::Counter,
    number: Number::Double,
    attributes: &[],
};

/// How often the kernel programs were attached to watch system calls. Counter in `{burst}`.
pub static EVENKEEL_SYSCALL_SAMPLING_BURSTS: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.syscall.sampling.bursts",
    unit: "{burst}",
    description: "How often the kernel programs were attached to watch system calls.",
    instrument: Instrument::Counter,
    number: Number::Int,
    attributes: &[],
};

/// Time that a system call takes longer while it is watched, measured at the start. Gauge in `s`.
pub static EVENKEEL_SYSCALL_SAMPLING_CALL_COST: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.syscall.sampling.call.cost",
    unit: "s",
    description: "Time that a system call takes longer while it is watched, measured at the start.",
    instrument: Instrument::Gauge,
    number: Number::Double,
    attributes: &[
        MetricAttribute {
            name: attribute::EVENKEEL_SYSCALL_SAMPLED,
            requirement: Requirement::Required,
        },
    ],
};

/// CPU time that watching system calls cost the host. Counter in `s`.
pub static EVENKEEL_SYSCALL_SAMPLING_COST_TIME: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.syscall.sampling.cost.time",
    unit: "s",
    description: "CPU time that watching system calls cost the host.",
    instrument: Instrument::Counter,
    number: Number::Double,
    attributes: &[],
};

/// Share of the time for which system calls are watched now. Gauge in `1`.
pub static EVENKEEL_SYSCALL_SAMPLING_DUTY: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.syscall.sampling.duty",
    unit: "1",
    description: "Share of the time for which system calls are watched now.",
    instrument: Instrument::Gauge,
    number: Number::Double,
    attributes: &[],
};

/// Relative standard error of the number of system calls since the start, by how much bursts differ. Gauge in `1`.
pub static EVENKEEL_SYSCALL_SAMPLING_ERROR: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.syscall.sampling.error",
    unit: "1",
    description: "Relative standard error of the number of system calls since the start, by how much bursts differ.",
    instrument: Instrument::Gauge,
    number: Number::Double,
    attributes: &[],
};

/// The longest duration of a system call that can be measured now. Gauge in `s`.
pub static EVENKEEL_SYSCALL_SAMPLING_LONGEST: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.syscall.sampling.longest",
    unit: "s",
    description: "The longest duration of a system call that can be measured now.",
    instrument: Instrument::Gauge,
    number: Number::Double,
    attributes: &[],
};

/// Share of the calls watched that are measured now. Gauge in `1`.
pub static EVENKEEL_SYSCALL_SAMPLING_RATE: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.syscall.sampling.rate",
    unit: "1",
    description: "Share of the calls watched that are measured now.",
    instrument: Instrument::Gauge,
    number: Number::Double,
    attributes: &[],
};

/// System calls that were not measured, to hold the budget. Counter in `{call}`.
pub static EVENKEEL_SYSCALL_SAMPLING_SKIPPED: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.syscall.sampling.skipped",
    unit: "{call}",
    description: "System calls that were not measured, to hold the budget.",
    instrument: Instrument::Counter,
    number: Number::Int,
    attributes: &[],
};

/// CPU time that making rows of unwind tables took. Counter in `s`.
pub static EVENKEEL_UNWIND_BUILD_TIME: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.unwind.build.time",
    unit: "s",
    description: "CPU time that making rows of unwind tables took.",
    instrument: Instrument::Counter,
    number: Number::Double,
    attributes: &[],
};

/// Executable files mapped by sampled processes, by whether the kernel programs have rows for them. UpDownCounter in `{file}`.
pub static EVENKEEL_UNWIND_EXECUTABLES: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.unwind.executables",
    unit: "{file}",
    description: "Executable files mapped by sampled processes, by whether the kernel programs have rows for them.",
    instrument: Instrument::UpDownCounter,
    number: Number::Int,
    attributes: &[
        MetricAttribute {
            name: attribute::EVENKEEL_UNWIND_STATE,
            requirement: Requirement::Required,
        },
    ],
};

/// Processes whose mappings the kernel programs have. UpDownCounter in `{process}`.
pub static EVENKEEL_UNWIND_PROCESSES: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.unwind.processes",
    unit: "{process}",
    description: "Processes whose mappings the kernel programs have.",
    instrument: Instrument::UpDownCounter,
    number: Number::Int,
    attributes: &[],
};

/// What unwind tables lack, by why: stacks of such code are walked by frame pointers. Counter in `{refusal}`.
pub static EVENKEEL_UNWIND_REFUSALS: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.unwind.refusals",
    unit: "{refusal}",
    description: "What unwind tables lack, by why: stacks of such code are walked by frame pointers.",
    instrument: Instrument::Counter,
    number: Number::Int,
    attributes: &[
        MetricAttribute {
            name: attribute::EVENKEEL_UNWIND_REFUSAL,
            requirement: Requirement::Required,
        },
    ],
};

/// Rows of unwind tables that there is room for. UpDownCounter in `{row}`.
pub static EVENKEEL_UNWIND_TABLE_LIMIT: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.unwind.table.limit",
    unit: "{row}",
    description: "Rows of unwind tables that there is room for.",
    instrument: Instrument::UpDownCounter,
    number: Number::Int,
    attributes: &[],
};

/// Rows of unwind tables that the kernel programs have. UpDownCounter in `{row}`.
pub static EVENKEEL_UNWIND_TABLE_USAGE: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.unwind.table.usage",
    unit: "{row}",
    description: "Rows of unwind tables that the kernel programs have.",
    instrument: Instrument::UpDownCounter,
    number: Number::Int,
    attributes: &[],
};

/// Longest wait period in effect on any CPU. Gauge in `s`.
pub static EVENKEEL_WAIT_PERIOD: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.wait.period",
    unit: "s",
    description: "Longest wait period in effect on any CPU.",
    instrument: Instrument::Gauge,
    number: Number::Double,
    attributes: &[],
};

/// Waits that were sampled. Counter in `{sample}`.
pub static EVENKEEL_WAIT_SAMPLES: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.wait.samples",
    unit: "{sample}",
    description: "Waits that were sampled.",
    instrument: Instrument::Counter,
    number: Number::Int,
    attributes: &[],
};

/// Time that the tasks of a container or service waited for a CPU, by who had it. Counter in `s`.
pub static EVENKEEL_WORKLOAD_RUN_QUEUE_BEHIND_TIME: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.workload.run_queue.behind.time",
    unit: "s",
    description: "Time that the tasks of a container or service waited for a CPU, by who had it.",
    instrument: Instrument::Counter,
    number: Number::Double,
    attributes: &[
        MetricAttribute {
            name: attribute::EVENKEEL_RUN_QUEUE_BEHIND,
            requirement: Requirement::Required,
        },
    ],
};

/// Time that the tasks of a container or service waited for a CPU that others had, by whom. Counter in `s`.
pub static EVENKEEL_WORKLOAD_RUN_QUEUE_NEIGHBOUR_TIME: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.workload.run_queue.neighbour.time",
    unit: "s",
    description: "Time that the tasks of a container or service waited for a CPU that others had, by whom.",
    instrument: Instrument::Counter,
    number: Number::Double,
    attributes: &[
        MetricAttribute {
            name: attribute::EVENKEEL_RUN_QUEUE_NEIGHBOUR,
            requirement: Requirement::Required,
        },
    ],
};

/// Time that the tasks of a container or service waited for a CPU. Counter in `s`.
pub static EVENKEEL_WORKLOAD_RUN_QUEUE_TIME: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.workload.run_queue.time",
    unit: "s",
    description: "Time that the tasks of a container or service waited for a CPU.",
    instrument: Instrument::Counter,
    number: Number::Double,
    attributes: &[],
};

/// CPU time that the hypervisor took from the tasks of a container or service. Counter in `s`.
pub static EVENKEEL_WORKLOAD_STOLEN_TIME: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.workload.stolen.time",
    unit: "s",
    description: "CPU time that the hypervisor took from the tasks of a container or service.",
    instrument: Instrument::Counter,
    number: Number::Double,
    attributes: &[],
};

/// Context switches of the tasks of a container or service. Counter in `{context_switch}`.
pub static EVENKEEL_WORKLOAD_SWITCHES: MetricDescriptor = MetricDescriptor {
    name: "evenkeel.workload.switches",
    unit: "{context_switch}",
    description: "Context switches of the tasks of a container or service.",
    instrument: Instrument::Counter,
    number: Number::Int,
    attributes: &[
        MetricAttribute {
            name: attribute::EVENKEEL_CONTEXT_SWITCH_TYPE,
            requirement: Requirement::Required,
        },
    ],
};

/// Total CPU seconds broken down by different CPU modes. Counter in `s`.
pub static PROCESS_CPU_TIME: MetricDescriptor = MetricDescriptor {
    name: "process.cpu.time",
    unit: "s",
    description: "Total CPU seconds broken down by different CPU modes.",
    instrument: Instrument::Counter,
    number: Number::Double,
    attributes: &[
        MetricAttribute {
            name: attribute::CPU_MODE,
            requirement: Requirement::Required,
        },
    ],
};

/// The amount of physical memory in use. UpDownCounter in `By`.
pub static PROCESS_MEMORY_USAGE: MetricDescriptor = MetricDescriptor {
    name: "process.memory.usage",
    unit: "By",
    description: "The amount of physical memory in use.",
    instrument: Instrument::UpDownCounter,
    number: Number::Int,
    attributes: &[],
};

/// Reports the number of logical (virtual) processor cores created by the operating system to manage multitasking. UpDownCounter in `{cpu}`.
pub static SYSTEM_CPU_LOGICAL_COUNT: MetricDescriptor = MetricDescriptor {
    name: "system.cpu.logical.count",
    unit: "{cpu}",
    description: "Reports the number of logical (virtual) processor cores created by the operating system to manage multitasking.",
    instrument: Instrument::UpDownCounter,
    number: Number::Int,
    attributes: &[],
};

/// Seconds each logical CPU spent on each mode. Counter in `s`.
pub static SYSTEM_CPU_TIME: MetricDescriptor = MetricDescriptor {
    name: "system.cpu.time",
    unit: "s",
    description: "Seconds each logical CPU spent on each mode.",
    instrument: Instrument::Counter,
    number: Number::Double,
    attributes: &[
        MetricAttribute {
            name: attribute::CPU_LOGICAL_NUMBER,
            requirement: Requirement::OptIn,
        },
        MetricAttribute {
            name: attribute::CPU_MODE,
            requirement: Requirement::Recommended,
        },
    ],
};

/// Disk bytes transferred. Counter in `By`.
pub static SYSTEM_DISK_IO: MetricDescriptor = MetricDescriptor {
    name: "system.disk.io",
    unit: "By",
    description: "Disk bytes transferred.",
    instrument: Instrument::Counter,
    number: Number::Int,
    attributes: &[
        MetricAttribute {
            name: attribute::DISK_IO_DIRECTION,
            requirement: Requirement::Recommended,
        },
        MetricAttribute {
            name: attribute::SYSTEM_DEVICE,
            requirement: Requirement::Recommended,
        },
    ],
};

/// Time disk spent activated. Counter in `s`.
pub static SYSTEM_DISK_IO_TIME: MetricDescriptor = MetricDescriptor {
    name: "system.disk.io_time",
    unit: "s",
    description: "Time disk spent activated.",
    instrument: Instrument::Counter,
    number: Number::Double,
    attributes: &[
        MetricAttribute {
            name: attribute::SYSTEM_DEVICE,
            requirement: Requirement::Recommended,
        },
    ],
};

/// The number of disk reads/writes merged into single physical disk access operations. Counter in `{operation}`.
pub static SYSTEM_DISK_MERGED: MetricDescriptor = MetricDescriptor {
    name: "system.disk.merged",
    unit: "{operation}",
    description: "The number of disk reads/writes merged into single physical disk access operations.",
    instrument: Instrument::Counter,
    number: Number::Int,
    attributes: &[
        MetricAttribute {
            name: attribute::DISK_IO_DIRECTION,
            requirement: Requirement::Recommended,
        },
        MetricAttribute {
            name: attribute::SYSTEM_DEVICE,
            requirement: Requirement::Recommended,
        },
    ],
};

/// Sum of the time each operation took to complete. Counter in `s`.
pub static SYSTEM_DISK_OPERATION_TIME: MetricDescriptor = MetricDescriptor {
    name: "system.disk.operation_time",
    unit: "s",
    description: "Sum of the time each operation took to complete.",
    instrument: Instrument::Counter,
    number: Number::Double,
    attributes: &[
        MetricAttribute {
            name: attribute::DISK_IO_DIRECTION,
            requirement: Requirement::Recommended,
        },
        MetricAttribute {
            name: attribute::SYSTEM_DEVICE,
            requirement: Requirement::Recommended,
        },
    ],
};

/// Disk operations count. Counter in `{operation}`.
pub static SYSTEM_DISK_OPERATIONS: MetricDescriptor = MetricDescriptor {
    name: "system.disk.operations",
    unit: "{operation}",
    description: "Disk operations count.",
    instrument: Instrument::Counter,
    number: Number::Int,
    attributes: &[
        MetricAttribute {
            name: attribute::DISK_IO_DIRECTION,
            requirement: Requirement::Recommended,
        },
        MetricAttribute {
            name: attribute::SYSTEM_DEVICE,
            requirement: Requirement::Recommended,
        },
    ],
};

/// Count of network errors detected. Counter in `{error}`.
pub static SYSTEM_NETWORK_ERRORS: MetricDescriptor = MetricDescriptor {
    name: "system.network.errors",
    unit: "{error}",
    description: "Count of network errors detected.",
    instrument: Instrument::Counter,
    number: Number::Int,
    attributes: &[
        MetricAttribute {
            name: attribute::NETWORK_INTERFACE_NAME,
            requirement: Requirement::Recommended,
        },
        MetricAttribute {
            name: attribute::NETWORK_IO_DIRECTION,
            requirement: Requirement::Recommended,
        },
    ],
};

/// The number of bytes transmitted and received. Counter in `By`.
pub static SYSTEM_NETWORK_IO: MetricDescriptor = MetricDescriptor {
    name: "system.network.io",
    unit: "By",
    description: "The number of bytes transmitted and received.",
    instrument: Instrument::Counter,
    number: Number::Int,
    attributes: &[
        MetricAttribute {
            name: attribute::NETWORK_INTERFACE_NAME,
            requirement: Requirement::Recommended,
        },
        MetricAttribute {
            name: attribute::NETWORK_IO_DIRECTION,
            requirement: Requirement::Recommended,
        },
    ],
};

/// The number of packets transferred. Counter in `{packet}`.
pub static SYSTEM_NETWORK_PACKET_COUNT: MetricDescriptor = MetricDescriptor {
    name: "system.network.packet.count",
    unit: "{packet}",
    description: "The number of packets transferred.",
    instrument: Instrument::Counter,
    number: Number::Int,
    attributes: &[
        MetricAttribute {
            name: attribute::NETWORK_IO_DIRECTION,
            requirement: Requirement::Recommended,
        },
        MetricAttribute {
            name: attribute::SYSTEM_DEVICE,
            requirement: Requirement::Recommended,
        },
    ],
};

/// Count of packets that are dropped or discarded even though there was no error. Counter in `{packet}`.
pub static SYSTEM_NETWORK_PACKET_DROPPED: MetricDescriptor = MetricDescriptor {
    name: "system.network.packet.dropped",
    unit: "{packet}",
    description: "Count of packets that are dropped or discarded even though there was no error.",
    instrument: Instrument::Counter,
    number: Number::Int,
    attributes: &[
        MetricAttribute {
            name: attribute::NETWORK_INTERFACE_NAME,
            requirement: Requirement::Recommended,
        },
        MetricAttribute {
            name: attribute::NETWORK_IO_DIRECTION,
            requirement: Requirement::Recommended,
        },
    ],
};

/// The time the system has been running. Gauge in `s`.
pub static SYSTEM_UPTIME: MetricDescriptor = MetricDescriptor {
    name: "system.uptime",
    unit: "s",
    description: "The time the system has been running.",
    instrument: Instrument::Gauge,
    number: Number::Double,
    attributes: &[],
};

/// Every metric, sorted by name.
pub static ALL: &[&MetricDescriptor] = &[
    &EVENKEEL_CODE_MAP_DROPPED_LINES,
    &EVENKEEL_CODE_MAP_REFUSALS,
    &EVENKEEL_CPU_CONTEXT_SWITCHES,
    &EVENKEEL_CPU_INTERRUPT_TIME,
    &EVENKEEL_CPU_RUN_QUEUE_LENGTH,
    &EVENKEEL_CPU_RUN_QUEUE_WAIT_DURATION,
    &EVENKEEL_CPU_RUN_QUEUE_WAIT_TIME,
    &EVENKEEL_CPU_STOLEN_TIME,
    &EVENKEEL_CPU_STOLEN_UTILIZATION,
    &EVENKEEL_CPU_SWITCHES,
    &EVENKEEL_DISK_OPERATION_DEPTH,
    &EVENKEEL_DISK_OPERATION_DEVICE_DURATION,
    &EVENKEEL_DISK_OPERATION_DURATION,
    &EVENKEEL_DISK_OPERATION_ERRORS,
    &EVENKEEL_DISK_OPERATION_IN_FLIGHT,
    &EVENKEEL_DISK_OPERATION_PARTIAL_COMPLETIONS,
    &EVENKEEL_DISK_OPERATION_QUEUE_DURATION,
    &EVENKEEL_DISK_OPERATION_REQUEUES,
    &EVENKEEL_DISK_OPERATION_SIZE,
    &EVENKEEL_EXECUTABLE_TABLE_EVICTIONS,
    &EVENKEEL_EXPORT_QUEUE_LENGTH,
    &EVENKEEL_EXPORT_QUEUE_SIZE,
    &EVENKEEL_EXPORT_REQUEST_DURATION,
    &EVENKEEL_EXPORT_RETRIES,
    &EVENKEEL_EXPORT_WINDOWS,
    &EVENKEEL_FOCUS_BLOCK_IO_DURATION,
    &EVENKEEL_FOCUS_OFF_CPU_DURATION,
    &EVENKEEL_FOCUS_RUN_QUEUE_WAIT_DURATION,
    &EVENKEEL_FOCUS_SYSCALL_DURATION,
    &EVENKEEL_HELPER_COST,
    &EVENKEEL_INTERRUPT_DURATION,
    &EVENKEEL_INTERRUPT_TIME,
    &EVENKEEL_MAP_MEMORY_USAGE,
    &EVENKEEL_NETWORK_DROPS,
    &EVENKEEL_NETWORK_PACKET_RECEIVE_DURATION,
    &EVENKEEL_NETWORK_PACKETS_POLLED,
    &EVENKEEL_NETWORK_POLLS,
    &EVENKEEL_NETWORK_QUEUE_DROPS,
    &EVENKEEL_NETWORK_SOFTIRQ_SQUEEZES,
    &EVENKEEL_NETWORK_SOFTIRQ_TIME,
    &EVENKEEL_NETWORK_TCP_RECEIVED_SEGMENTS,
    &EVENKEEL_NETWORK_TCP_RETRANSMISSIONS,
    &EVENKEEL_NETWORK_TCP_ROUND_TRIP_DURATION,
    &EVENKEEL_NETWORK_TCP_ROUND_TRIP_SAMPLING_RATIO,
    &EVENKEEL_OFF_CPU_TIME,
    &EVENKEEL_PRESSURE_STALL_TIME,
    &EVENKEEL_PROCESS_DISK_IO,
    &EVENKEEL_PROCESS_TABLE_EVICTIONS,
    &EVENKEEL_PROCESS_TABLE_SIZE,
    &EVENKEEL_PROGRAM_RUN_TIME,
    &EVENKEEL_PROGRAM_RUNS,
    &EVENKEEL_SIGNAL_EVENTS,
    &EVENKEEL_SIGNAL_LOSSES,
    &EVENKEEL_SIGNAL_STATUS,
    &EVENKEEL_STACK_REFUSED_FRAMES,
    &EVENKEEL_STACK_WALKS,
    &EVENKEEL_SYMBOL_CACHE_EVICTIONS,
    &EVENKEEL_SYMBOL_CACHE_SIZE,
    &EVENKEEL_SYSCALL_CALLS,
    &EVENKEEL_SYSCALL_DURATION,
    &EVENKEEL_SYSCALL_ERRORS,
    &EVENKEEL_SYSCALL_IN_FLIGHT_COUNT,
    &EVENKEEL_SYSCALL_LISTED_CALLS,
    &EVENKEEL_SYSCALL_LISTED_DURATION,
    &EVENKEEL_SYSCALL_SAMPLING_ATTACHED_TIME,
    &EVENKEEL_SYSCALL_SAMPLING_BURSTS,
    &EVENKEEL_SYSCALL_SAMPLING_CALL_COST,
    &EVENKEEL_SYSCALL_SAMPLING_COST_TIME,
    &EVENKEEL_SYSCALL_SAMPLING_DUTY,
    &EVENKEEL_SYSCALL_SAMPLING_ERROR,
    &EVENKEEL_SYSCALL_SAMPLING_LONGEST,
    &EVENKEEL_SYSCALL_SAMPLING_RATE,
    &EVENKEEL_SYSCALL_SAMPLING_SKIPPED,
    &EVENKEEL_UNWIND_BUILD_TIME,
    &EVENKEEL_UNWIND_EXECUTABLES,
    &EVENKEEL_UNWIND_PROCESSES,
    &EVENKEEL_UNWIND_REFUSALS,
    &EVENKEEL_UNWIND_TABLE_LIMIT,
    &EVENKEEL_UNWIND_TABLE_USAGE,
    &EVENKEEL_WAIT_PERIOD,
    &EVENKEEL_WAIT_SAMPLES,
    &EVENKEEL_WORKLOAD_RUN_QUEUE_BEHIND_TIME,
    &EVENKEEL_WORKLOAD_RUN_QUEUE_NEIGHBOUR_TIME,
    &EVENKEEL_WORKLOAD_RUN_QUEUE_TIME,
    &EVENKEEL_WORKLOAD_STOLEN_TIME,
    &EVENKEEL_WORKLOAD_SWITCHES,
    &PROCESS_CPU_TIME,
    &PROCESS_MEMORY_USAGE,
    &SYSTEM_CPU_LOGICAL_COUNT,
    &SYSTEM_CPU_TIME,
    &SYSTEM_DISK_IO,
    &SYSTEM_DISK_IO_TIME,
    &SYSTEM_DISK_MERGED,
    &SYSTEM_DISK_OPERATION_TIME,
    &SYSTEM_DISK_OPERATIONS,
    &SYSTEM_NETWORK_ERRORS,
    &SYSTEM_NETWORK_IO,
    &SYSTEM_NETWORK_PACKET_COUNT,
    &SYSTEM_NETWORK_PACKET_DROPPED,
    &SYSTEM_UPTIME,
];
