# Written by hand, without a word of unwind information and with the frame pointer used for something else.
    .text
    .globl frameless
    .type frameless, @function
frameless:
    push %rbp
    push %rbx
    sub $40, %rsp
    mov $7, %ebp
    call *%rdi
    add $40, %rsp
    pop %rbx
    pop %rbp
    ret
    .size frameless, . - frameless
    .section .note.GNU-stack, "", @progbits
