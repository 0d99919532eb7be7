package main

import (
	"context"
	"errors"
	"time"

	"github.com/loomwork/loom"
)

// Order is what the flow gets.
type Order struct {
	Item, Address, Card, Email string
	Cents                      int
}

// Receipt is what it returns.
type Receipt struct {
	Payment, Parcel string
	Mailed          bool // false if nobody knows whether the mail went out
}

// Services are what an order needs of others. A key is the same whenever a call is made
// again; all of them but Charge and Mail do nothing for a key that they have seen.
type Services interface {
	Reserve(ctx context.Context, key, item string) (reservation string, err error)
	Release(ctx context.Context, key, reservation string) error
	Charge(ctx context.Context, key, card string, cents int) (payment string, err error)
	// FindCharge returns the payment that was made under a key, "" for none.
	FindCharge(ctx context.Context, key string) (payment string, err error)
	Refund(ctx context.Context, key, payment string) error
	Ship(ctx context.Context, key, item, address string) (parcel string, err error)
	Mail(ctx context.Context, to, text string) error
	// Unlock lets the customer change the basket again, which the shop locked when it
	// took the order.
	Unlock(ctx context.Context, key, email string) error
}

// ErrNoCourier is final: nobody goes there.
const ErrNoCourier = loom.Code("no_courier")

// NewCheckout returns the flow over the services.
func NewCheckout(s Services) *loom.Flow[Order, Receipt] {
	patient := loom.Retry{Attempts: 20, Initial: time.Second, Max: time.Minute}

	return loom.NewFlow("checkout", func(ctx loom.Context, in Order) (r Receipt, err error) {
		// However this ends, the basket is unlocked.
		err = loom.Cleanup(ctx, "basket", func(ctx loom.Context) error {
			return do(ctx, "unlock", func(ctx context.Context) error {
				return s.Unlock(ctx, loom.IdempotencyKey(ctx), in.Email)
			}, patient)
		})
		if err != nil {
			return r, err
		}

		// Each step that can be taken back says how, right behind it. If the body fails, the
		// last is taken back first.
		reservation, err := loom.Do(ctx, "reserve", func(ctx context.Context) (string, error) {
			return s.Reserve(ctx, loom.IdempotencyKey(ctx), in.Item)
		}, patient)
		if err != nil {
			return r, err
		}
		err = loom.Compensate(ctx, "release", func(ctx context.Context) error {
			return s.Release(ctx, loom.IdempotencyKey(ctx), reservation)
		}, patient)
		if err != nil {
			return r, err
		}

		// This bank would charge twice if it was asked twice. After a crash it is asked what
		// came of the first call.
		r.Payment, err = loom.Do(ctx, "charge", func(ctx context.Context) (string, error) {
			return s.Charge(ctx, loom.IdempotencyKey(ctx), in.Card, in.Cents)
		}, loom.Args(in.Cents), loom.Verify(func(ctx context.Context) (string, loom.Verdict, error) {
			payment, err := s.FindCharge(ctx, loom.IdempotencyKey(ctx))
			if err != nil || payment == "" {
				return "", loom.NotDone, err
			}
			return payment, loom.Done, nil
		}))
		if err != nil {
			return r, err
		}
		err = loom.Compensate(ctx, "refund", func(ctx context.Context) error {
			return s.Refund(ctx, loom.IdempotencyKey(ctx), r.Payment)
		}, patient)
		if err != nil {
			return r, err
		}

		r.Parcel, err = loom.Do(ctx, "ship", func(ctx context.Context) (string, error) {
			parcel, err := s.Ship(ctx, loom.IdempotencyKey(ctx), in.Item, in.Address)
			if errors.Is(err, ErrNoCourier) {
				err = loom.Permanent(err) // another attempt would not help
			}
			return parcel, err
		}, patient)
		if err != nil {
			return r, err
		}

		// A mail that comes twice is worse than none.
		err = do(ctx, "mail", func(ctx context.Context) error {
			return s.Mail(ctx, in.Email, "your "+in.Item+" is on its way")
		}, loom.AtMostOnce())
		switch {
		case err == nil:
			r.Mailed = true
		case errors.Is(err, loom.ErrCancelled):
			return r, err
		default: // the order does not fail for a mail
			loom.Logger(ctx).Warn("no mail, or nobody knows", "to", in.Email, "error", err)
		}
		return r, nil
	})
}

// do is a step without a result.
func do(ctx loom.Context, name string, fn func(ctx context.Context) error, opts ...loom.StepOption) error {
	_, err := loom.Do(ctx, name, func(ctx context.Context) (struct{}, error) { return struct{}{}, fn(ctx) }, opts...)
	return err
}
