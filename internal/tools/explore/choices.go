package explore

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"

	"github.com/volsim/volsim/internal/core/engine"
)

// FormatChoices returns choices as ReadChoices reads them: the picked indexes, joined by commas. It omits zeros at the end, because a
// replay continues in order, but writes at least one zero.
func FormatChoices(choices []engine.Choice) string {
	end := len(choices)
	for end > 0 && choices[end-1].Picked == 0 {
		end--
	}
	if end == 0 {
		return "0"
	}
	words := make([]string, end)
	for i, c := range choices[:end] {
		words[i] = strconv.Itoa(c.Picked)
	}
	return strings.Join(words, ",")
}

// ReadChoices reads the index picked at each choice: numbers from 0 on, separated by commas or white space. The result is for
// engine.Replay.
func ReadChoices(data []byte) ([]engine.Choice, error) {
	var choices []engine.Choice
	for i, word := range strings.FieldsFunc(string(data), func(r rune) bool { return r == ',' || unicode.IsSpace(r) }) {
		n, err := strconv.Atoi(word)
		if err != nil || n < 0 || n == math.MaxInt {
			return nil, fmt.Errorf("choice %d is %q: want a number from 0 on", i+1, word)
		}
		choices = append(choices, engine.Choice{N: n + 1, Picked: n})
	}
	return choices, nil
}
