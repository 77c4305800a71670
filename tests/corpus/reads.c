/* Reads from the kernel in a loop: kernel frames above `read` above two functions of ours. */
#include "spin.h"
#include <fcntl.h>

OWN_FRAME void inner(void)
{
    static char bytes[4096];
    int file = open("/dev/zero", O_RDONLY);
    while (!ended)
        if (read(file, bytes, sizeof bytes) < 0)
            return;
    close(file);
}

OWN_FRAME void outer(void)
{
    inner();
    STAY;
}

int main(int argc, char **argv)
{
    start_clock(argc, argv);
    outer();
    return 0;
}
