//go:build !js

package kubectl

import (
	"io"
	"strings"
	"unicode/utf8"
)

// Following returns a function for Options.Write that writes tables below one another, as `kubectl get --watch` does: a column keeps the width
// that it has had, and event, unless it is nil, adds the column EVENT.
func Following(event func() string) func(io.Writer, [][]string) error {
	var widths []int
	return func(w io.Writer, lines [][]string) error {
		const narrowest, padding = 6, 3
		for i, cells := range lines {
			if event == nil {
				break
			}
			lines[i] = append([]string{event()}, cells...)
		}
		for _, cells := range lines {
			for len(widths) < len(cells) {
				widths = append(widths, narrowest)
			}
			for i, cell := range cells[:len(cells)-1] {
				widths[i] = max(widths[i], utf8.RuneCountInString(cell)+padding)
			}
		}
		for _, cells := range lines {
			var line strings.Builder
			for i, cell := range cells {
				line.WriteString(cell)
				if i < len(cells)-1 {
					line.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)))
				}
			}
			if _, err := io.WriteString(w, line.String()+"\n"); err != nil {
				return err
			}
		}
		return nil
	}
}
