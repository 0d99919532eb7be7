package storetest_test

import (
	"context"
	"fmt"

	"github.com/loomwork/loom/store"
	"github.com/loomwork/loom/store/storetest"
)

// A store can be checked without package testing, as a command would.
func ExampleCheck() {
	open := opener(store.Level23, nil) // an empty store, on a clock that can be moved
	err := storetest.Check(context.Background(), open, storetest.Claim{SPI: "2.3.0"})
	fmt.Println("kept:", err == nil)

	err = storetest.Check(context.Background(), open, storetest.Claim{SPI: "2.4.0"})
	fmt.Println(err)
	// Output:
	// kept: true
	// store: "2.4.0" is not a level of this SPI
}
