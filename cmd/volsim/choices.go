package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/tools/explore"
)

// readChoices reads the value of --choices: numbers separated by commas or blanks, or a file that contains them, or - for standard input.
// args are the other arguments, which must not name standard input too.
func readChoices(in io.Reader, value string, args []string) ([]engine.Choice, error) {
	from, data := "--choices", []byte(value)
	if strings.Trim(value, "0123456789, ") != "" {
		for _, arg := range args {
			if value == "-" && arg == "-" {
				return nil, usageError{errors.New("invalid --choices -: standard input is already used for the script")}
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
