//! The cpu-clock timer of each CPU, followed as CPUs come and go.
//!
//! cpu-clock and not cycles, on every host: machines with and without a PMU are measured alike.

use std::collections::BTreeMap;

use aya::programs::{
    PerfEvent, Program, ProgramError,
    perf_event::{PerfEventConfig, PerfEventLinkId, PerfEventScope, SamplePolicy, SoftwareEvent},
};

use super::attach::in_short;

/// Timers by CPU.
#[derive(Debug, Default)]
pub struct Sampling {
    frequency: u64,
    links: BTreeMap<u32, PerfEventLinkId>,
}

impl Sampling {
    /// No CPU is sampled yet.
    pub fn new(frequency: u64) -> Self {
        Self {
            frequency,
            links: BTreeMap::new(),
        }
    }

    /// Samples a CPU. A CPU that was offline in between gets a new timer: the kernel turns off the
    /// old one for good when the CPU goes.
    pub fn start(&mut self, program: &mut Program, cpu: u32) -> Result<(), ProgramError> {
        self.stop(program, cpu);
        let program: &mut PerfEvent = program.try_into()?;
        let link = program.attach(
            PerfEventConfig::Software(SoftwareEvent::CpuClock),
            PerfEventScope::AllProcessesOneCpu { cpu },
            SamplePolicy::Frequency(self.frequency),
            false,
        )?;
        self.links.insert(cpu, link);
        Ok(())
    }

    /// Forgets a CPU that went offline.
    fn stop(&mut self, program: &mut Program, cpu: u32) {
        let Some(link) = self.links.remove(&cpu) else {
            return;
        };
        if let Ok(program) = <&mut PerfEvent>::try_from(program)
            && let Err(error) = program.detach(link)
        {
            tracing::debug!(cpu, %error, "The timer of a CPU was gone before it was detached.");
        }
    }

    /// Samples exactly these CPUs; why one of them is not, if so.
    pub fn follow(&mut self, program: &mut Program, online: &[u32]) -> Option<String> {
        let gone: Vec<_> = self
            .links
            .keys()
            .filter(|cpu| !online.contains(cpu))
            .copied()
            .collect();
        for cpu in gone {
            self.stop(program, cpu);
        }
        let mut refused = None;
        for cpu in online {
            if !self.links.contains_key(cpu)
                && let Err(error) = self.start(program, *cpu)
            {
                refused.get_or_insert_with(|| format!("CPU {cpu}: {}", in_short(&error)));
            }
        }
        refused
    }

    /// Number of CPUs that are sampled.
    pub fn cpus(&self) -> usize {
        self.links.len()
    }
}
