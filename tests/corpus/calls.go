// main -> outer -> inner -> spin, for as many seconds as the first argument says.
package main

import (
	"os"
	"strconv"
	"sync/atomic"
	"time"
)

var ended atomic.Bool
var sink uint64

// Calls nothing, so that it has no frame of its own.
//
//go:noinline
func spin(value uint64) uint64 {
	for !ended.Load() {
		for round := 0; round < 1000; round++ {
			value = value*2862933555777941757 + 3037000493
		}
	}
	return value
}

//go:noinline
func inner(value uint64) uint64 {
	return spin(value) + 1
}

//go:noinline
func outer(value uint64) uint64 {
	return inner(value) * 3
}

func main() {
	seconds := 1
	if len(os.Args) > 1 {
		seconds, _ = strconv.Atoi(os.Args[1])
	}
	time.AfterFunc(time.Duration(seconds)*time.Second, func() { ended.Store(true) })
	sink = outer(1)
}
