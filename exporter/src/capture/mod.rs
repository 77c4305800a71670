//! From kernel programs to windows.

mod clock;
mod probes;
mod reader;
mod session;
mod split;

pub use self::{
    clock::WindowClock,
    reader::{Reader, ReaderError, ReaderSettings, ReaderWindow},
    session::{Capture, CaptureError, CaptureOptions, WindowSummary},
};
