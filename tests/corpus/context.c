/* A stack of its own made by makecontext(3), whose outermost function is the C library's. */
#include "spin.h"
#include <ucontext.h>

static ucontext_t back, context;

OWN_FRAME void spin(void)
{
    SPIN_UNTIL(ended);
}

OWN_FRAME void coroutine(void)
{
    spin();
    STAY;
}

int main(int argc, char **argv)
{
    static char memory[65536];
    start_clock(argc, argv);
    getcontext(&context);
    context.uc_stack.ss_sp = memory;
    context.uc_stack.ss_size = sizeof memory;
    context.uc_link = &back;
    makecontext(&context, coroutine, 0);
    swapcontext(&back, &context);
    return 0;
}
