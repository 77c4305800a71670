//! What the end-to-end tests share: a suite that skips loudly, the programs they start (Evenkeel, a
//! Collector, workloads) and what they compare with (procfs, the received OTLP).
#![forbid(unsafe_code)]

pub mod block_device;
pub mod cgroup;
pub mod child;
pub mod collector;
pub mod corpus;
pub mod evenkeel;
pub mod folded;
pub mod guest;
pub mod interrupts;
pub mod log;
pub mod needs;
pub mod numbers;
pub mod perf;
pub mod procfs;
pub mod prometheus;
pub mod received;
pub mod relay;
pub mod suite;
pub mod threads;
pub mod waits;
pub mod workload;
