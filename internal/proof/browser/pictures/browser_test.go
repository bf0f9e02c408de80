package pictures

import (
	"flag"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/internal/proof/browser/page"
	"github.com/volsim/volsim/internal/tools/picture"
	"github.com/volsim/volsim/trace"
)

var shots = flag.String("shots", "", "save screenshots in this folder")

// patience is the time limit of a test.
const patience = 2 * time.Minute

// tab is a picture that is open in the browser.
type tab struct {
	*page.Page
	run picture.Run
}

// open draws a run and opens the picture.
func open(t *testing.T, sample func() (picture.Run, error)) *tab {
	t.Helper()
	run, err := sample()
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "picture.html")
	f, err := os.Create(file)
	require.NoError(t, err)
	require.NoError(t, picture.Write(f, run))
	require.NoError(t, f.Close())

	p := &tab{Page: page.Open(t, (&url.URL{Scheme: "file", Path: file}).String(), patience), run: run}
	require.Equal(t, 0, page.Eval[int](p.Page, `performance.getEntriesByType("resource").length`), "nothing else is loaded")
	return p
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
	p.T.Helper()
	page.Eval[any](p.Page, `picture.drawn().then(() => null)`)
}

// text waits until the page is drawn and returns the visible text of an element, "" if it is hidden.
func (p *tab) text(selector string) string {
	p.T.Helper()
	p.drawn()
	return p.Text(selector)
}

// click clicks on an element.
func (p *tab) click(selector string) {
	p.T.Helper()
	p.Do(chromedp.Click(selector))
}

// press presses keys, with Shift if asked.
func (p *tab) press(keys string, options ...chromedp.KeyOption) {
	p.T.Helper()
	p.Do(chromedp.KeyEvent(keys, options...))
}

// filter types into the field that filters by object.
func (p *tab) filter(words string) {
	p.T.Helper()
	p.press("/")
	require.Equal(p.T, "objects", page.Eval[string](p.Page, `document.activeElement.id`), "the key / leads to the field")
	page.Eval[any](p.Page, `void (document.activeElement.value = "")`)
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
	p.T.Helper()
	p.drawn()
	return page.Eval[shown](p.Page, `picture.shown()`)
}

type place struct {
	X, Y  float64
	Steps int // the number of steps that the mark stands for
}

// where waits until the page is drawn and returns the position of a step's mark on the screen.
func (p *tab) where(step int) place {
	p.T.Helper()
	p.drawn()
	at := page.Eval[*place](p.Page, fmt.Sprintf(`picture.where(%d)`, step))
	require.NotNil(p.T, at, "step %d is not on the screen", step)
	return *at
}

// find returns the first step with a lane whose entry e meets the condition. e.pause is the time since the entry before, in nanoseconds.
func (p *tab) find(condition string) int {
	p.T.Helper()
	step := page.Eval[int](p.Page, fmt.Sprintf(`(() => {
		const d = JSON.parse(document.getElementById("data").textContent), x = d.entries, text = (n) => (n < 0 ? "" : d.texts[n]);
		return x.type.findIndex((type, i) => {
			const e = { type, pause: x.time[i], rule: x.rule[i] < 0 ? "" : d.rules[x.rule[i]].id, head: text(x.head[i]), text: text(x.text[i]), lane: x.lane[i] < 0 ? "" : d.lanes[x.lane[i]].kind + " " + d.lanes[x.lane[i]].name };
			return e.lane !== "" && (%s);
		});
	})()`, condition))
	require.GreaterOrEqual(p.T, step, 0, "no step with %s", condition)
	return step
}

// shoot waits until the page is drawn and saves a screenshot if the flag asks for it.
func (p *tab) shoot(name string) {
	p.T.Helper()
	p.drawn()
	p.Shoot(*shots, name)
}

func itoa(n int) string { return fmt.Sprint(n) }
