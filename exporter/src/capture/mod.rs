//! From kernel programs to windows.

mod clock;
mod focus;
mod probes;
mod reader;
mod session;
mod split;

pub use self::{
    clock::WindowClock,
    focus::FocusTarget,
    reader::{Reader, ReaderError, ReaderSettings, ReaderWindow},
    session::{Capture, CaptureError, CaptureOptions, WindowSummary},
};
