//! Attribute names. Generated from the registry by `semconv-generate`: do not edit.

use crate::{AttributeDescriptor, AttributeKind};

/// The cloud account ID the resource is assigned to.
pub const CLOUD_ACCOUNT_ID: &str = "cloud.account.id";

/// Cloud regions often have multiple, isolated locations known as zones to increase availability. Availability zone represents the zone where the resource is running.
pub const CLOUD_AVAILABILITY_ZONE: &str = "cloud.availability_zone";

/// The cloud platform in use.
pub const CLOUD_PLATFORM: &str = "cloud.platform";

/// Name of the cloud provider.
pub const CLOUD_PROVIDER: &str = "cloud.provider";

/// The geographical region within a cloud provider. When associated with a resource, this attribute specifies the region where the resource operates. When calling services or APIs deployed on a cloud, this attribute identifies the region where the called destination is deployed.
pub const CLOUD_REGION: &str = "cloud.region";

/// Cloud provider-specific native identifier of the monitored cloud resource (e.g. an ARN on AWS, a fully qualified resource ID on Azure, a full resource name on GCP).
pub const CLOUD_RESOURCE_ID: &str = "cloud.resource_id";

/// Container ID. Usually a UUID, as for example used to identify Docker containers. The UUID might be abbreviated.
pub const CONTAINER_ID: &str = "container.id";

/// Name of the image the container was built on.
pub const CONTAINER_IMAGE_NAME: &str = "container.image.name";

/// Container image tags. An example can be found in Docker Image Inspect. Should be only the `<tag>` section of the full name for example from `registry.example.com/my-org/my-image:<tag>`.
pub const CONTAINER_IMAGE_TAGS: &str = "container.image.tags";

/// The container runtime managing this container.
pub const CONTAINER_RUNTIME_NAME: &str = "container.runtime.name";

/// The logical CPU number \[0..n-1\].
pub const CPU_LOGICAL_NUMBER: &str = "cpu.logical_number";

/// The mode of the CPU.
pub const CPU_MODE: &str = "cpu.mode";

/// The disk IO operation direction.
pub const DISK_IO_DIRECTION: &str = "disk.io.direction";

/// Describes a class of error the operation ended with.
pub const ERROR_TYPE: &str = "error.type";

/// Lower-case hexadecimal SHA-256 over the bytes of the BPF object that the agent loaded.
pub const EVENKEEL_BPF_OBJECT_HASH: &str = "evenkeel.bpf.object.hash";

/// The sample belongs to the process tree of the recorded command.
pub const EVENKEEL_COMMAND_TREE: &str = "evenkeel.command.tree";

/// Why a task left the CPU.
pub const EVENKEEL_CONTEXT_SWITCH_TYPE: &str = "evenkeel.context_switch.type";

/// Why the task was put on the run queue.
pub const EVENKEEL_CPU_RUN_QUEUE_ENQUEUE_REASON: &str = "evenkeel.cpu.run_queue.enqueue.reason";

/// Counts devices that had the same name one shortly after the other: 2 for the second.
pub const EVENKEEL_DISK_INSTANCE: &str = "evenkeel.disk.instance";

/// What the operation does, as the kernel groups operations in `/proc/diskstats`.
pub const EVENKEEL_DISK_OPERATION_TYPE: &str = "evenkeel.disk.operation.type";

/// What became of an exported window.
pub const EVENKEEL_EXPORT_OUTCOME: &str = "evenkeel.export.outcome";

/// The OTLP signal that was exported.
pub const EVENKEEL_EXPORT_SIGNAL: &str = "evenkeel.export.signal";

/// A service or container in focus, as the command line names it.
pub const EVENKEEL_FOCUS_TARGET: &str = "evenkeel.focus.target";

/// The name of a BPF helper function without its prefix.
pub const EVENKEEL_HELPER_NAME: &str = "evenkeel.helper.name";

/// How much of its CPUs a cloud instance is promised, by its type.
pub const EVENKEEL_HOST_CPU_ALLOTMENT: &str = "evenkeel.host.cpu.allotment";

/// The hypervisor that the host runs on.
pub const EVENKEEL_HOST_HYPERVISOR_NAME: &str = "evenkeel.host.hypervisor.name";

/// On what terms a cloud instance runs, by the provider's metadata service.
pub const EVENKEEL_HOST_LIFE_CYCLE: &str = "evenkeel.host.life_cycle";

/// What kind of interrupt it is.
pub const EVENKEEL_INTERRUPT_KIND: &str = "evenkeel.interrupt.kind";

/// The name of the interrupt.
pub const EVENKEEL_INTERRUPT_NAME: &str = "evenkeel.interrupt.name";

/// The kernel release as `uname -r` prints it.
pub const EVENKEEL_KERNEL_RELEASE: &str = "evenkeel.kernel.release";

/// The kernel build as `uname -v` prints it.
pub const EVENKEEL_KERNEL_VERSION: &str = "evenkeel.kernel.version";

/// Why an event is missing from what was exported.
pub const EVENKEEL_LOSS_REASON: &str = "evenkeel.loss.reason";

/// The name of a kernel map of the agent.
pub const EVENKEEL_MAP_NAME: &str = "evenkeel.map.name";

/// The measured cost class of the clock helper of the kernel programs on this host.
pub const EVENKEEL_METHOD_CLOCK_COST: &str = "evenkeel.method.clock.cost";

/// Lower-case hexadecimal hash over everything that can differ between two hosts that run the same BPF object.
pub const EVENKEEL_METHOD_FINGERPRINT: &str = "evenkeel.method.fingerprint";

/// Why the kernel dropped a packet, by its own name for it.
pub const EVENKEEL_NETWORK_DROP_REASON: &str = "evenkeel.network.drop.reason";

/// Where packets were received from a device's or CPU's queue.
pub const EVENKEEL_NETWORK_POLL_CONTEXT: &str = "evenkeel.network.poll.context";

/// How a poll for packets ended.
pub const EVENKEEL_NETWORK_POLL_OUTCOME: &str = "evenkeel.network.poll.outcome";

/// The queue that had no room.
pub const EVENKEEL_NETWORK_QUEUE_DROP_REASON: &str = "evenkeel.network.queue.drop.reason";

/// What was sent again.
pub const EVENKEEL_NETWORK_TCP_RETRANSMISSION_KIND: &str = "evenkeel.network.tcp.retransmission.kind";

/// What a blocked task waited for.
pub const EVENKEEL_OFF_CPU_REASON: &str = "evenkeel.off_cpu.reason";

/// The executable name of the process that ended the wait, or `\[interrupt\]`.
pub const EVENKEEL_OFF_CPU_WAKER: &str = "evenkeel.off_cpu.waker";

/// The resource that tasks waited for, as in `/proc/pressure`.
pub const EVENKEEL_PRESSURE_RESOURCE: &str = "evenkeel.pressure.resource";

/// How many tasks were stalled.
pub const EVENKEEL_PRESSURE_SCOPE: &str = "evenkeel.pressure.scope";

/// The name of a kernel program of the agent.
pub const EVENKEEL_PROGRAM_NAME: &str = "evenkeel.program.name";

/// The command that was recorded, arguments separated by blanks.
pub const EVENKEEL_RECORDING_COMMAND: &str = "evenkeel.recording.command";

/// Who had the CPU while a ready task waited for it.
pub const EVENKEEL_RUN_QUEUE_BEHIND: &str = "evenkeel.run_queue.behind";

/// The service name of those that had the CPU, `\[kernel\]` or, for all beyond the worst three, `\[rest\]`.
pub const EVENKEEL_RUN_QUEUE_NEIGHBOUR: &str = "evenkeel.run_queue.neighbour";

/// The signal, as the command line names it.
pub const EVENKEEL_SIGNAL_NAME: &str = "evenkeel.signal.name";

/// Why a signal is not measured in full, in words.
pub const EVENKEEL_SIGNAL_REASON: &str = "evenkeel.signal.reason";

/// The state of a signal.
pub const EVENKEEL_SIGNAL_STATE: &str = "evenkeel.signal.state";

/// How a walk of a user stack ended.
pub const EVENKEEL_STACK_END: &str = "evenkeel.stack.end";

/// How long a system call has been under way.
pub const EVENKEEL_SYSCALL_AGE: &str = "evenkeel.syscall.age";

/// The class of the error that a system call failed with.
pub const EVENKEEL_SYSCALL_ERROR_CLASS: &str = "evenkeel.syscall.error.class";

/// What a system call is about.
pub const EVENKEEL_SYSCALL_FAMILY: &str = "evenkeel.syscall.family";

/// The name of a system call, without prefix.
pub const EVENKEEL_SYSCALL_NAME: &str = "evenkeel.syscall.name";

/// Whether the call is measured, or only counted down.
pub const EVENKEEL_SYSCALL_SAMPLED: &str = "evenkeel.syscall.sampled";

/// Why unwind tables lack something.
pub const EVENKEEL_UNWIND_REFUSAL: &str = "evenkeel.unwind.refusal";

/// Whether the kernel programs have rows for an executable file.
pub const EVENKEEL_UNWIND_STATE: &str = "evenkeel.unwind.state";

/// The CPU architecture the host system is running on.
pub const HOST_ARCH: &str = "host.arch";

/// Unique host ID. For Cloud, this must be the instance_id assigned by the cloud provider. For non-containerized systems, this should be the `machine-id`. See the table below for the sources to use to determine the `machine-id` based on operating system.
pub const HOST_ID: &str = "host.id";

/// VM image ID or host OS image ID. For Cloud, this value is from the provider.
pub const HOST_IMAGE_ID: &str = "host.image.id";

/// Name of the host. On Unix systems, it may contain what the hostname command returns, or the fully qualified hostname, or another name specified by the user.
pub const HOST_NAME: &str = "host.name";

/// Type of host. For Cloud, this must be the machine type.
pub const HOST_TYPE: &str = "host.type";

/// The name of the cluster.
pub const K8S_CLUSTER_NAME: &str = "k8s.cluster.name";

/// A pseudo-ID for the cluster, set to the UID of the `kube-system` namespace.
pub const K8S_CLUSTER_UID: &str = "k8s.cluster.uid";

/// The name of the Container from Pod specification, must be unique within a Pod. Container runtime usually uses different globally unique name (`container.name`).
pub const K8S_CONTAINER_NAME: &str = "k8s.container.name";

/// Number of times the container was restarted. This attribute can be used to identify a particular container (running or stopped) within a container spec.
pub const K8S_CONTAINER_RESTART_COUNT: &str = "k8s.container.restart_count";

/// The name of the CronJob.
pub const K8S_CRONJOB_NAME: &str = "k8s.cronjob.name";

/// The UID of the CronJob.
pub const K8S_CRONJOB_UID: &str = "k8s.cronjob.uid";

/// The name of the DaemonSet.
pub const K8S_DAEMONSET_NAME: &str = "k8s.daemonset.name";

/// The UID of the DaemonSet.
pub const K8S_DAEMONSET_UID: &str = "k8s.daemonset.uid";

/// The name of the Deployment.
pub const K8S_DEPLOYMENT_NAME: &str = "k8s.deployment.name";

/// The UID of the Deployment.
pub const K8S_DEPLOYMENT_UID: &str = "k8s.deployment.uid";

/// The name of the Job.
pub const K8S_JOB_NAME: &str = "k8s.job.name";

/// The UID of the Job.
pub const K8S_JOB_UID: &str = "k8s.job.uid";

/// The name of the namespace that the pod is running in.
pub const K8S_NAMESPACE_NAME: &str = "k8s.namespace.name";

/// The name of the Node.
pub const K8S_NODE_NAME: &str = "k8s.node.name";

/// The UID of the Node.
pub const K8S_NODE_UID: &str = "k8s.node.uid";

/// The annotation placed on the Pod, the ``key`` being the annotation name, the value being the annotation value.
pub const K8S_POD_ANNOTATION: &str = "k8s.pod.annotation";

/// The label placed on the Pod, the ``key`` being the label name, the value being the label value.
pub const K8S_POD_LABEL: &str = "k8s.pod.label";

/// The name of the Pod.
pub const K8S_POD_NAME: &str = "k8s.pod.name";

/// The UID of the Pod.
pub const K8S_POD_UID: &str = "k8s.pod.uid";

/// The name of the ReplicaSet.
pub const K8S_REPLICASET_NAME: &str = "k8s.replicaset.name";

/// The UID of the ReplicaSet.
pub const K8S_REPLICASET_UID: &str = "k8s.replicaset.uid";

/// The name of the StatefulSet.
pub const K8S_STATEFULSET_NAME: &str = "k8s.statefulset.name";

/// The UID of the StatefulSet.
pub const K8S_STATEFULSET_UID: &str = "k8s.statefulset.uid";

/// The network interface name.
pub const NETWORK_INTERFACE_NAME: &str = "network.interface.name";

/// The network IO operation direction.
pub const NETWORK_IO_DIRECTION: &str = "network.io.direction";

/// Unique identifier for a particular build or compilation of the operating system.
pub const OS_BUILD_ID: &str = "os.build_id";

/// Human readable (not intended to be parsed) OS version information, like e.g. reported by `ver` or `lsb_release -a` commands.
pub const OS_DESCRIPTION: &str = "os.description";

/// Human readable operating system name.
pub const OS_NAME: &str = "os.name";

/// The operating system type.
pub const OS_TYPE: &str = "os.type";

/// The version string of the operating system as defined in Version Attributes.
pub const OS_VERSION: &str = "os.version";

/// The command used to launch the process (i.e. the command name). On Linux based systems, can be set to the zeroth string in `proc/\[pid\]/cmdline`. On Windows, can be set to the first parameter extracted from `GetCommandLineW`.
pub const PROCESS_COMMAND: &str = "process.command";

/// The GNU build ID as found in the `.note.gnu.build-id` ELF section (hex string).
pub const PROCESS_EXECUTABLE_BUILD_ID_GNU: &str = "process.executable.build_id.gnu";

/// The Go build ID as retrieved by `go tool buildid <go executable>`.
pub const PROCESS_EXECUTABLE_BUILD_ID_GO: &str = "process.executable.build_id.go";

/// Deterministic build ID for executables.
pub const PROCESS_EXECUTABLE_BUILD_ID_HTLHASH: &str = "process.executable.build_id.htlhash";

/// The name of the process executable. On Linux based systems, this SHOULD be set to the base name of the target of `/proc/\[pid\]/exe`. On Windows, this SHOULD be set to the base name of `GetProcessImageFileNameW`.
pub const PROCESS_EXECUTABLE_NAME: &str = "process.executable.name";

/// The full path to the process executable. On Linux based systems, can be set to the target of `proc/\[pid\]/exe`. On Windows, can be set to the result of `GetProcessImageFileNameW`.
pub const PROCESS_EXECUTABLE_PATH: &str = "process.executable.path";

/// Process identifier (PID).
pub const PROCESS_PID: &str = "process.pid";

/// Describes the interpreter or compiler of a single frame.
pub const PROFILE_FRAME_TYPE: &str = "profile.frame.type";

/// The string ID of the service instance.
pub const SERVICE_INSTANCE_ID: &str = "service.instance.id";

/// Logical name of the service.
pub const SERVICE_NAME: &str = "service.name";

/// A namespace for `service.name`.
pub const SERVICE_NAMESPACE: &str = "service.namespace";

/// The version string of the service component. The format is not defined by these conventions.
pub const SERVICE_VERSION: &str = "service.version";

/// The device identifier.
pub const SYSTEM_DEVICE: &str = "system.device";

/// The name of the auto instrumentation agent or distribution, if used.
pub const TELEMETRY_DISTRO_NAME: &str = "telemetry.distro.name";

/// The version string of the auto instrumentation agent or distribution, if used.
pub const TELEMETRY_DISTRO_VERSION: &str = "telemetry.distro.version";

/// The language of the telemetry SDK.
pub const TELEMETRY_SDK_LANGUAGE: &str = "telemetry.sdk.language";

/// The name of the telemetry SDK as defined above.
pub const TELEMETRY_SDK_NAME: &str = "telemetry.sdk.name";

/// The version string of the telemetry SDK.
pub const TELEMETRY_SDK_VERSION: &str = "telemetry.sdk.version";

/// Current "managed" thread ID (as opposed to OS thread ID).
pub const THREAD_ID: &str = "thread.id";

/// Current thread name.
pub const THREAD_NAME: &str = "thread.name";

/// Every attribute, sorted by name.
pub static ALL: &[AttributeDescriptor] = &[
    AttributeDescriptor {
        name: CLOUD_ACCOUNT_ID,
        description: "The cloud account ID the resource is assigned to.",
        kind: AttributeKind::String,
    },
    AttributeDescriptor {
        name: CLOUD_AVAILABILITY_ZONE,
        description: "Cloud regions often have multiple, isolated locations known as zones to increase availability. Availability zone represents the zone where the resource is running.",
        kind: AttributeKind::String,
    },
    AttributeDescriptor {
        name: CLOUD_PLATFORM,
        description: "The cloud platform in use.",
        kind: AttributeKind::Enum(&["akamai_cloud.compute", "alibaba_cloud_ecs", "aws_ec2", "azure.vm", "gcp_compute_engine", "gcp_kubernetes_engine", "hetzner.cloud_server", "ibm_cloud.vpc", "oracle_cloud_compute", "oracle_cloud_oke", "scaleway_cloud_compute", "tencent_cloud_cvm", "vultr.cloud_compute"]),
    },
    AttributeDescriptor {
        name: CLOUD_PROVIDER,
        description: "Name of the cloud provider.",
        kind: AttributeKind::Enum(&["akamai_cloud", "alibaba_cloud", "aws", "azure", "digitalocean", "gcp", "hetzner", "ibm_cloud", "openstack", "oracle_cloud", "scaleway_cloud", "tencent_cloud", "vultr"]),
    },
    AttributeDescriptor {
        name: CLOUD_REGION,
        description: "The geographical region within a cloud provider. When associated with a resource, this attribute specifies the region where the resource operates. When calling services or APIs deployed on a cloud, this attribute identifies the region where the called destination is deployed.",
        kind: AttributeKind::String,
    },
    AttributeDescriptor {
        name: CLOUD_RESOURCE_ID,
        description: "Cloud provider-specific native identifier of the monitored cloud resource (e.g. an ARN on AWS, a fully qualified resource ID on Azure, a full resource name on GCP).",
        kind: AttributeKind::String,
    },
    AttributeDescriptor {
        name: CONTAINER_ID,
        description: "Container ID. Usually a UUID, as for example used to identify Docker containers. The UUID might be abbreviated.",
        kind: AttributeKind::String,
    },
    AttributeDescriptor {
        name: CONTAINER_IMAGE_NAME,
        description: "Name of the image the container was built on.",
        kind: AttributeKind::String,
    },
    AttributeDescriptor {
        name: CONTAINER_IMAGE_TAGS,
        description: "Container image tags. An example can be found in Docker Image Inspect. Should be only the `<tag>` section of the full name for example from `registry.example.com/my-org/my-image:<tag>`.",
        kind: AttributeKind::String,
    },
    AttributeDescriptor {
        name: CONTAINER_RUNTIME_NAME,
        description: "The container runtime managing this container.",
        kind: AttributeKind::String,
    },
    AttributeDescriptor {
        name: CPU_LOGICAL_NUMBER,
        description: "The logical CPU number [0..n-1].",
        kind: AttributeKind::Int,
    },
    AttributeDescriptor {
        name: CPU_MODE,
        description: "The mode of the CPU.",
        kind: AttributeKind::Enum(&["user", "nice", "system", "idle", "iowait", "interrupt", "softirq", "steal"]),
    },
    AttributeDescriptor {
        name: DISK_IO_DIRECTION,
        description: "The disk IO operation direction.",
        kind: AttributeKind::Enum(&["read", "write"]),
    },
    AttributeDescriptor {
        name: ERROR_TYPE,
        description: "Describes a class of error the operation ended with.",
        kind: AttributeKind::String,
    },
    AttributeDescriptor {
        name: EVENKEEL_BPF_OBJECT_HASH,
        description: "Lower-case hexadecimal SHA-256 over the bytes of the BPF object that the agent loaded.",
        kind: AttributeKind::String,
    },
    AttributeDescriptor {
        name: EVENKEEL_COMMAND_TREE,
        description: "The sample belongs to the process tree of the recorded command.",
        kind: AttributeKind::Boolean,
    },
    AttributeDescriptor {
        name: EVENKEEL_CONTEXT_SWITCH_TYPE,
        description: "Why a task left the CPU.",
        kind: AttributeKind::Enum(&["voluntary", "involuntary", "idle"]),
    },
    AttributeDescriptor {
        name: EVENKEEL_CPU_RUN_QUEUE_ENQUEUE_REASON,
        description: "Why the task was put on the run queue.",
        kind: AttributeKind::Enum(&["wakeup", "new", "preempted"]),
    },
    AttributeDescriptor {
        name: EVENKEEL_DISK_INSTANCE,
        description: "Counts devices that had the same name one shortly after the other: 2 for the second.",
        kind: AttributeKind::Int,
    },
    AttributeDescriptor {
        name: EVENKEEL_DISK_OPERATION_TYPE,
        description: "What the operation does, as the kernel groups operations in `/proc/diskstats`.",
        kind: AttributeKind::Enum(&["read", "write", "flush", "discard"]),
    },
    AttributeDescriptor {
        name: EVENKEEL_EXPORT_OUTCOME,
        description: "What became of an exported window.",
        kind: AttributeKind::Enum(&["made", "sent", "rejected", "dropped"]),
    },
    AttributeDescriptor {
        name: EVENKEEL_EXPORT_SIGNAL,
        description: "The OTLP signal that was exported.",
        kind: AttributeKind::Enum(&["profiles", "metrics"]),
    },
    AttributeDescriptor {
        name: EVENKEEL_FOCUS_TARGET,
        description: "A service or container in focus, as the command line names it.",
        kind: AttributeKind::String,
    },
    AttributeDescriptor {
        name: EVENKEEL_HELPER_NAME,
        description: "The name of a BPF helper function without its prefix.",
        kind: AttributeKind::String,
    },
    AttributeDescriptor {
        name: EVENKEEL_HOST_CPU_ALLOTMENT,
        description: "How much of its CPUs a cloud instance is promised, by its type.",
        kind: AttributeKind::Enum(&["burstable", "full"]),
    },
    AttributeDescriptor {
        name: EVENKEEL_HOST_HYPERVISOR_NAME,
        description: "The hypervisor that the host runs on.",
        kind: AttributeKind::Enum(&["none", "kvm", "nitro", "hyperv", "xen", "vmware", "other"]),
    },
    AttributeDescriptor {
        name: EVENKEEL_HOST_LIFE_CYCLE,
        description: "On what terms a cloud instance runs, by the provider's metadata service.",
        kind: AttributeKind::Enum(&["on_demand", "spot", "preemptible"]),
    },
    AttributeDescriptor {
        name: EVENKEEL_INTERRUPT_KIND,
        description: "What kind of interrupt it is.",
        kind: AttributeKind::Enum(&["device", "vector", "soft"]),
    },
    AttributeDescriptor {
        name: EVENKEEL_INTERRUPT_NAME,
        description: "The name of the interrupt.",
        kind: AttributeKind::String,
    },
    AttributeDescriptor {
        name: EVENKEEL_KERNEL_RELEASE,
        description: "The kernel release as `uname -r` prints it.",
        kind: AttributeKind::String,
    },
    AttributeDescriptor {
        name: EVENKEEL_KERNEL_VERSION,
        description: "The kernel build as `uname -v` prints it.",
        kind: AttributeKind::String,
    },
    AttributeDescriptor {
        name: EVENKEEL_LOSS_REASON,
        description: "Why an event is missing from what was exported.",
        kind: AttributeKind::Enum(&["aggregation_full", "ring_buffer_full", "storage_full", "stack_full", "negative_interval", "unmatched", "unended", "out_of_range", "throttled", "process_unknown", "channel_full", "series_full", "read_failed", "invalid", "late"]),
    },
    AttributeDescriptor {
        name: EVENKEEL_MAP_NAME,
        description: "The name of a kernel map of the agent.",
        kind: AttributeKind::String,
    },
    AttributeDescriptor {
        name: EVENKEEL_METHOD_CLOCK_COST,
        description: "The measured cost class of the clock helper of the kernel programs on this host.",
        kind: AttributeKind::Enum(&["fast", "slow", "very_slow"]),
    },
    AttributeDescriptor {
        name: EVENKEEL_METHOD_FINGERPRINT,
        description: "Lower-case hexadecimal hash over everything that can differ between two hosts that run the same BPF object.",
        kind: AttributeKind::String,
    },
    AttributeDescriptor {
        name: EVENKEEL_NETWORK_DROP_REASON,
        description: "Why the kernel dropped a packet, by its own name for it.",
        kind: AttributeKind::String,
    },
    AttributeDescriptor {
        name: EVENKEEL_NETWORK_POLL_CONTEXT,
        description: "Where packets were received from a device's or CPU's queue.",
        kind: AttributeKind::Enum(&["soft_interrupt", "task"]),
    },
    AttributeDescriptor {
        name: EVENKEEL_NETWORK_POLL_OUTCOME,
        description: "How a poll for packets ended.",
        kind: AttributeKind::Enum(&["done", "exhausted"]),
    },
    AttributeDescriptor {
        name: EVENKEEL_NETWORK_QUEUE_DROP_REASON,
        description: "The queue that had no room.",
        kind: AttributeKind::Enum(&["cpu_backlog", "accept_queue", "listen", "tcp_backlog", "tcp_receive_queue", "udp_receive_queue", "udp_send_queue"]),
    },
    AttributeDescriptor {
        name: EVENKEEL_NETWORK_TCP_RETRANSMISSION_KIND,
        description: "What was sent again.",
        kind: AttributeKind::Enum(&["data", "syn", "syn_ack"]),
    },
    AttributeDescriptor {
        name: EVENKEEL_OFF_CPU_REASON,
        description: "What a blocked task waited for.",
        kind: AttributeKind::Enum(&["disk_io", "lock", "condition", "network", "timer", "pipe", "poll", "page_fault", "stopped", "child", "idle", "other"]),
    },
    AttributeDescriptor {
        name: EVENKEEL_OFF_CPU_WAKER,
        description: "The executable name of the process that ended the wait, or `[interrupt]`.",
        kind: AttributeKind::String,
    },
    AttributeDescriptor {
        name: EVENKEEL_PRESSURE_RESOURCE,
        description: "The resource that tasks waited for, as in `/proc/pressure`.",
        kind: AttributeKind::Enum(&["cpu", "memory", "io", "irq"]),
    },
    AttributeDescriptor {
        name: EVENKEEL_PRESSURE_SCOPE,
        description: "How many tasks were stalled.",
        kind: AttributeKind::Enum(&["some", "full"]),
    },
    AttributeDescriptor {
        name: EVENKEEL_PROGRAM_NAME,
        description: "The name of a kernel program of the agent.",
        kind: AttributeKind::String,
    },
    AttributeDescriptor {
        name: EVENKEEL_RECORDING_COMMAND,
        description: "The command that was recorded, arguments separated by blanks.",
        kind: AttributeKind::String,
    },
    AttributeDescriptor {
        name: EVENKEEL_RUN_QUEUE_BEHIND,
        description: "Who had the CPU while a ready task waited for it.",
        kind: AttributeKind::Enum(&["throttled", "own", "other", "kernel"]),
    },
    AttributeDescriptor {
        name: EVENKEEL_RUN_QUEUE_NEIGHBOUR,
        description: "The service name of those that had the CPU, `[kernel]` or, for all beyond the worst three, `[rest]`.",
        kind: AttributeKind::String,
    },
    AttributeDescriptor {
        name: EVENKEEL_SIGNAL_NAME,
        description: "The signal, as the command line names it.",
        kind: AttributeKind::Enum(&["on_cpu", "off_cpu", "stolen", "run_queue", "scheduler", "host", "interrupts", "network", "syscalls", "block_io", "platform"]),
    },
    AttributeDescriptor {
        name: EVENKEEL_SIGNAL_REASON,
        description: "Why a signal is not measured in full, in words.",
        kind: AttributeKind::String,
    },
    AttributeDescriptor {
        name: EVENKEEL_SIGNAL_STATE,
        description: "The state of a signal.",
        kind: AttributeKind::Enum(&["attached", "partial", "off", "failed"]),
    },
    AttributeDescriptor {
        name: EVENKEEL_STACK_END,
        description: "How a walk of a user stack ended.",
        kind: AttributeKind::Enum(&["complete", "truncated", "bad_frame_pointer", "read_fault", "bad_return_address", "no_user_stack", "not_current", "bad_frame", "not_understood", "unverified"]),
    },
    AttributeDescriptor {
        name: EVENKEEL_SYSCALL_AGE,
        description: "How long a system call has been under way.",
        kind: AttributeKind::Enum(&["below_1ms", "below_10ms", "below_100ms", "below_1s", "below_10s", "below_1min", "above_1min", "unknown"]),
    },
    AttributeDescriptor {
        name: EVENKEEL_SYSCALL_ERROR_CLASS,
        description: "The class of the error that a system call failed with.",
        kind: AttributeKind::Enum(&["would_block", "interrupted", "timed_out", "not_found", "exists", "not_permitted", "invalid", "exhausted", "busy", "connection", "io", "other"]),
    },
    AttributeDescriptor {
        name: EVENKEEL_SYSCALL_FAMILY,
        description: "What a system call is about.",
        kind: AttributeKind::Enum(&["read", "write", "sync", "copy", "poll", "async_io", "network", "file", "memory", "process", "signal", "time", "lock", "ipc", "compat", "other"]),
    },
    AttributeDescriptor {
        name: EVENKEEL_SYSCALL_NAME,
        description: "The name of a system call, without prefix.",
        kind: AttributeKind::String,
    },
    AttributeDescriptor {
        name: EVENKEEL_SYSCALL_SAMPLED,
        description: "Whether the call is measured, or only counted down.",
        kind: AttributeKind::Boolean,
    },
    AttributeDescriptor {
        name: EVENKEEL_UNWIND_REFUSAL,
        description: "Why unwind tables lack something.",
        kind: AttributeKind::Enum(&["unusable", "evicted", "no_room", "no_slot", "process_evicted", "process_refused", "request_lost", "deferred"]),
    },
    AttributeDescriptor {
        name: EVENKEEL_UNWIND_STATE,
        description: "Whether the kernel programs have rows for an executable file.",
        kind: AttributeKind::Enum(&["placed", "without"]),
    },
    AttributeDescriptor {
        name: HOST_ARCH,
        description: "The CPU architecture the host system is running on.",
        kind: AttributeKind::Enum(&["amd64", "arm64"]),
    },
    AttributeDescriptor {
        name: HOST_ID,
        description: "Unique host ID. For Cloud, this must be the instance_id assigned by the cloud provider. For non-containerized systems, this should be the `machine-id`. See the table below for the sources to use to determine the `machine-id` based on operating system.",
        kind: AttributeKind::String,
    },
    AttributeDescriptor {
        name: HOST_IMAGE_ID,
        description: "VM image ID or host OS image ID. For Cloud, this value is from the provider.",
        kind: AttributeKind::String,
    },
    AttributeDescriptor {
        name: HOST_NAME,
        description: "Name of the host. On Unix systems, it may contain what the hostname command returns, or the fully qualified hostname, or another name specified by the user.",
        kind: AttributeKind::String,
    },
    AttributeDescriptor {
        name: HOST_TYPE,
        description: "Type of host. For Cloud, this must be the machine type.",
        kind: AttributeKind::String,
    },
    AttributeDescriptor {
        name: K8S_CLUSTER_NAME,
        description: "The name of the cluster.",
        kind: AttributeKind::String,
    },
    AttributeDescriptor {
        name: K8S_CLUSTER_UID,
        description: "A pseudo-ID for the cluster, set to the UID of the `kube-system` namespace.",
        kind: AttributeKind::String,
    },
    AttributeDescriptor {
        name: K8S_CONTAINER_NAME,
        description: "The name of the Container from Pod specification, must be unique within a Pod. Container runtime usually uses different globally unique name (`container.name`).",
        kind: AttributeKind::String,
    },
    AttributeDescriptor {
        name: K8S_CONTAINER_RESTART_COUNT,
        description: "Number of times the container was restarted. This attribute can be used to identify a particular container (running or stopped) within a container spec.",
        kind: AttributeKind::String,
    },
    AttributeDescriptor {
        name: K8S_CRONJOB_NAME,
        description: "The name of the CronJob.",
        kind: AttributeKind::String,
    },
    AttributeDescriptor {
        name: K8S_CRONJOB_UID,
        description: "The UID of the CronJob.",
        kind: AttributeKind::String,
    },
    AttributeDescriptor {
        name: K8S_DAEMONSET_NAME,
        description: "The name of the DaemonSet.",
        kind: AttributeKind::String,
    },
    AttributeDescriptor {
        name: K8S_DAEMONSET_UID,
        description: "The UID of the DaemonSet.",
        kind: AttributeKind::String,
    },
    AttributeDescriptor {
        name: K8S_DEPLOYMENT_NAME,
        description: "The name of the Deployment.",
        kind: AttributeKind::String,
    },
    AttributeDescriptor {
        name: K8S_DEPLOYMENT_UID,
        description: "The UID of the Deployment.",
        kind: AttributeKind::String,
    },
    AttributeDescriptor {
        name: K8S_JOB_NAME,
        description: "The name of the Job.",
        kind: AttributeKind::String,
    },
    AttributeDescriptor {
        name: K8S_JOB_UID,
        description: "The UID of the Job.",
        kind: AttributeKind::String,
    },
    AttributeDescriptor {
        name: K8S_NAMESPACE_NAME,
        description: "The name of the namespace that the pod is running in.",
        kind: AttributeKind::String,
    },
    AttributeDescriptor {
        name: K8S_NODE_NAME,
        description: "The name of the Node.",
        kind: AttributeKind::String,
    },
    AttributeDescriptor {
        name: K8S_NODE_UID,
        description: "The UID of the Node.",
        kind: AttributeKind::String,
    },
    AttributeDescriptor {
        name: K8S_POD_ANNOTATION,
        description: "The annotation placed on the Pod, the ``key`` being the annotation name, the value being the annotation value.",
        kind: AttributeKind::String,
    },
    AttributeDescriptor {
        name: K8S_POD_LABEL,
        description: "The label placed on the Pod, the ``key`` being the label name, the value being the label value.",
        kind: AttributeKind::String,
    },
    AttributeDescriptor {
        name: K8S_POD_NAME,
        description: "The name of the Pod.",
        kind: AttributeKind::String,
    },
    AttributeDescriptor {
        name: K8S_POD_UID,
        description: "The UID of the Pod.",
        kind: AttributeKind::String,
    },
    AttributeDescriptor {
        name: K8S_REPLICASET_NAME,
        description: "The name of the ReplicaSet.",
        kind: AttributeKind::String,
    },
    AttributeDescriptor {
        name: K8S_REPLICASET_UID,
        description: "The UID of the ReplicaSet.",
        kind: AttributeKind::String,
    },
    AttributeDescriptor {
        name: K8S_STATEFULSET_NAME,
        description: "The name of the StatefulSet.",
        kind: AttributeKind::String,
    },
    AttributeDescriptor {
        name: K8S_STATEFULSET_UID,
        description: "The UID of the StatefulSet.",
        kind: AttributeKind::String,
    },
    AttributeDescriptor {
        name: NETWORK_INTERFACE_NAME,
        description: "The network interface name.",
        kind: AttributeKind::String,
    },
    AttributeDescriptor {
        name: NETWORK_IO_DIRECTION,
        description: "The network IO operation direction.",
        kind: AttributeKind::Enum(&["receive", "transmit"]),
    },
    AttributeDescriptor {
        name: OS_BUILD_ID,
        description: "Unique identifier for a particular build or compilation of the operating system.",
        kind: AttributeKind::String,
    },
    AttributeDescriptor {
        name: OS_DESCRIPTION,
        description: "Human readable (not intended to be parsed) OS version information, like e.g. reported by `ver` or `lsb_release -a` commands.",
        kind: AttributeKind::String,
    },
    AttributeDescriptor {
        name: OS_NAME,
        description: "Human readable operating system name.",
        kind: AttributeKind::String,
    },
    AttributeDescriptor {
        name: OS_TYPE,
        description: "The operating system type.",
        kind: AttributeKind::Enum(&["linux"]),
    },
    AttributeDescriptor {
        name: OS_VERSION,
        description: "The version string of the operating system as defined in Version Attributes.",
        kind: AttributeKind::String,
    },
    AttributeDescriptor {
        name: PROCESS_COMMAND,
        description: "The command used to launch the process (i.e. the command name). On Linux based systems, can be set to the zeroth string in `proc/[pid]/cmdline`. On Windows, can be set to the first parameter extracted from `GetCommandLineW`.",
        kind: AttributeKind::String,
    },
    AttributeDescriptor {
        name: PROCESS_EXECUTABLE_BUILD_ID_GNU,
        description: "The GNU build ID as found in the `.note.gnu.build-id` ELF section (hex string).",
        kind: AttributeKind::String,
    },
    AttributeDescriptor {
        name: PROCESS_EXECUTABLE_BUILD_ID_GO,
        description: "The Go build ID as retrieved by `go tool buildid <go executable>`.",
        kind: AttributeKind::String,
    },
    AttributeDescriptor {
        name: PROCESS_EXECUTABLE_BUILD_ID_HTLHASH,
        description: "Deterministic build ID for executables.",
        kind: AttributeKind::String,
    },
    AttributeDescriptor {
        name: PROCESS_EXECUTABLE_NAME,
        description: "The name of the process executable. On Linux based systems, this SHOULD be set to the base name of the target of `/proc/[pid]/exe`. On Windows, this SHOULD be set to the base name of `GetProcessImageFileNameW`.",
        kind: AttributeKind::String,
    },
    AttributeDescriptor {
        name: PROCESS_EXECUTABLE_PATH,
        description: "The full path to the process executable. On Linux based systems, can be set to the target of `proc/[pid]/exe`. On Windows, can be set to the result of `GetProcessImageFileNameW`.",
        kind: AttributeKind::String,
    },
    AttributeDescriptor {
        name: PROCESS_PID,
        description: "Process identifier (PID).",
        kind: AttributeKind::Int,
    },
    AttributeDescriptor {
        name: PROFILE_FRAME_TYPE,
        description: "Describes the interpreter or compiler of a single frame.",
        kind: AttributeKind::Enum(&["native", "kernel", "go", "rust", "jvm", "v8js"]),
    },
    AttributeDescriptor {
        name: SERVICE_INSTANCE_ID,
        description: "The string ID of the service instance.",
        kind: AttributeKind::String,
    },
    AttributeDescriptor {
        name: SERVICE_NAME,
        description: "Logical name of the service.",
        kind: AttributeKind::String,
    },
    AttributeDescriptor {
        name: SERVICE_NAMESPACE,
        description: "A namespace for `service.name`.",
        kind: AttributeKind::String,
    },
    AttributeDescriptor {
        name: SERVICE_VERSION,
        description: "The version string of the service component. The format is not defined by these conventions.",
        kind: AttributeKind::String,
    },
    AttributeDescriptor {
        name: SYSTEM_DEVICE,
        description: "The device identifier.",
        kind: AttributeKind::String,
    },
    AttributeDescriptor {
        name: TELEMETRY_DISTRO_NAME,
        description: "The name of the auto instrumentation agent or distribution, if used.",
        kind: AttributeKind::String,
    },
    AttributeDescriptor {
        name: TELEMETRY_DISTRO_VERSION,
        description: "The version string of the auto instrumentation agent or distribution, if used.",
        kind: AttributeKind::String,
    },
    AttributeDescriptor {
        name: TELEMETRY_SDK_LANGUAGE,
        description: "The language of the telemetry SDK.",
        kind: AttributeKind::Enum(&["rust"]),
    },
    AttributeDescriptor {
        name: TELEMETRY_SDK_NAME,
        description: "The name of the telemetry SDK as defined above.",
        kind: AttributeKind::String,
    },
    AttributeDescriptor {
        name: TELEMETRY_SDK_VERSION,
        description: "The version string of the telemetry SDK.",
        kind: AttributeKind::String,
    },
    AttributeDescriptor {
        name: THREAD_ID,
        description: "Current \"managed\" thread ID (as opposed to OS thread ID).",
        kind: AttributeKind::Int,
    },
    AttributeDescriptor {
        name: THREAD_NAME,
        description: "Current thread name.",
        kind: AttributeKind::String,
    },
];

/// Attribute values.
pub mod value {
    /// Values of `cloud.platform`.
    pub mod cloud_platform {
        /// `akamai_cloud.compute`.
        pub const AKAMAI_CLOUD_COMPUTE: &str = "akamai_cloud.compute";
        /// `alibaba_cloud_ecs`.
        pub const ALIBABA_CLOUD_ECS: &str = "alibaba_cloud_ecs";
        /// `aws_ec2`.
        pub const AWS_EC2: &str = "aws_ec2";
        /// `azure.vm`.
        pub const AZURE_VM: &str = "azure.vm";
        /// `gcp_compute_engine`.
        pub const GCP_COMPUTE_ENGINE: &str = "gcp_compute_engine";
        /// `gcp_kubernetes_engine`.
        pub const GCP_KUBERNETES_ENGINE: &str = "gcp_kubernetes_engine";
        /// `hetzner.cloud_server`.
        pub const HETZNER_CLOUD_SERVER: &str = "hetzner.cloud_server";
        /// `ibm_cloud.vpc`.
        pub const IBM_CLOUD_VPC: &str = "ibm_cloud.vpc";
        /// `oracle_cloud_compute`.
        pub const ORACLE_CLOUD_COMPUTE: &str = "oracle_cloud_compute";
        /// `oracle_cloud_oke`.
        pub const ORACLE_CLOUD_OKE: &str = "oracle_cloud_oke";
        /// `scaleway_cloud_compute`.
        pub const SCALEWAY_CLOUD_COMPUTE: &str = "scaleway_cloud_compute";
        /// `tencent_cloud_cvm`.
        pub const TENCENT_CLOUD_CVM: &str = "tencent_cloud_cvm";
        /// `vultr.cloud_compute`.
        pub const VULTR_CLOUD_COMPUTE: &str = "vultr.cloud_compute";
    }

    /// Values of `cloud.provider`.
    pub mod cloud_provider {
        /// `akamai_cloud`.
        pub const AKAMAI_CLOUD: &str = "akamai_cloud";
        /// `alibaba_cloud`.
        pub const ALIBABA_CLOUD: &str = "alibaba_cloud";
        /// `aws`.
        pub const AWS: &str = "aws";
        /// `azure`.
        pub const AZURE: &str = "azure";
        /// `digitalocean`.
        pub const DIGITALOCEAN: &str = "digitalocean";
        /// `gcp`.
        pub const GCP: &str = "gcp";
        /// `hetzner`.
        pub const HETZNER: &str = "hetzner";
        /// `ibm_cloud`.
        pub const IBM_CLOUD: &str = "ibm_cloud";
        /// `openstack`.
        pub const OPENSTACK: &str = "openstack";
        /// `oracle_cloud`.
        pub const ORACLE_CLOUD: &str = "oracle_cloud";
        /// `scaleway_cloud`.
        pub const SCALEWAY_CLOUD: &str = "scaleway_cloud";
        /// `tencent_cloud`.
        pub const TENCENT_CLOUD: &str = "tencent_cloud";
        /// `vultr`.
        pub const VULTR: &str = "vultr";
    }

    /// Values of `cpu.mode`.
    pub mod cpu_mode {
        /// `user`.
        pub const USER: &str = "user";
        /// `nice`.
        pub const NICE: &str = "nice";
        /// `system`.
        pub const SYSTEM: &str = "system";
        /// `idle`.
        pub const IDLE: &str = "idle";
        /// `iowait`.
        pub const IOWAIT: &str = "iowait";
        /// `interrupt`.
        pub const INTERRUPT: &str = "interrupt";
        /// `softirq`.
        pub const SOFTIRQ: &str = "softirq";
        /// `steal`.
        pub const STEAL: &str = "steal";
    }

    /// Values of `disk.io.direction`.
    pub mod disk_io_direction {
        /// `read`.
        pub const READ: &str = "read";
        /// `write`.
        pub const WRITE: &str = "write";
    }

    /// Values of `evenkeel.context_switch.type`.
    pub mod evenkeel_context_switch_type {
        /// It blocked.
        pub const VOLUNTARY: &str = "voluntary";
        /// It could have gone on: its time was up, another task took its place, or it yielded.
        pub const INVOLUNTARY: &str = "involuntary";
        /// It was the idle task.
        pub const IDLE: &str = "idle";
    }

    /// Values of `evenkeel.cpu.run_queue.enqueue.reason`.
    pub mod evenkeel_cpu_run_queue_enqueue_reason {
        /// The task was woken.
        pub const WAKEUP: &str = "wakeup";
        /// The task was created.
        pub const NEW: &str = "new";
        /// The task was runnable when it was switched out.
        pub const PREEMPTED: &str = "preempted";
    }

    /// Values of `evenkeel.disk.operation.type`.
    pub mod evenkeel_disk_operation_type {
        /// Reads.
        pub const READ: &str = "read";
        /// Writes.
        pub const WRITE: &str = "write";
        /// Flushes of the device's cache.
        pub const FLUSH: &str = "flush";
        /// Discards.
        pub const DISCARD: &str = "discard";
    }

    /// Values of `evenkeel.export.outcome`.
    pub mod evenkeel_export_outcome {
        /// The window was encoded and put into the queue.
        pub const MADE: &str = "made";
        /// The receiver accepted the window.
        pub const SENT: &str = "sent";
        /// The receiver refused the window or part of it for good.
        pub const REJECTED: &str = "rejected";
        /// The agent gave the window up: the queue was full or the retries were used up.
        pub const DROPPED: &str = "dropped";
    }

    /// Values of `evenkeel.export.signal`.
    pub mod evenkeel_export_signal {
        /// OTLP profiles.
        pub const PROFILES: &str = "profiles";
        /// OTLP metrics.
        pub const METRICS: &str = "metrics";
    }

    /// Values of `evenkeel.host.cpu.allotment`.
    pub mod evenkeel_host_cpu_allotment {
        /// A baseline share of the CPUs, and more from a budget of credits or when others leave it.
        pub const BURSTABLE: &str = "burstable";
        /// The whole of the CPUs.
        pub const FULL: &str = "full";
    }

    /// Values of `evenkeel.host.hypervisor.name`.
    pub mod evenkeel_host_hypervisor_name {
        /// No hypervisor was detected.
        pub const NONE: &str = "none";
        /// KVM.
        pub const KVM: &str = "kvm";
        /// AWS Nitro (KVM based).
        pub const NITRO: &str = "nitro";
        /// Microsoft Hyper-V.
        pub const HYPERV: &str = "hyperv";
        /// Xen.
        pub const XEN: &str = "xen";
        /// VMware.
        pub const VMWARE: &str = "vmware";
        /// A hypervisor of another kind.
        pub const OTHER: &str = "other";
    }

    /// Values of `evenkeel.host.life_cycle`.
    pub mod evenkeel_host_life_cycle {
        /// Runs until its user stops it.
        pub const ON_DEMAND: &str = "on_demand";
        /// Spare capacity that the provider takes back at any time.
        pub const SPOT: &str = "spot";
        /// Spare capacity of Google Cloud, preemptible or spot.
        pub const PREEMPTIBLE: &str = "preemptible";
    }

    /// Values of `evenkeel.interrupt.kind`.
    pub mod evenkeel_interrupt_kind {
        /// A hard interrupt of a device.
        pub const DEVICE: &str = "device";
        /// A vector of the CPU itself: its timer, and what CPUs send each other. x86 only; elsewhere these are interrupts of devices.
        pub const VECTOR: &str = "vector";
        /// A soft interrupt, on the way out of a hard one or in ksoftirqd.
        pub const SOFT: &str = "soft";
    }

    /// Values of `evenkeel.loss.reason`.
    pub mod evenkeel_loss_reason {
        /// The kernel map that sums up the events was full.
        pub const AGGREGATION_FULL: &str = "aggregation_full";
        /// The ring buffer between kernel and user space was full.
        pub const RING_BUFFER_FULL: &str = "ring_buffer_full";
        /// No memory was left for the per-task state.
        pub const STORAGE_FULL: &str = "storage_full";
        /// No room was left to keep another stack.
        pub const STACK_FULL: &str = "stack_full";
        /// The end of an interval lay before its start.
        pub const NEGATIVE_INTERVAL: &str = "negative_interval";
        /// An end was seen without its start.
        pub const UNMATCHED: &str = "unmatched";
        /// A start was seen without its end.
        pub const UNENDED: &str = "unended";
        /// The value lay outside of what the signal records.
        pub const OUT_OF_RANGE: &str = "out_of_range";
        /// The kernel throttled the sampling event.
        pub const THROTTLED: &str = "throttled";
        /// The process was gone before anything was known about it.
        pub const PROCESS_UNKNOWN: &str = "process_unknown";
        /// The bounded channel between two stages of the agent was full.
        pub const CHANNEL_FULL: &str = "channel_full";
        /// The bound on series of one metric was met.
        pub const SERIES_FULL: &str = "series_full";
        /// A file of procfs or sysfs could not be read.
        pub const READ_FAILED: &str = "read_failed";
        /// The record or line could not be understood.
        pub const INVALID: &str = "invalid";
        /// The value arrived after its window had closed.
        pub const LATE: &str = "late";
    }

    /// Values of `evenkeel.method.clock.cost`.
    pub mod evenkeel_method_clock_cost {
        /// The clock helper takes less than 100 ns a call: it reads a counter of the CPU.
        pub const FAST: &str = "fast";
        /// The clock helper takes from 100 ns to 1 us a call.
        pub const SLOW: &str = "slow";
        /// The clock helper takes 1 us or more a call, as when each reading leaves the guest.
        pub const VERY_SLOW: &str = "very_slow";
    }

    /// Values of `evenkeel.network.poll.context`.
    pub mod evenkeel_network_poll_context {
        /// In the soft interrupt `net_rx`.
        pub const SOFT_INTERRUPT: &str = "soft_interrupt";
        /// In a task: busy polling, or the thread of a device.
        pub const TASK: &str = "task";
    }

    /// Values of `evenkeel.network.poll.outcome`.
    pub mod evenkeel_network_poll_outcome {
        /// The queue was emptied.
        pub const DONE: &str = "done";
        /// The budget of packets was used up, and those that are left wait.
        pub const EXHAUSTED: &str = "exhausted";
    }

    /// Values of `evenkeel.network.queue.drop.reason`.
    pub mod evenkeel_network_queue_drop_reason {
        /// The CPU's queue of received packets was full (`net.core.netdev_max_backlog`).
        pub const CPU_BACKLOG: &str = "cpu_backlog";
        /// The queue of connections that an application has not accepted was full.
        pub const ACCEPT_QUEUE: &str = "accept_queue";
        /// A connection was refused for another reason, such as want of memory.
        pub const LISTEN: &str = "listen";
        /// The queue of a TCP socket that its process is busy with was full.
        pub const TCP_BACKLOG: &str = "tcp_backlog";
        /// The receive queue of a TCP socket was full.
        pub const TCP_RECEIVE_QUEUE: &str = "tcp_receive_queue";
        /// The receive queue of a UDP socket was full.
        pub const UDP_RECEIVE_QUEUE: &str = "udp_receive_queue";
        /// The send queue of a UDP socket was full.
        pub const UDP_SEND_QUEUE: &str = "udp_send_queue";
    }

    /// Values of `evenkeel.network.tcp.retransmission.kind`.
    pub mod evenkeel_network_tcp_retransmission_kind {
        /// Data or FIN of an established connection.
        pub const DATA: &str = "data";
        /// The SYN of a connection that is being made.
        pub const SYN: &str = "syn";
        /// The answer to a SYN.
        pub const SYN_ACK: &str = "syn_ack";
    }

    /// Values of `evenkeel.off_cpu.reason`.
    pub mod evenkeel_off_cpu_reason {
        /// Block or file I/O.
        pub const DISK_IO: &str = "disk_io";
        /// A lock: a mutex, a semaphore, a file lock.
        pub const LOCK: &str = "lock";
        /// A condition variable, a queue or another futex that is no lock.
        pub const CONDITION: &str = "condition";
        /// A socket.
        pub const NETWORK: &str = "network";
        /// Time: a sleep or a timer.
        pub const TIMER: &str = "timer";
        /// A pipe or a terminal.
        pub const PIPE: &str = "pipe";
        /// Any of several files: poll, select, epoll.
        pub const POLL: &str = "poll";
        /// Memory: a page that had to be read or freed.
        pub const PAGE_FAULT: &str = "page_fault";
        /// A signal or a debugger stopped it.
        pub const STOPPED: &str = "stopped";
        /// The end of another process or thread.
        pub const CHILD: &str = "child";
        /// Work: it has nothing to do. Kernel threads in their main loops, and user threads that waited for a request or a condition the whole window.
        pub const IDLE: &str = "idle";
        /// Something else.
        pub const OTHER: &str = "other";
    }

    /// Values of `evenkeel.pressure.resource`.
    pub mod evenkeel_pressure_resource {
        /// CPU time.
        pub const CPU: &str = "cpu";
        /// Memory.
        pub const MEMORY: &str = "memory";
        /// Block and file I/O.
        pub const IO: &str = "io";
        /// CPU time taken by interrupts and the hypervisor.
        pub const IRQ: &str = "irq";
    }

    /// Values of `evenkeel.pressure.scope`.
    pub mod evenkeel_pressure_scope {
        /// At least one task was stalled.
        pub const SOME: &str = "some";
        /// All non-idle tasks were stalled at once.
        pub const FULL: &str = "full";
    }

    /// Values of `evenkeel.run_queue.behind`.
    pub mod evenkeel_run_queue_behind {
        /// Nobody had to: the own CPU quota was used up.
        pub const THROTTLED: &str = "throttled";
        /// Tasks of the same process or container.
        pub const OWN: &str = "own";
        /// Tasks of another process or container.
        pub const OTHER: &str = "other";
        /// The kernel: its threads, or a CPU that woke up from idle.
        pub const KERNEL: &str = "kernel";
    }

    /// Values of `evenkeel.signal.name`.
    pub mod evenkeel_signal_name {
        /// Stacks of what runs, sampled by time.
        pub const ON_CPU: &str = "on_cpu";
        /// Stacks of what is blocked.
        pub const OFF_CPU: &str = "off_cpu";
        /// Stacks that were on a CPU when the hypervisor took it away.
        pub const STOLEN: &str = "stolen";
        /// Stacks of what is ready but not running.
        pub const RUN_QUEUE: &str = "run_queue";
        /// Run-queue waits and context switches.
        pub const SCHEDULER: &str = "scheduler";
        /// Counters that the kernel keeps in procfs.
        pub const HOST: &str = "host";
        /// Interrupt and softirq handlers.
        pub const INTERRUPTS: &str = "interrupts";
        /// Cost per packet, retransmits, drops.
        pub const NETWORK: &str = "network";
        /// System calls.
        pub const SYSCALLS: &str = "syscalls";
        /// Block requests.
        pub const BLOCK_IO: &str = "block_io";
        /// What the machine gives and withholds.
        pub const PLATFORM: &str = "platform";
    }

    /// Values of `evenkeel.signal.state`.
    pub mod evenkeel_signal_state {
        /// All of it is measured.
        pub const ATTACHED: &str = "attached";
        /// Part of it is measured.
        pub const PARTIAL: &str = "partial";
        /// It was not asked for, or the platform has nothing to measure.
        pub const OFF: &str = "off";
        /// It was asked for but cannot be measured.
        pub const FAILED: &str = "failed";
    }

    /// Values of `evenkeel.stack.end`.
    pub mod evenkeel_stack_end {
        /// The walk reached the outermost frame.
        pub const COMPLETE: &str = "complete";
        /// The walk was cut at the largest depth.
        pub const TRUNCATED: &str = "truncated";
        /// The frame pointer did not lead outwards on the stack: code without frame pointers.
        pub const BAD_FRAME_POINTER: &str = "bad_frame_pointer";
        /// User memory could not be read, as when the page is not resident.
        pub const READ_FAULT: &str = "read_fault";
        /// The return address cannot be code.
        pub const BAD_RETURN_ADDRESS: &str = "bad_return_address";
        /// There was no user stack: a kernel thread or a task that is exiting.
        pub const NO_USER_STACK: &str = "no_user_stack";
        /// The task was not running, so that its user memory could not be read: its wait goes on, or nothing hit it when it returned.
        pub const NOT_CURRENT: &str = "not_current";
        /// The rule for the code gave a frame that does not lie outwards on the stack.
        pub const BAD_FRAME: &str = "bad_frame";
        /// The code says how its caller is found, but in a way that is not understood, or by a register that was lost on the way.
        pub const NOT_UNDERSTOOD: &str = "not_understood";
        /// The walk reached what is the outermost frame by frame pointers, of code about which nothing was known yet.
        pub const UNVERIFIED: &str = "unverified";
    }

    /// Values of `evenkeel.syscall.age`.
    pub mod evenkeel_syscall_age {
        /// Below 1 ms.
        pub const BELOW_1MS: &str = "below_1ms";
        /// From 1 ms to below 10 ms.
        pub const BELOW_10MS: &str = "below_10ms";
        /// From 10 ms to below 100 ms.
        pub const BELOW_100MS: &str = "below_100ms";
        /// From 100 ms to below 1 s.
        pub const BELOW_1S: &str = "below_1s";
        /// From 1 s to below 10 s.
        pub const BELOW_10S: &str = "below_10s";
        /// From 10 s to below 1 min.
        pub const BELOW_1MIN: &str = "below_1min";
        /// 1 min or longer.
        pub const ABOVE_1MIN: &str = "above_1min";
        /// It was entered before it could be seen, or was not among those sampled.
        pub const UNKNOWN: &str = "unknown";
    }

    /// Values of `evenkeel.syscall.error.class`.
    pub mod evenkeel_syscall_error_class {
        /// It could not be done at once: EAGAIN, EINPROGRESS.
        pub const WOULD_BLOCK: &str = "would_block";
        /// A signal came: EINTR, and calls that the kernel restarts after it.
        pub const INTERRUPTED: &str = "interrupted";
        /// The time was over: ETIMEDOUT.
        pub const TIMED_OUT: &str = "timed_out";
        /// There is no such file, process or device: ENOENT, ESRCH, ECHILD.
        pub const NOT_FOUND: &str = "not_found";
        /// It is there already or in the way: EEXIST, EADDRINUSE.
        pub const EXISTS: &str = "exists";
        /// EPERM, EACCES, EROFS.
        pub const NOT_PERMITTED: &str = "not_permitted";
        /// The call made no sense: EINVAL, EBADF, EFAULT, ENOSYS, EOPNOTSUPP.
        pub const INVALID: &str = "invalid";
        /// Memory, space or descriptors were used up: ENOMEM, ENOSPC, EMFILE.
        pub const EXHAUSTED: &str = "exhausted";
        /// Somebody else holds it: EBUSY, EDEADLK.
        pub const BUSY: &str = "busy";
        /// The other end or the way to it: ECONNREFUSED, ECONNRESET, EPIPE.
        pub const CONNECTION: &str = "connection";
        /// The device or file system failed: EIO, ESTALE.
        pub const IO: &str = "io";
        /// Any other error.
        pub const OTHER: &str = "other";
    }

    /// Values of `evenkeel.syscall.family`.
    pub mod evenkeel_syscall_family {
        /// `read` and its kin, from whatever descriptor; directories and random numbers too.
        pub const READ: &str = "read";
        /// `write` and its kin, to whatever descriptor.
        pub const WRITE: &str = "write";
        /// Data to stable storage: `fsync`, `msync`, `sync`.
        pub const SYNC: &str = "sync";
        /// Data between two descriptors: `sendfile`, `splice`, `copy_file_range`.
        pub const COPY: &str = "copy";
        /// Waiting for descriptors: `epoll_wait`, `poll`, `select`, and what sets them up.
        pub const POLL: &str = "poll";
        /// `io_uring` and `io_submit`, and waiting for them.
        pub const ASYNC_IO: &str = "async_io";
        /// Sockets: connect, accept, send, receive, options.
        pub const NETWORK: &str = "network";
        /// Names, descriptors and attributes of files; mounts.
        pub const FILE: &str = "file";
        /// Address spaces: `mmap`, `brk`, `madvise`.
        pub const MEMORY: &str = "memory";
        /// Processes and threads, their identity, scheduling and limits; waiting for a child.
        pub const PROCESS: &str = "process";
        /// Sending, handling and waiting for signals.
        pub const SIGNAL: &str = "signal";
        /// Clocks, timers and sleeping.
        pub const TIME: &str = "time";
        /// `futex`, by which locks, condition variables and joins wait; `flock`.
        pub const LOCK: &str = "lock";
        /// Pipes, message queues, semaphores and shared memory.
        pub const IPC: &str = "ipc";
        /// Calls of the 32-bit ABI, which have other numbers.
        pub const COMPAT: &str = "compat";
        /// The rest, such as `ioctl`.
        pub const OTHER: &str = "other";
    }

    /// Values of `evenkeel.unwind.refusal`.
    pub mod evenkeel_unwind_refusal {
        /// An executable file has no call frame information, or none that can be read.
        pub const UNUSABLE: &str = "unusable";
        /// The rows of an executable file made room for others.
        pub const EVICTED: &str = "evicted";
        /// There was no room for the rows of an executable file.
        pub const NO_ROOM: &str = "no_room";
        /// There was no slot for an executable file.
        pub const NO_SLOT: &str = "no_slot";
        /// The mappings of a process made room for others.
        pub const PROCESS_EVICTED: &str = "process_evicted";
        /// There was no room for the mappings of a process, or there are too many of them.
        pub const PROCESS_REFUSED: &str = "process_refused";
        /// A request found no room in the queue.
        pub const REQUEST_LOST: &str = "request_lost";
        /// Rows were made later, to stay within their share of the CPU.
        pub const DEFERRED: &str = "deferred";
    }

    /// Values of `evenkeel.unwind.state`.
    pub mod evenkeel_unwind_state {
        /// The kernel programs have its rows.
        pub const PLACED: &str = "placed";
        /// They have none: it says nothing of how callers are found, was not sampled, or there was no room.
        pub const WITHOUT: &str = "without";
    }

    /// Values of `host.arch`.
    pub mod host_arch {
        /// `amd64`.
        pub const AMD64: &str = "amd64";
        /// `arm64`.
        pub const ARM64: &str = "arm64";
    }

    /// Values of `network.io.direction`.
    pub mod network_io_direction {
        /// `receive`.
        pub const RECEIVE: &str = "receive";
        /// `transmit`.
        pub const TRANSMIT: &str = "transmit";
    }

    /// Values of `os.type`.
    pub mod os_type {
        /// `linux`.
        pub const LINUX: &str = "linux";
    }

    /// Values of `profile.frame.type`.
    pub mod profile_frame_type {
        /// `native`.
        pub const NATIVE: &str = "native";
        /// `kernel`.
        pub const KERNEL: &str = "kernel";
        /// `go`.
        pub const GO: &str = "go";
        /// `rust`.
        pub const RUST: &str = "rust";
        /// `jvm`.
        pub const JVM: &str = "jvm";
        /// `v8js`.
        pub const V8JS: &str = "v8js";
    }

    /// Values of `telemetry.sdk.language`.
    pub mod telemetry_sdk_language {
        /// `rust`.
        pub const RUST: &str = "rust";
    }
}
