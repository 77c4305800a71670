/* What every program of the corpus does at the innermost call: run until the seconds of its first argument
 * are over. The end comes by a signal, so that the loop itself calls nothing and is the leaf of every sample. */
#ifndef SPIN_H
#define SPIN_H
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Neither inlined nor cloned nor called by another convention: one symbol, one frame. */
#define OWN_FRAME __attribute__((noipa, used))
/* Behind a call: keeps it from becoming a jump, which would take the caller off the stack. */
#define STAY __asm__ volatile("" ::: "memory")

/* Hidden, so that a library's loop reads it as a program's does. */
__attribute__((visibility("hidden"))) volatile sig_atomic_t ended;

static void end(int number)
{
    (void)number;
    ended = 1;
}

/* Ends the loop after the seconds that the first argument says; 60 at most. */
static void __attribute__((unused)) start_clock(int argc, char **argv)
{
    int seconds = argc > 1 ? atoi(argv[1]) : 1;
    signal(SIGALRM, end);
    alarm(seconds < 1 || seconds > 60 ? 1 : seconds);
}

#define SPIN_UNTIL(condition)                                   \
    do {                                                        \
        volatile unsigned long work = 1;                        \
        while (!(condition))                                    \
            for (int round = 0; round < 1000; round++)          \
                work = work * 2862933555777941757UL + 3037000493UL; \
    } while (0)

#ifdef __cplusplus
}
#endif
#endif
