// Names with parameters, of templates, in an unnamed namespace and of a function object.
#include "spin.h"

namespace shapes {
namespace {

template <typename Number> struct Box {
    Number number;
    OWN_FRAME void apply(Number by)
    {
        number += by;
        SPIN_UNTIL(ended);
    }
};

template <typename Number> OWN_FRAME void visit(Box<Number> &box, Number by)
{
    box.apply(by);
    STAY;
}

} // namespace

struct Call {
    OWN_FRAME void operator()(long by) const
    {
        Box<long> box{1};
        visit(box, by);
        STAY;
    }
};

} // namespace shapes

int main(int argc, char **argv)
{
    start_clock(argc, argv);
    shapes::Call call;
    call(argc);
    return 0;
}
