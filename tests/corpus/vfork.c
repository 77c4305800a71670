/* A child of vfork runs in its parent's memory, on its parent's stack, under a process id of its own. */
#define _GNU_SOURCE
#include "spin.h"
#include <sys/wait.h>

OWN_FRAME void spin(void)
{
    SPIN_UNTIL(ended);
}

OWN_FRAME void child(void)
{
    spin();
    STAY;
}

int main(int argc, char **argv)
{
    pid_t process = vfork();
    if (process == 0) {
        /* Alarms are of a process: the child needs its own. */
        start_clock(argc, argv);
        child();
        _exit(0);
    }
    return process < 0 || waitpid(process, NULL, 0) < 0;
}
