/* Calls a function that neither says how its caller is found nor keeps the frame pointer. */
#include "spin.h"

void frameless(void (*back)(void));

OWN_FRAME void spin(void)
{
    SPIN_UNTIL(ended);
}

OWN_FRAME void enter(void)
{
    frameless(spin);
    STAY;
}

int main(int argc, char **argv)
{
    start_clock(argc, argv);
    enter();
    STAY;
    return 0;
}
