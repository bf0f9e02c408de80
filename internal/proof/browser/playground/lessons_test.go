package playground

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/internal/proof/browser/page"
	"github.com/volsim/volsim/internal/tools/script"
)

// ask sends a request to the simulator in the page.
func ask[T any](p *tab, method string, args map[string]any) T {
	p.T.Helper()
	data, err := json.Marshal(args)
	require.NoError(p.T, err)
	return page.Eval[T](p.Page, fmt.Sprintf(`playground.ask(%q, %s)`, method, data))
}

// The trace of every lesson and problem is byte-identical in the browser and in the command.
func TestTraces(t *testing.T) {
	p := open(t, "")
	var files []string
	for _, pattern := range []string{"../../../../examples/*/lesson.txtar", "../../../../problems/*.txtar"} {
		found, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, found)
		files = append(files, found...)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		loaded := ask[struct {
			State *struct{ Seed int64 }
		}](p, "load", map[string]any{"run": "trace", "text": string(text)})
		require.NotNil(t, loaded.State, file)
		got := ask[string](p, "export", map[string]any{"run": "trace", "format": "trace"})
		s, err := script.Parse(file, text)
		require.NoError(t, err)
		result, _ := script.Run(s, script.Options{Seed: &loaded.State.Seed}) // a script for another seed may fail with this one
		var want bytes.Buffer
		require.NoError(t, result.Cluster.Trace().WriteText(&want))
		result.Cluster.Close()
		require.True(t, want.String() == got, "%s: the traces differ", file)
	}
	fmt.Printf("%d traces are the same in the browser and in the command\n", len(files))
}

// Each lesson opens, its question is open, and its solution answers it.
func TestLessons(t *testing.T) {
	p := open(t, "#open=13-a-driver-that-fails")
	require.Contains(t, p.text("#lessonText"), "What to try next")
	require.Contains(t, p.state().Text, "A driver that fails")
	ids := page.Eval[[]string](p.Page, `[...document.querySelectorAll("#open option")].map((o) => o.value).filter((v) => /^\d\d-/.test(v))`)
	require.GreaterOrEqual(t, len(ids), 20)
	for _, id := range ids {
		page.Eval[any](p.Page, fmt.Sprintf(`(() => { const o = document.getElementById("open"); o.value = %q; o.onchange(); })()`, id))
		require.Empty(t, p.state().Failures, id)
		require.NotEmpty(t, p.text("#questionText"), id)
		p.click("#check")
		require.Contains(t, p.text("#checked"), "Not yet: ", id)
		p.click("#hint")
		require.Empty(t, p.state().Failures, id)
		p.click("#check")
		require.Equal(t, "Yes, that is it.", p.text("#checked"), id)
	}
}

func TestSeeds(t *testing.T) {
	p := open(t, "")
	p.click("#seeds")
	for _, wrong := range [][3]string{{"podd/web", "5", `It must also hold: podd/web: unknown command "podd/web"`}, {"", "-5", ""}} {
		page.Eval[any](p.Page, fmt.Sprintf(`(() => { document.getElementById("goal").value = %q; document.getElementById("count").value = %q; document.getElementById("found").textContent = ""; })()`, wrong[0], wrong[1]))
		p.click("#sweep")
		require.Eventually(t, func() bool { return strings.HasPrefix(p.text("#found"), wrong[2]) }, patience, 100e6, p.text("#found"))
		require.True(t, page.Eval[bool](p.Page, `document.getElementById("seedsDialog").open`))
	}
	page.Eval[any](p.Page, `(() => { document.getElementById("goal").value = "expect pod/web node=n1"; document.getElementById("count").value = 60; })()`)
	p.click("#sweep")
	require.Eventually(t, func() bool { return page.Eval[bool](p.Page, `!document.getElementById("sweep").disabled`) }, patience, 100e6)
	require.NotZero(t, page.Eval[int](p.Page, `document.querySelectorAll("#foundSeeds button").length`), p.text("#found"))
	p.click("#foundSeeds button")
	require.Equal(t, []string{"a", "b"}, p.state().Futures)
	require.NotEmpty(t, p.text("#differenceText"))
}

// Enter begins the search, and the end of the dialog ends it.
func TestSeedsKeys(t *testing.T) {
	p := open(t, "")
	p.click("#seeds")
	page.Eval[any](p.Page, `void (document.getElementById("count").value = 50000, document.getElementById("goal").focus())`)
	p.Do(chromedp.KeyEvent("\r"))
	require.Eventually(t, func() bool {
		return page.Eval[bool](p.Page, `/^\d+ of 50000/.test(document.getElementById("found").textContent)`)
	}, patience, 100e6)
	p.Do(chromedp.KeyEvent("\x1b"))
	require.Eventually(t, func() bool {
		return page.Eval[bool](p.Page, `!document.getElementById("seedsDialog").open && !document.getElementById("sweep").disabled`)
	}, patience, 100e6)
}

func TestDump(t *testing.T) {
	p := open(t, "")
	text, err := os.ReadFile("../../../../cmd/volsim/testdata/waiting-claims.yaml")
	require.NoError(t, err)
	data, err := json.Marshal(string(text))
	require.NoError(t, err)
	p.click("#dump")
	page.Eval[any](p.Page, fmt.Sprintf(`(() => { document.getElementById("dumpText").value = %s; })()`, data))
	p.click("#dumpExplain")
	require.Eventually(t, func() bool { return len(p.text("#dumpAnswer")) > 10 }, patience, 100e6)
	require.Contains(t, p.text("#dumpAnswer"), `its storage class "gp33" does not exist`)
	p.click("#dumpPredict")
	require.Eventually(t, func() bool { return len(p.text("#dumpAnswer")) > 10 }, patience, 100e6)
	require.Contains(t, p.text("#dumpAnswer"), "No data is lost through this change")
}

// A link carries both futures and the moment.
func TestLink(t *testing.T) {
	p := open(t, "")
	page.Eval[any](p.Page, `(() => { const s = document.getElementById("slider"); s.value = 60; s.oninput(); })()`)
	p.idle()
	p.click("#cut")
	p.click("#back")
	before := p.state()
	p.click("#share")
	link := page.Eval[string](p.Page, `location.hash`)
	require.Contains(t, link, "#s=")
	other := open(t, link)
	after := other.state()
	require.Equal(t, before, after)
	fmt.Printf("a link with two futures has %d characters\n", len(link))
}

// After the first visit the page opens without its server.
func TestOffline(t *testing.T) {
	p := open(t, "")
	require.Eventually(t, func() bool {
		// A worker that has filled its cache answers requests only when it is activated.
		return page.Eval[bool](p.Page, `navigator.serviceWorker.getRegistration().then((r) => r?.active?.state === "activated")`) &&
			page.Eval[bool](p.Page, `caches.keys().then(async (k) => k.length > 0 && (await (await caches.open(k[0])).keys()).length >= 8)`)
	}, patience, 200e6)
	p.server.Close()
	p.Do(chromedp.Reload())
	p.ready()
	require.Contains(t, p.text("#objects"), "PersistentVolumeClaim")
}

// Screenshots at three widths, light and dark.
func TestWidths(t *testing.T) {
	p := open(t, "#open=12-a-node-dies")
	for _, size := range [][2]int64{{360, 740}, {1440, 900}, {3840, 2160}} {
		p.Do(chromedp.EmulateViewport(size[0], size[1]))
		for _, theme := range []string{"light", "dark"} {
			page.Eval[any](p.Page, fmt.Sprintf(`(() => { document.documentElement.dataset.theme = %q; dispatchEvent(new Event("resize")); })()`, theme))
			p.click(`#objects button.object`)
			require.LessOrEqual(t, page.Eval[int](p.Page, `document.documentElement.scrollWidth - innerWidth`), 0, "%v: the page is too wide", size)
			p.shoot(fmt.Sprintf("%d-%s", size[0], theme))
		}
	}
}
