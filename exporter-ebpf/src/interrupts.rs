//! Hard and soft interrupts and the vectors of the CPU.
