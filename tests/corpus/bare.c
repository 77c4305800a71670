/* Calls the functions of bare.s; its own frame pointer is what the walk goes on with. */
#include "spin.h"

void bare_outer(volatile sig_atomic_t *stop);

OWN_FRAME void enter(void)
{
    bare_outer(&ended);
    STAY;
}

int main(int argc, char **argv)
{
    start_clock(argc, argv);
    enter();
    return 0;
}
