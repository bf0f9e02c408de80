// Package page opens pages in Chromium, headless, for the tests of the playground and of pictures. scripts/install-chromium installs a
// browser; without one the tests fail.
package page

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// Page is a page that is open in a browser of its own.
type Page struct {
	T   *testing.T
	Ctx context.Context // the window, for chromedp
}

// Open opens the page at a URL, in a window of 1440 × 900. The test fails if the page writes to the console, or if it takes longer than
// the limit in all.
func Open(t *testing.T, url string, limit time.Duration) *Page {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	p := &Page{T: t, Ctx: start(t, ctx)}
	p.failOnConsole()
	p.Do(chromedp.Navigate(url))
	return p
}

// starts is the number of times that a browser is started if it fails before it has a window: on a busy machine Chromium crashes then,
// about once in several hundred starts. What the page does is not tried again.
const starts = 3

// start starts a browser with an empty window.
func start(t *testing.T, ctx context.Context) context.Context {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.ExecPath(chromium(t)),
		chromedp.WSURLReadTimeout(time.Minute))
	for n := 1; ; n++ {
		started, stop := chromedp.NewExecAllocator(ctx, options...)
		window, closeWindow := chromedp.NewContext(started)
		err := chromedp.Do(window, chromedp.EmulateViewport(1440, 900))
		if err == nil {
			t.Cleanup(stop)
			t.Cleanup(closeWindow)
			return window
		}
		closeWindow()
		stop()
		if n == starts {
			require.NoError(t, err, "Chromium does not start, in %d attempts", starts)
		}
		t.Logf("start Chromium again: %v", err)
	}
}

// chromium returns the path of Chromium.
func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatal("Chromium is not installed; run scripts/install-chromium")
	return ""
}

// failOnConsole makes the test fail at its end if the page writes to the console.
func (p *Page) failOnConsole() {
	listening, stop := context.WithCancel(p.Ctx)
	console := chromedp.Console(listening)
	var messages []string
	done := make(chan struct{})
	go func() {
		defer close(done)
		for m, err := range console {
			if err != nil {
				return
			}
			messages = append(messages, m.String())
		}
	}()
	p.T.Cleanup(func() {
		stop()
		<-done
		require.Empty(p.T, messages, "the page writes to the console")
	})
}

// Do takes steps in the page.
func (p *Page) Do(steps ...chromedp.Action[chromedp.Void]) {
	p.T.Helper()
	require.NoError(p.T, chromedp.Do(p.Ctx, steps...))
}

// Eval returns the value of an expression in the page. It waits for a promise.
func Eval[T any](p *Page, expression string) T {
	p.T.Helper()
	value, err := chromedp.Run(p.Ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	require.NoError(p.T, err, expression)
	return value
}

// Text returns the visible text of an element, "" if it is hidden.
func (p *Page) Text(selector string) string {
	p.T.Helper()
	return Eval[string](p, fmt.Sprintf(`document.querySelector(%q)?.innerText ?? "(no element)"`, selector))
}

// Shoot saves a screenshot as dir/name.png, unless dir is empty.
func (p *Page) Shoot(dir, name string) {
	p.T.Helper()
	if dir == "" {
		return
	}
	image, err := chromedp.Run(p.Ctx, chromedp.CaptureScreenshot())
	require.NoError(p.T, err)
	require.NoError(p.T, os.MkdirAll(dir, 0o755))
	require.NoError(p.T, os.WriteFile(filepath.Join(dir, name+".png"), image, 0o644))
}
