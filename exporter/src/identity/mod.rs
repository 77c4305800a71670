//! Who the host is and whose processes run on it: from `/proc` and `/sys` to resources.

pub mod attributes;
pub mod cloud;
mod command_tree;
pub mod container;
pub(crate) mod file;
pub mod host;
mod host_detection;
mod hypervisor;
pub mod identification;
pub mod inspect;
pub mod instance_id;
pub mod kernel_thread;
pub mod kubernetes;
mod os_release;
pub mod owner;
pub mod process;
mod process_directory;
pub mod process_table;
pub mod resource_attributes;
pub mod roots;
pub mod service;
pub(crate) mod stat;
pub mod systemd_unit;
#[cfg(test)]
mod test_support;
pub mod text;

pub use self::{
    attributes::{Sourced, SourcedAttributes},
    container::ContainerFacts,
    host::{HostIdentity, HostIdentityError},
    identification::ProcessTableStatistics,
    owner::Owner,
    process::{Process, ProcessKey},
    process_table::ProcessTable,
    roots::Roots,
    service::ServiceNameSource,
};
