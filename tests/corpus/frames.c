/* Frames that the stack pointer alone doesn't find: variable arrays, alloca, and a realigned stack, whose caller's
 * address is read from memory. */
#include "spin.h"
#include <alloca.h>
#include <string.h>

OWN_FRAME void spin(void)
{
    SPIN_UNTIL(ended);
}

OWN_FRAME int realigned(char *bytes)
{
    volatile char block[96] __attribute__((aligned(64)));
    memcpy((char *)block, bytes, 16);
    spin();
    STAY;
    return block[3] + bytes[1];
}

OWN_FRAME int allocated(size_t count)
{
    char *bytes = alloca(count);
    memset(bytes, 1, count);
    int result = realigned(bytes);
    STAY;
    return result + bytes[count - 1];
}

OWN_FRAME int variable(size_t count)
{
    char bytes[count];
    memset(bytes, 2, count);
    int result = allocated(count + 5);
    STAY;
    return result + bytes[count / 2];
}

/* As a function called with a stack of 4-byte alignment: its frame is found through a saved argument pointer. */
__attribute__((force_align_arg_pointer)) OWN_FRAME int forced(size_t count)
{
    volatile char block[64] __attribute__((aligned(64)));
    char bytes[count];
    block[0] = 1;
    bytes[count - 1] = 2;
    int result = variable(count * 3) + block[0] + bytes[count - 1];
    STAY;
    return result;
}

int main(int argc, char **argv)
{
    start_clock(argc, argv);
    return forced((size_t)argc * 40) == 0;
}
