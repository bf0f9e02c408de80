package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/tools/explore"
)

// readChoices reads what a flag --choices names: the numbers themselves, with commas or blanks between, or a file of them, or - for the
// standard input, which must not be read twice.
func readChoices(in io.Reader, value string, args []string) ([]engine.Choice, error) {
	from, data := "--choices", []byte(value)
	if strings.Trim(value, "0123456789, ") != "" {
		for _, arg := range args {
			if value == "-" && arg == "-" {
				return nil, usageError{errors.New("--choices - and -: the standard input cannot be both")}
			}
		}
		var err error
		if from, data, err = readInput(in, value); err != nil {
			return nil, err
		}
	}
	choices, err := explore.ReadChoices(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", from, err)
	}
	return choices, nil
}
