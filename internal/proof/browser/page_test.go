package browser

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

var (
	shots = flag.String("shots", "", "save screenshots in this folder")
	dist  = flag.String("dist", "", "test the playground in this folder instead of building it")
)

// patience is the time limit of a test.
const patience = 5 * time.Minute

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(buildAndRun(m))
}

// buildAndRun builds the playground once for all tests.
func buildAndRun(m *testing.M) int {
	if *dist == "" {
		dir, err := os.MkdirTemp("", "playground-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		cmd := exec.Command("go", "run", "-C", "../../../web", ".", dir)
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		if err := cmd.Run(); err != nil {
			fmt.Fprintln(os.Stderr, "build the playground:", err)
			return 1
		}
		*dist = dir
	}
	return m.Run()
}

// tab is the playground, open in the browser.
type tab struct {
	t      *testing.T
	ctx    context.Context
	server *httptest.Server
}

// open opens the playground with a fragment. The test fails if the page writes to the console.
func open(t *testing.T, fragment string) *tab {
	t.Helper()
	server := httptest.NewServer(http.FileServer(http.Dir(*dist)))
	t.Cleanup(server.Close)
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.ExecPath(browser(t)),
		chromedp.WSURLReadTimeout(patience))
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, patience)
	t.Cleanup(cancel)
	p := &tab{t: t, ctx: ctx, server: server}
	p.do(chromedp.EmulateViewport(1440, 900))
	listening, stop := context.WithCancel(ctx)
	console := chromedp.Console(listening)
	var complaints []string
	done := make(chan struct{})
	go func() {
		defer close(done)
		for m, err := range console {
			if err != nil {
				return
			}
			complaints = append(complaints, m.String())
		}
	}()
	t.Cleanup(func() {
		stop()
		<-done
		require.Empty(t, complaints, "the page complains")
	})
	p.do(chromedp.Navigate(server.URL + "/" + fragment))
	p.ready()
	return p
}

// ready waits for the first picture.
func (p *tab) ready() {
	p.t.Helper()
	require.Eventually(p.t, func() bool { return eval[bool](p, `!!window.playground && playground.firstPicture > 0`) }, patience,
		50*time.Millisecond, "the page shows no picture")
}

// browser returns the path of Chromium.
func browser(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatal("Chromium is not installed; run scripts/install-chromium")
	return ""
}

func (p *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	require.NoError(p.t, chromedp.Do(p.ctx, steps...))
}

// eval returns the value of an expression in the page.
func eval[T any](p *tab, expression string) T {
	p.t.Helper()
	value, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	require.NoError(p.t, err, expression)
	return value
}

// idle waits until the page has done everything that was asked.
func (p *tab) idle() {
	p.t.Helper()
	eval[any](p, `playground.idle().then(() => null)`)
}

// click clicks a button and waits until the page is idle.
func (p *tab) click(selector string) {
	p.t.Helper()
	eval[any](p, fmt.Sprintf(`void document.querySelector(%q).click()`, selector))
	p.idle()
}

// text returns the visible text of an element.
func (p *tab) text(selector string) string {
	p.t.Helper()
	p.idle()
	return eval[string](p, fmt.Sprintf(`document.querySelector(%q)?.innerText ?? "(no element)"`, selector))
}

// state is what the page shows.
type state struct {
	Active   string
	Futures  []string
	Tick     int
	End      int
	Text     string
	Failures []struct {
		Line int
		Text string
	}
}

func (p *tab) state() state {
	p.t.Helper()
	p.idle()
	return eval[state](p, `playground.state()`)
}

// write replaces the text of the editor as if it was typed, and waits for the run.
func (p *tab) write(text string) {
	p.t.Helper()
	data, err := json.Marshal(text)
	require.NoError(p.t, err)
	eval[any](p, fmt.Sprintf(`(() => { const v = playground.editor.view; v.dispatch({ changes: { from: 0, to: v.state.doc.length, insert: %s } }); })()`, data))
	time.Sleep(500 * time.Millisecond) // the page waits until typing pauses
	p.idle()
}

// shoot saves a screenshot if the flag asks for it.
func (p *tab) shoot(name string) {
	p.t.Helper()
	if *shots == "" {
		return
	}
	p.idle()
	image, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	require.NoError(p.t, err)
	require.NoError(p.t, os.MkdirAll(*shots, 0o755))
	require.NoError(p.t, os.WriteFile(filepath.Join(*shots, name+".png"), image, 0o644))
}
