package browser

import (
	"context"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/internal/tools/picture"
	"github.com/volsim/volsim/trace"
)

var shots = flag.String("shots", "", "save screenshots in this folder")

// patience is the time limit of a test.
const patience = 2 * time.Minute

// tab is a picture that is open in the browser.
type tab struct {
	t   *testing.T
	ctx context.Context
	run picture.Run
}

// open draws a run and opens the picture. The test fails if the page writes to the console.
func open(t *testing.T, sample func() (picture.Run, error)) *tab {
	t.Helper()
	run, err := sample()
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "picture.html")
	f, err := os.Create(file)
	require.NoError(t, err)
	require.NoError(t, picture.Write(f, run))
	require.NoError(t, f.Close())

	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.ExecPath(browser(t)),
		chromedp.WSURLReadTimeout(patience))
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, patience)
	t.Cleanup(cancel)
	p := &tab{t: t, ctx: ctx, run: run}
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
	p.do(chromedp.Navigate((&url.URL{Scheme: "file", Path: file}).String()))
	require.Equal(t, 0, eval[int](p, `performance.getEntriesByType("resource").length`), "nothing else is loaded")
	return p
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
	value, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](expression))
	require.NoError(p.t, err, expression)
	return value
}

// startup returns the number of entries at the beginning that only start components. The page hides them.
func (p *tab) startup() int {
	n := 0
	for e := range p.run.Trace.Entries() {
		if e.Type != trace.Started {
			break
		}
		n++
	}
	return n
}

// drawn waits until the page has drawn everything that was due.
func (p *tab) drawn() {
	p.t.Helper()
	_, err := chromedp.Run(p.ctx, chromedp.Evaluate[any](`picture.drawn().then(() => null)`, chromedp.EvalAwaitPromise))
	require.NoError(p.t, err, "the page does not finish drawing")
}

// text waits until the page is drawn and returns the visible text of an element, "" if it is hidden.
func (p *tab) text(selector string) string {
	p.t.Helper()
	p.drawn()
	return eval[string](p, fmt.Sprintf(`document.querySelector(%q)?.innerText ?? "(no element)"`, selector))
}

// click clicks on an element.
func (p *tab) click(selector string) {
	p.t.Helper()
	p.do(chromedp.Click(selector))
}

// press presses keys, with Shift if asked.
func (p *tab) press(keys string, options ...chromedp.KeyOption) {
	p.t.Helper()
	p.do(chromedp.KeyEvent(keys, options...))
}

// filter types into the field that filters by object.
func (p *tab) filter(words string) {
	p.t.Helper()
	p.press("/")
	require.Equal(p.t, "objects", eval[string](p, `document.activeElement.id`), "the key / leads to the field")
	eval[any](p, `void (document.activeElement.value = "")`)
	p.press(words)
}

// shown is the state that the page reports: numbers of lanes and steps shown, of marks and bars drawn, and what is selected.
type shown struct {
	Lanes, Steps, Step, Lane, Drawn int
	Linear                          bool
	View                            struct{ From, To float64 }
}

// shown waits until the page is drawn and returns what it shows.
func (p *tab) shown() shown {
	p.t.Helper()
	p.drawn()
	return eval[shown](p, `picture.shown()`)
}

type place struct {
	X, Y  float64
	Steps int // the number of steps that the mark stands for
}

// where waits until the page is drawn and returns the position of a step's mark on the screen.
func (p *tab) where(step int) place {
	p.t.Helper()
	p.drawn()
	at := eval[*place](p, fmt.Sprintf(`picture.where(%d)`, step))
	require.NotNil(p.t, at, "step %d is not on the screen", step)
	return *at
}

// find returns the first step with a lane whose entry e meets the condition. e.pause is the time since the entry before, in nanoseconds.
func (p *tab) find(condition string) int {
	p.t.Helper()
	step := eval[int](p, fmt.Sprintf(`(() => {
		const d = JSON.parse(document.getElementById("data").textContent), x = d.entries, text = (n) => (n < 0 ? "" : d.texts[n]);
		return x.type.findIndex((type, i) => {
			const e = { type, pause: x.time[i], rule: x.rule[i] < 0 ? "" : d.rules[x.rule[i]].id, head: text(x.head[i]), text: text(x.text[i]), lane: x.lane[i] < 0 ? "" : d.lanes[x.lane[i]].kind + " " + d.lanes[x.lane[i]].name };
			return e.lane !== "" && (%s);
		});
	})()`, condition))
	require.GreaterOrEqual(p.t, step, 0, "no step with %s", condition)
	return step
}

// shoot saves a screenshot if the flag asks for it.
func (p *tab) shoot(name string) {
	p.t.Helper()
	if *shots == "" {
		return
	}
	p.shown()
	image, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	require.NoError(p.t, err)
	require.NoError(p.t, os.MkdirAll(*shots, 0o755))
	require.NoError(p.t, os.WriteFile(filepath.Join(*shots, name+".png"), image, 0o644))
}

func itoa(n int) string { return fmt.Sprint(n) }
