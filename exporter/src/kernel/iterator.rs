//! Reading kernel iterators: programs that run once for each object of a kind while user space
//! reads a file.

use std::io::Read as _;

use aya::programs::{Iter, ProgramError, links::LinkError};

use super::loader::Kernel;

/// Bytes asked for at once. The kernel puts records together in 32 KiB and throws the last one away
/// when they do not fit, which the program cannot know; it stops before that when less is asked
/// for by more than the longest record (kernel/bpf/bpf_iter.c, `bpf_seq_read`).
const CHUNK: usize = 28 << 10;

/// Most bytes of one walk: 130,000 tasks with an account, or 6,000 with an account and a stack.
const LONGEST: usize = 8 << 20;

/// The walk could not be made.
#[derive(Debug, thiserror::Error)]
pub enum IteratorError {
    /// There is no such iterator, or it was not loaded.
    #[error("the iterator {0} is not there")]
    Missing(&'static str),
    /// The kernel refused.
    #[error("cannot start the iterator: {0}")]
    Program(#[from] ProgramError),
    /// The link could not be made a file.
    #[error("cannot open the iterator: {0}")]
    Link(#[from] LinkError),
    /// Reading failed.
    #[error("cannot read the iterator: {0}")]
    Read(#[from] std::io::Error),
}

impl Kernel {
    /// Runs an iterator (`Hook::Iterator`) over all its objects and gives what it wrote, cut after
    /// 8 MiB.
    pub fn iterate(&mut self, name: &'static str) -> Result<Vec<u8>, IteratorError> {
        if !self.runs(name) {
            return Err(IteratorError::Missing(name));
        }
        let program = self.program_mut(name).ok_or(IteratorError::Missing(name))?;
        let program: &mut Iter = program.try_into()?;
        // A link can be opened once: each walk takes a new one.
        let id = program.attach()?;
        let mut file = program.take_link(id)?.into_file()?;
        let mut written = Vec::new();
        while written.len() < LONGEST {
            let end = written.len();
            written.resize(end + CHUNK, 0);
            let read = file.read(&mut written[end..]);
            written.truncate(end + read.as_ref().map_or(0, |read| *read));
            match read {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(written)
    }
}
