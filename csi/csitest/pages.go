package csitest

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// maxListed is the number of pages after which a list ends, maxEmpty that of successive pages without an entry.
const (
	maxListed = 100000
	maxEmpty  = 1000
)

// errEndless is the error for pages that do not end.
var errEndless = errors.New("the list does not end")

// pages returns the entries of all pages of a list, within a real time. page asks for the page with a token.
func pages[E any](limit time.Duration, page func(ctx context.Context, token string) (entries []E, next string, err error)) ([]E, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	type result struct {
		entries []E
		err     error
	}
	done := make(chan result, 1)
	// A driver in the same process need not return when ctx ends.
	go func() {
		entries, err := allPages(ctx, page)
		done <- result{entries, err}
	}()
	select {
	case all := <-done:
		return all.entries, all.err
	case <-ctx.Done():
		return nil, fmt.Errorf("the driver did not reply within %v of real time", limit)
	}
}

func allPages[E any](ctx context.Context, page func(ctx context.Context, token string) ([]E, string, error)) ([]E, error) {
	var all []E
	token, tokens, empty := "", map[string]bool{}, 0
	for range maxListed {
		entries, next, err := page(ctx, token)
		if err != nil {
			return nil, err
		}
		all = append(all, entries...)
		if empty++; len(entries) > 0 {
			empty = 0
		}
		switch token = next; {
		case token == "":
			return all, nil
		case tokens[token]:
			return nil, fmt.Errorf("%w: next_token %q is returned twice", errEndless, token)
		case empty == maxEmpty:
			return nil, fmt.Errorf("%w: %d successive pages have no entry", errEndless, maxEmpty)
		case ctx.Err() != nil:
			return nil, ctx.Err()
		}
		tokens[token] = true
	}
	return nil, fmt.Errorf("%w: there are more than %d pages", errEndless, maxListed)
}
