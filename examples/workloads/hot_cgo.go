// Command hot_cgo spins for SECONDS by turns in C, called from Go, and in Go, called from C.
// Usage: hot_cgo SECONDS
package main

/*
static volatile unsigned long turns;
static __attribute__((noinline)) void turnInC(int times) {
	for (int i = 0; i < times; i++) turns++;
}
extern void goBack(int);
static __attribute__((noinline)) void callBack(int times) { goBack(times); turns++; }
*/
import "C"

import (
	"fmt"
	"os"
	"strconv"
	"time"
)

var sum int

//export goBack
func goBack(times C.int) { turnInGo(int(times)) }

//go:noinline
func turnInGo(times int) {
	for i := 0; i < times; i++ {
		sum += i % 7
	}
}

func main() {
	seconds := 0.0
	if len(os.Args) == 2 {
		seconds, _ = strconv.ParseFloat(os.Args[1], 64)
	}
	if seconds <= 0 || seconds > 900 {
		fmt.Fprintln(os.Stderr, "usage: hot_cgo SECONDS (at most 900)")
		os.Exit(2)
	}
	end := time.Now().Add(time.Duration(seconds * float64(time.Second)))
	for time.Now().Before(end) {
		C.turnInC(400_000)
		C.callBack(400_000)
	}
	fmt.Println("result", sum)
}
