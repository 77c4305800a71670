# Functions written by hand: frame pointers, but not a word of unwind information.
    .text
    .globl bare_spin
    .type bare_spin, @function
bare_spin:
    push %rbp
    mov %rsp, %rbp
1:  mov $1000, %ecx
2:  imul $31, %rax, %rax
    dec %ecx
    jnz 2b
    cmpl $0, (%rdi)
    je 1b
    pop %rbp
    ret
    .size bare_spin, . - bare_spin

    .globl bare_outer
    .type bare_outer, @function
bare_outer:
    push %rbp
    mov %rsp, %rbp
    call bare_spin
    pop %rbp
    ret
    .size bare_outer, . - bare_outer
    .section .note.GNU-stack, "", @progbits
