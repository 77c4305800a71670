/* A library that is loaded into a running program, and spins until the program's flag is set. */
#include "spin.h"

OWN_FRAME void plugin_spin(volatile sig_atomic_t *stop)
{
    SPIN_UNTIL(*stop);
}

OWN_FRAME void plugin_enter(volatile sig_atomic_t *stop)
{
    plugin_spin(stop);
    STAY;
}
