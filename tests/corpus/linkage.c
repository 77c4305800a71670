/* Calls a library's function through the procedure linkage table, over and over. */
#include "spin.h"

unsigned long tiny(unsigned long);

OWN_FRAME void call_often(void)
{
    volatile unsigned long value = 0;
    while (!ended)
        value = tiny(value);
}

int main(int argc, char **argv)
{
    start_clock(argc, argv);
    call_often();
    return 0;
}
