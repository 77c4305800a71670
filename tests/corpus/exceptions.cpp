// Throws through three functions with destructors and catches, over and over: samples are in the language's own
// unwinder and in the code that it lands in.
#include "spin.h"

namespace {

volatile int destroyed;

struct Guard {
    ~Guard() { destroyed = destroyed + 1; }
};

} // namespace

OWN_FRAME int thrower(int value)
{
    Guard guard;
    if (value > 0)
        throw value;
    return value;
}

OWN_FRAME int passing(int value)
{
    Guard guard;
    return thrower(value) + 1;
}

OWN_FRAME int catching(int value)
{
    try {
        return passing(value);
    } catch (int caught) {
        return caught;
    }
}

OWN_FRAME int repeat()
{
    int sum = 0;
    while (!ended)
        sum += catching(1);
    return sum;
}

int main(int argc, char **argv)
{
    start_clock(argc, argv);
    return repeat() == 0;
}
