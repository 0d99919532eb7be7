package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
)

// Request is the body of a call. The answer to status 200 is a [Reply]; one to status 422,
// a refusal, has its Cents.
type Request struct {
	Model string
	Limit int // cents
	Talk  []Message
}

// A client is a [Model] behind a web server.
type client struct {
	url  string
	http *http.Client
}

// Ask implements [Model]. Any status but 200 and 422 is an error that another attempt may
// not meet.
func (c client) Ask(ctx context.Context, key, model string, limit int, talk []Message) (r Reply, err error) {
	body, err := json.Marshal(Request{model, limit, talk})
	if err != nil {
		return r, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return r, err
	}
	req.Header.Set("Idempotency-Key", key)
	res, err := c.http.Do(req)
	if err != nil {
		return r, err
	}
	defer res.Body.Close()
	switch res.StatusCode {
	case http.StatusOK:
		return r, json.NewDecoder(res.Body).Decode(&r)
	case http.StatusUnprocessableEntity:
		if err := json.NewDecoder(res.Body).Decode(&r); err != nil {
			return r, err
		}
		return r, &Refusal{model, r.Cents}
	}
	return r, fmt.Errorf("the model's server says %s", res.Status)
}
