//! Block I/O by request: queue, device and total.
