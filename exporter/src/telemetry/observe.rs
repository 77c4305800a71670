//! What is read at the moment of collection.

use super::process::Usage;
use crate::deliver::{Accounts, Signal};
use evenkeel_semconv::{
    attribute::{CPU_MODE, EVENKEEL_EXPORT_SIGNAL, value::cpu_mode},
    metric::{
        EVENKEEL_EXPORT_QUEUE_LENGTH, EVENKEEL_EXPORT_QUEUE_SIZE, PROCESS_CPU_TIME,
        PROCESS_MEMORY_USAGE,
    },
};
use opentelemetry::{KeyValue, metrics::Meter};
use std::sync::Arc;

/// Registers the queues of delivery and the agent's own use of CPU and memory. The SDK keeps the
/// instruments for as long as its provider lives.
pub(super) fn register(meter: &Meter, accounts: impl Fn() -> Accounts + Send + Sync + 'static) {
    let accounts = Arc::new(accounts);
    let queue = |read: fn(&Accounts, Signal) -> u64| {
        let accounts = Arc::clone(&accounts);
        move |observer: &dyn opentelemetry::metrics::AsyncInstrument<i64>| {
            let accounts = accounts();
            for signal in Signal::ALL {
                if let Some(name) = signal.attribute() {
                    let value = i64::try_from(read(&accounts, signal)).unwrap_or(i64::MAX);
                    observer.observe(value, &[KeyValue::new(EVENKEEL_EXPORT_SIGNAL, name)]);
                }
            }
        }
    };
    let _kept_by_sdk = meter
        .i64_observable_up_down_counter(EVENKEEL_EXPORT_QUEUE_LENGTH.name)
        .with_callback(queue(|accounts, signal| {
            let accounts = accounts.signal(signal);
            accounts.queued + accounts.in_flight
        }))
        .build();
    let _kept_by_sdk = meter
        .i64_observable_up_down_counter(EVENKEEL_EXPORT_QUEUE_SIZE.name)
        .with_callback(queue(|accounts, signal| {
            accounts.signal(signal).queued_bytes
        }))
        .build();
    let _kept_by_sdk = meter
        .f64_observable_counter(PROCESS_CPU_TIME.name)
        .with_callback(|observer| {
            // What cannot be read is left out, never zero.
            if let Some(usage) = Usage::of_self() {
                let mode = |mode| [KeyValue::new(CPU_MODE, mode)];
                observer.observe(usage.user_seconds, &mode(cpu_mode::USER));
                observer.observe(usage.system_seconds, &mode(cpu_mode::SYSTEM));
            }
        })
        .build();
    let _kept_by_sdk = meter
        .i64_observable_up_down_counter(PROCESS_MEMORY_USAGE.name)
        .with_callback(|observer| {
            if let Some(usage) = Usage::of_self() {
                observer.observe(usage.resident_bytes, &[]);
            }
        })
        .build();
}
