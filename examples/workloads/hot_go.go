// Command hot_go spins for SECONDS in main.hotGo, called from main.main, then prints its work.
// Usage: hot_go SECONDS
package main

import (
	"fmt"
	"os"
	"strconv"
	"time"
)

// hotGo is about a millisecond of arithmetic.
//
//go:noinline
func hotGo(n int) int {
	sum := 0
	for i := 0; i < n; i++ {
		sum += i * i % 7
	}
	return sum
}

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: hot_go SECONDS (at most 900)")
		os.Exit(2)
	}
	seconds, err := strconv.ParseFloat(os.Args[1], 64)
	if err != nil || seconds <= 0 || seconds > 900 {
		fmt.Fprintln(os.Stderr, "usage: hot_go SECONDS (at most 900)")
		os.Exit(2)
	}
	end := time.Now().Add(time.Duration(seconds * float64(time.Second)))
	total := 0
	for time.Now().Before(end) {
		total += hotGo(400_000)
	}
	fmt.Println("result", total)
}
