package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A desk stands for the services of a real shop. What they did is kept in files, because it
// outlives this program as it would with real ones: a line for each call, a file for each
// key.
type desk struct {
	dir   string
	stall string // the service whose replies do not come, "" for none
}

// act does something and returns its id.
func (d desk) act(ctx context.Context, service, kind, key, text string) (string, error) {
	if err := os.MkdirAll(d.dir, 0o755); err != nil {
		return "", err
	}
	id := kind + "-" + key
	f, err := os.OpenFile(filepath.Join(d.dir, id), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if _, err := fmt.Fprintln(f, text); err != nil {
		return "", err
	}
	fmt.Printf("%s: %s\n", service, text)
	if service != d.stall {
		return id, nil
	}
	fmt.Println("… and the reply does not come; kill me now")
	<-ctx.Done()
	return "", ctx.Err()
}

func (d desk) Reserve(ctx context.Context, key, item string) (string, error) {
	return d.act(ctx, "warehouse", "reservation", key, "reserved a "+item)
}

func (d desk) Release(ctx context.Context, key, reservation string) error {
	_, err := d.act(ctx, "warehouse", "release", key, "released "+short(reservation))
	return err
}

func (d desk) Charge(ctx context.Context, key, card string, cents int) (string, error) {
	return d.act(ctx, "bank", "payment", key, fmt.Sprintf("charged %d cents to card %s", cents, card))
}

func (d desk) FindCharge(_ context.Context, key string) (string, error) {
	_, err := os.Stat(filepath.Join(d.dir, "payment-"+key))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		fmt.Println("bank: no payment under that key")
		return "", nil
	case err != nil:
		return "", err
	}
	fmt.Println("bank: there is a payment under that key")
	return "payment-" + key, nil
}

func (d desk) Refund(ctx context.Context, key, payment string) error {
	_, err := d.act(ctx, "bank", "refund", key, "refunded "+short(payment))
	return err
}

func (d desk) Ship(ctx context.Context, key, item, address string) (string, error) {
	if strings.EqualFold(address, "mars") {
		fmt.Println("courier: we do not go to Mars")
		return "", ErrNoCourier
	}
	return d.act(ctx, "courier", "parcel", key, "took a "+item+" to "+address)
}

func (d desk) Mail(ctx context.Context, to, text string) error {
	_, err := d.act(ctx, "mail", "mail", fmt.Sprint(time.Now().UnixNano()), "to "+to+": "+text)
	return err
}

func (d desk) Unlock(ctx context.Context, key, email string) error {
	_, err := d.act(ctx, "basket", "unlock", key, "unlocked for "+email)
	return err
}

// short returns the beginning of an id, for people.
func short(id string) string {
	kind, key, _ := strings.Cut(id, "-")
	return kind + "-" + key[:min(4, len(key))] + "…"
}
