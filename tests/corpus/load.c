/* Loads the library beside it after 100 ms of work, when its mappings have been read, and calls it. */
#include "spin.h"
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

typedef void enter_function(volatile sig_atomic_t *);

OWN_FRAME void warm_up(void)
{
    SPIN_UNTIL(clock() > CLOCKS_PER_SEC / 100);
}

OWN_FRAME void call_plugin(enter_function *enter)
{
    enter(&ended);
    STAY;
}

int main(int argc, char **argv)
{
    char path[4096];
    start_clock(argc, argv);
    warm_up();
    snprintf(path, sizeof path, "%s.so", argv[0]);
    void *library = dlopen(path, RTLD_NOW);
    enter_function *enter = library ? (enter_function *)dlsym(library, "plugin_enter") : NULL;
    if (!enter)
        return 1;
    call_plugin(enter);
    return 0;
}
