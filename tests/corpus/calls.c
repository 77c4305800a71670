/* main -> outer -> inner -> spin: built with every kind of frame, link and symbol table. */
#include "spin.h"

OWN_FRAME void spin(void)
{
    SPIN_UNTIL(ended);
}

OWN_FRAME int inner(int value)
{
    spin();
    STAY;
    return value + 1;
}

/* Five live values across the call: saved registers move the stack pointer by several pushes. */
OWN_FRAME int outer(int a, int b, int c, int d, int e)
{
    int result = inner(a);
    STAY;
    return result * a + b * c - d * e;
}

int main(int argc, char **argv)
{
    start_clock(argc, argv);
    return outer(argc, 2, 3, 4, 5) == 0;
}
