package backends_test

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/storage"
)

type brittle struct{ values map[string]int }

func (b *brittle) Touch(key string) { b.values[key]++ }

func deep(n int) int {
	if n == 0 {
		panic("deep down")
	}
	return deep(n-1) + 1
}

func TestSafely(t *testing.T) {
	sentinel := errors.New("sentinel")
	for _, tt := range []struct {
		name  string
		call  func() error
		text  string // "" is no error
		stack []string
	}{
		{name: "success", call: func() error { return nil }},
		{name: "an error is returned", call: func() error { return sentinel }, text: "sentinel"},
		{name: "a panic is an error", call: func() error { panic("oh") }, text: "backend disk: Create panicked: oh",
			stack: []string{"backends_test.TestSafely.func"}},
		{name: "a nil map", call: func() error { (&brittle{}).Touch("a"); return nil },
			text:  "backend disk: Create panicked: assignment to entry in nil map",
			stack: []string{"backends_test.(*brittle).Touch guard_test.go:", "backends_test.TestSafely.func"}},
		{name: "a nil pointer", call: func() error { var b *brittle; b.Touch("a"); return nil },
			text: "backend disk: Create panicked: runtime error: invalid memory address or nil pointer dereference"},
		{name: "panic(nil)", call: func() error { panic(nil) }, text: "backend disk: Create panicked: panic called with nil argument"},
		{name: "addresses are masked", call: func() error { panic(&struct{ p *brittle }{&brittle{}}) },
			text: "backend disk: Create panicked: &{0x?}"},
		{name: "a deep stack is truncated", call: func() error { deep(200); return nil }, text: "backend disk: Create panicked: deep down",
			stack: []string{"backends_test.deep guard_test.go:", "\n..."}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := backends.Safely("disk", storage.Create, tt.call)
			// The text of a runtime error may continue; the rest depends on the version of Go.
			if got := fmt.Sprint(err); !strings.HasPrefix(got, tt.text) || tt.text == "" && err != nil {
				t.Errorf("Safely = %q, want %q", got, tt.text)
			}
			panicked, ok := errors.AsType[*backends.PanicError](err)
			if ok != strings.HasPrefix(tt.text, "backend disk") {
				t.Fatalf("Safely = %T, want a PanicError only for a panic", err)
			}
			if !ok {
				return
			}
			if varies := regexp.MustCompile(`0x[0-9a-f]{6,}|goroutine|/[a-z]+/[^ ]*\.go|runtime\.|testing\.|backends\.Safely`); varies.MatchString(panicked.Stack) {
				t.Errorf("the stack has %q:\n%s", varies.FindString(panicked.Stack), panicked.Stack)
			}
			if cut := strings.HasSuffix(panicked.Stack, "..."); cut != strings.Contains(tt.name, "deep") {
				t.Errorf("the stack does not end at the guard:\n%s", panicked.Stack)
			}
			for _, want := range tt.stack {
				if !strings.Contains(panicked.Stack, want) {
					t.Errorf("the stack does not have %q:\n%s", want, panicked.Stack)
				}
			}
		})
	}
}

func TestPanicWithErrorUnwraps(t *testing.T) {
	sentinel := errors.New("sentinel")
	if err := backends.Safely("disk", storage.Delete, func() error { panic(sentinel) }); !errors.Is(err, sentinel) ||
		storage.CodeOf(err) != storage.Internal {
		t.Errorf("Safely = %v, code %s, want the sentinel, code Internal", err, storage.CodeOf(err))
	}
}

func TestPanicTextIsDeterministic(t *testing.T) {
	var texts []string
	for range 2 {
		err := backends.Safely("disk", storage.Create, func() error { deep(3); return nil })
		panicked, _ := errors.AsType[*backends.PanicError](err)
		texts = append(texts, panicked.Error()+"\n"+panicked.Stack)
	}
	if texts[0] != texts[1] {
		t.Errorf("the same panic twice:\n%s\n\n%s", texts[0], texts[1])
	}
}
