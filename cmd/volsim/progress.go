package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// bar draws a progress bar on a terminal. Elsewhere it writes nothing.
type bar struct {
	out   io.Writer // nil if it is not a terminal
	next  time.Time
	drawn bool
}

const (
	// barDelay is the real time before the bar appears, and between two updates.
	barDelay = 300 * time.Millisecond
	barWidth = 40
)

func newBar(out io.Writer) *bar {
	b := &bar{next: time.Now().Add(barDelay)}
	if file, ok := out.(*os.File); ok {
		if info, err := file.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
			b.out = out
		}
	}
	return b
}

// show draws the bar: done of all objects are explained.
func (b *bar) show(done, all int) {
	if b.out == nil || all == 0 || time.Now().Before(b.next) {
		return
	}
	b.next, b.drawn = time.Now().Add(barDelay), true
	filled := barWidth * done / all
	fmt.Fprintf(b.out, "\r[%s%s] %d of %d objects", strings.Repeat("#", filled), strings.Repeat(".", barWidth-filled), done, all)
}

// clear removes the bar.
func (b *bar) clear() {
	if b.drawn {
		fmt.Fprint(b.out, "\r\x1b[K")
	}
}
