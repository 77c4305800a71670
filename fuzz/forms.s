# Source of corpus/eh_frame/forms and corpus/elf/forms:
# cc -shared -nostdlib -s -Wl,-z,noseparate-code,-z,norelro,--build-id=none
.text
.cfi_startproc
.cfi_def_cfa_offset 32
.cfi_offset rbp, -16
.skip 16, 0x90
.cfi_endproc
.cfi_startproc
.cfi_remember_state
.cfi_def_cfa r10, 0
.cfi_escape 0x0f, 0x03, 0x76, 0x78, 0x06
.skip 16, 0x90
.cfi_restore_state
.cfi_undefined rip
.skip 16, 0x90
.cfi_endproc
.cfi_startproc
.cfi_signal_frame
.cfi_escape 0x0f, 0x04, 0x77, 0xa0, 0x01, 0x06
.skip 16, 0x90
.cfi_endproc
