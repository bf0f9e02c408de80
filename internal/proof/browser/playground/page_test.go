package playground

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/internal/proof/browser/page"
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
		cmd := exec.Command("go", "run", "-C", "../../../../web", ".", dir)
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
	*page.Page
	server *httptest.Server
}

// open opens the playground with a fragment, and waits for the first picture.
func open(t *testing.T, fragment string) *tab {
	t.Helper()
	server := httptest.NewServer(http.FileServer(http.Dir(*dist)))
	t.Cleanup(server.Close)
	p := &tab{Page: page.Open(t, server.URL+"/"+fragment, patience), server: server}
	p.ready()
	return p
}

// ready waits for the first picture.
func (p *tab) ready() {
	p.T.Helper()
	require.Eventually(p.T, func() bool { return page.Eval[bool](p.Page, `!!window.playground && playground.firstPicture > 0`) }, patience,
		50*time.Millisecond, "the page shows no picture")
}

// idle waits until the page has done everything that was asked.
func (p *tab) idle() {
	p.T.Helper()
	page.Eval[any](p.Page, `playground.idle().then(() => null)`)
}

// click clicks a button and waits until the page is idle.
func (p *tab) click(selector string) {
	p.T.Helper()
	page.Eval[any](p.Page, fmt.Sprintf(`void document.querySelector(%q).click()`, selector))
	p.idle()
}

// text waits until the page is idle and returns the visible text of an element, "" if it is hidden.
func (p *tab) text(selector string) string {
	p.T.Helper()
	p.idle()
	return p.Text(selector)
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
	p.T.Helper()
	p.idle()
	return page.Eval[state](p.Page, `playground.state()`)
}

// write replaces the text of the editor as if it was typed, and waits for the run.
func (p *tab) write(text string) {
	p.T.Helper()
	data, err := json.Marshal(text)
	require.NoError(p.T, err)
	page.Eval[any](p.Page, fmt.Sprintf(`(() => { const v = playground.editor.view; v.dispatch({ changes: { from: 0, to: v.state.doc.length, insert: %s } }); })()`, data))
	time.Sleep(500 * time.Millisecond) // the page waits until typing pauses
	p.idle()
}

// shoot waits until the page is idle and saves a screenshot if the flag asks for it.
func (p *tab) shoot(name string) {
	p.T.Helper()
	p.idle()
	p.Shoot(*shots, name)
}
