package main

import (
	"context"
	"errors"
	"testing"

	"github.com/loomwork/loom"
	"github.com/loomwork/loom/loomtest"
)

// memory is a bank in memory, whose reply is lost now and then.
type memory struct {
	accounts map[string]int
	booked   map[string]bool
	calls    int
}

func (b *memory) Book(_ context.Context, key, account string, cents int) error {
	if _, ok := b.accounts[account]; !ok {
		return ErrNoAccount
	}
	if !b.booked[key] {
		b.booked[key] = true
		b.accounts[account] += cents
	}
	if b.calls++; b.calls%2 == 1 {
		return errors.New("the reply was lost")
	}
	return nil
}

// Each run gets a bank of its own; what the accounts hold in the end is compared.
func TestNoCentIsLostWhereverItDies(t *testing.T) {
	for _, to := range []string{"bob", "nobody"} {
		t.Run("to "+to, func(t *testing.T) {
			loomtest.CrashEverywhere(t, func(*loomtest.Env) *loomtest.Scenario {
				bank := &memory{accounts: map[string]int{"ann": 500, "bob": 0}, booked: map[string]bool{}}
				transfer := NewTransfer(bank)
				return &loomtest.Scenario{
					Flows: []loom.AnyFlow{transfer},
					Start: func(ctx context.Context, rt *loom.Runtime) error {
						_, err := transfer.Start(ctx, rt, Order{"ann", to, 100}, loom.ID("transfer-1"))
						return err
					},
					Outside: func() any {
						if sum := bank.accounts["ann"] + bank.accounts["bob"]; sum != 500 {
							t.Errorf("there are %d cents", sum)
						}
						return bank.accounts
					},
				}
			})
		})
	}
}
