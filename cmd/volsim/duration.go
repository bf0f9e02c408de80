package main

import (
	"time"

	"github.com/spf13/pflag"

	"github.com/volsim/volsim/internal/tools/script"
)

// durationVar defines a flag for a duration, with the errors of scripts.
func durationVar(f *pflag.FlagSet, value *time.Duration, name string, initial time.Duration, usage string) {
	*value = initial
	f.Var((*durationValue)(value), name, usage)
}

type durationValue time.Duration

func (d *durationValue) Set(text string) error {
	parsed, err := script.ParseDuration(text)
	if err == nil {
		*d = durationValue(parsed)
	}
	return err
}

// String returns "0" for zero, so that the usage shows no default.
func (d *durationValue) String() string {
	if *d == 0 {
		return "0"
	}
	return time.Duration(*d).String()
}

func (d *durationValue) Type() string { return "duration" }
