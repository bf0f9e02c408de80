package playground

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/internal/proof/browser/page"
)

// insert types text below a line, and does not wait.
func (p *tab) insert(after, text string) {
	p.T.Helper()
	data, err := json.Marshal([]string{after + "\n", text})
	require.NoError(p.T, err)
	page.Eval[any](p.Page, fmt.Sprintf(`(() => { const v = playground.editor.view, [after, insert] = %s; v.dispatch({ changes: { from: v.state.doc.toString().indexOf(after) + after.length, insert } }); })()`, data))
}

// seek moves the slider.
func (p *tab) seek(tick int) {
	p.T.Helper()
	page.Eval[any](p.Page, fmt.Sprintf(`(() => { const s = document.getElementById("slider"); s.value = %d; s.oninput(); })()`, tick))
	p.idle()
}

// choose chooses a lesson of the menu, and does not wait.
func (p *tab) choose(id string) {
	p.T.Helper()
	page.Eval[any](p.Page, fmt.Sprintf(`(() => { const o = document.getElementById("open"); o.value = %q; o.onchange(); })()`, id))
}

// answer answers the questions of the page.
func (p *tab) answer(yes bool) {
	p.T.Helper()
	page.Eval[any](p.Page, fmt.Sprintf(`void (window.questions = [], window.confirm = (q) => { questions.push(q); return %t; })`, yes))
}

func (p *tab) editor() string {
	p.T.Helper()
	p.idle()
	return page.Eval[string](p.Page, `playground.editor.text()`)
}

// A button does nothing as long as the text has an error, or a line of it fails: the text stays.
func TestButtonsKeepText(t *testing.T) {
	p := open(t, "")
	for _, row := range []struct{ insert, problems, status string }{
		{"get podz\napply -f other.yaml\n", "line 6: ", "Correct line 6 first: "},
		{"delete pvc nope\nget pods\n", `persistentvolumeclaims "nope" not found`, "Correct line 6 first: it failed, and the script ends there."},
	} {
		before := p.state().Text
		p.insert("settle", row.insert)
		want := strings.Replace(before, "settle\n", "settle\n"+row.insert, 1)
		for _, button := range []string{"#minute", "#quiet", "#change", "#kill"} {
			page.Eval[any](p.Page, `document.getElementById("last").click()`)
			p.click(button)
			require.Equal(t, want, p.editor(), button)
			require.Contains(t, p.text("#problems"), row.problems, button)
			require.Contains(t, p.text("#status"), row.status, button)
		}
		p.shoot("error")
		p.write(before)
		require.Empty(t, p.text("#problems"))
		require.Contains(t, p.text("#status"), "ok, seed 0")
	}
}

// What is typed just before or during another action is not lost.
func TestTypeAndAct(t *testing.T) {
	p := open(t, "")
	p.insert("settle", "create ns fast\n")
	p.click("#minute")
	require.Contains(t, p.state().Text, "settle\ncreate ns fast\nadvance 1m\n-- app")
	page.Eval[any](p.Page, `document.getElementById("minute").click()`)
	p.insert("settle", "create ns slow\n")
	time.Sleep(500 * time.Millisecond)
	require.Contains(t, p.state().Text, "settle\ncreate ns slow\ncreate ns fast\nadvance 1m\nadvance 1m\n-- app")
	require.Equal(t, p.state().Text, p.editor())
	require.Contains(t, ask[string](p, "export", map[string]any{"run": "a", "format": "txtar"}), "create ns slow\ncreate ns fast\nadvance 1m\nadvance 1m\n")

	// The page asks before it discards text.
	leaves := `(() => { const e = new Event("beforeunload", { cancelable: true }); dispatchEvent(e); return !e.defaultPrevented; })()`
	p.click("#share")
	require.True(t, page.Eval[bool](p.Page, leaves), "the link has the text")
	p.insert("settle", "create ns other\n")
	require.False(t, page.Eval[bool](p.Page, leaves))
	p.answer(false)
	p.choose("03-best-fit")
	require.Contains(t, p.state().Text, "create ns other")
	require.Empty(t, page.Eval[string](p.Page, `document.getElementById("open").value`))
	p.insert("settle", "create ns last\n")
	p.answer(true)
	ids := page.Eval[[]string](p.Page, `[...document.querySelectorAll("#open option")].map((o) => o.value)`)
	p.choose(ids[3])
	time.Sleep(500 * time.Millisecond)
	text := p.state().Text
	require.NotContains(t, text, "create ns last")
	require.Equal(t, text, p.editor())
	require.Equal(t, "#open="+ids[3], page.Eval[string](p.Page, `location.hash`))
	require.Len(t, page.Eval[[]string](p.Page, `questions`), 1)
	require.Empty(t, page.Eval[int](p.Page, `document.querySelectorAll("tr.fresh").length`), "nothing changed")

	// The back button shows what the address says.
	page.Eval[any](p.Page, `void history.back()`)
	require.Eventually(t, func() bool { return p.state().Text != text }, patience, 100e6)
	require.Contains(t, p.state().Text, "# A claim, a pod that uses it")
	page.Eval[any](p.Page, `void (location.hash = "#objects")`)
	time.Sleep(100 * time.Millisecond)
	require.Contains(t, p.state().Text, "# A claim, a pod that uses it")
}

// A third future replaces none of the two.
func TestThirdFuture(t *testing.T) {
	p := open(t, "")
	first := p.state().Text
	p.seek(20)
	p.click("#kill")
	require.Equal(t, []string{"a", "b"}, p.state().Futures)
	p.seek(20)
	p.click("#cut")
	require.Equal(t, "There are two futures already. Close one of them first.", p.text("#status"))
	require.NotContains(t, p.state().Text, "partition")
	// Tabs have keys, and keep the focus.
	require.Equal(t, "tab-a", page.Eval[string](p.Page, `(async () => { const t = document.getElementById("tab-b"); t.focus(); t.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true, cancelable: true })); await playground.idle(); return document.activeElement.id; })()`))
	require.Equal(t, first, p.state().Text)
	require.Equal(t, "tab-b", page.Eval[string](p.Page, `(async () => { const t = document.getElementById("tab-b"); t.focus(); t.click(); await playground.idle(); return document.activeElement.id; })()`))
	p.shoot("two-futures")
}

// The answer to a question is about the text and the end of its run.
func TestCheck(t *testing.T) {
	p := open(t, "#open=01-static-binding")
	p.click("#hint")
	require.NotZero(t, page.Eval[int](p.Page, `(() => { const s = playground.editor.view.state.selection.main; return s.to - s.from; })()`), "the solution is selected")
	p.shoot("solution")
	p.seek(0)
	p.click("#check")
	require.Equal(t, "Yes, that is it.", p.text("#checked"))
	require.Equal(t, p.state().End, p.state().Tick)
	p.write(strings.Replace(p.state().Text, "\nadvance", "\nadvanse", 1))
	require.Empty(t, p.text("#checked"))
	p.click("#check")
	require.Empty(t, p.text("#checked"))
	require.Regexp(t, `^Correct line \d+ first: unknown command "advanse"`, p.text("#status"))
}

// A link that shows nothing leads to the example, and says so. A link to a text with an error shows the error.
func TestBadLinks(t *testing.T) {
	for fragment, want := range map[string]string{
		"#s=abc": "The link is damaged. This is the example.", "#s=%%%": "The link is damaged. This is the example.",
		"#open=nonsense": `There is no lesson "nonsense". This is the example.`,
	} {
		p := open(t, fragment)
		require.Equal(t, want, p.text("#status"), fragment)
		p.click("#minute")
		require.Contains(t, p.state().Text, "settle\nadvance 1m\n", fragment)
	}
	p := open(t, "")
	p.insert("settle", "get podz\n")
	p.click("#share")
	link := page.Eval[string](p.Page, `location.hash`)
	other := open(t, link)
	require.Contains(t, other.text("#problems"), "line 6: ")
	other.click("#minute")
	require.Contains(t, other.text("#status"), "Correct line 6 first")
	require.Contains(t, other.editor(), "settle\nget podz\n-- app")
}

// The output shows what was printed up to the moment, and the newest of it.
func TestOutput(t *testing.T) {
	p := open(t, "")
	p.insert("settle", "get pods\nget nodes\nget pvc\nget sc\nget pv\nget pods -o yaml\nget pvc -o name\n")
	p.click("#last")
	require.Contains(t, p.text("#commands"), "> get pvc -o name\npersistentvolumeclaim/data")
	require.Less(t, page.Eval[float64](p.Page, `(() => { const c = document.getElementById("commands"); return c.scrollHeight - c.clientHeight - c.scrollTop; })()`), 2.0)
	p.shoot("output")
	p.click("#back")
	require.Contains(t, p.text("#commands"), "> get pods -o yaml")
	require.NotContains(t, p.text("#commands"), "> get pvc -o name")
	p.click("#first")
	require.Empty(t, p.text("#commands"))
}

// stop stops what the page does once it may be stopped.
func (p *tab) stop() {
	p.T.Helper()
	visible := `(({ display, visibility }) => display !== "none" && visibility === "visible")(getComputedStyle(document.getElementById("stop")))`
	require.Eventually(p.T, func() bool { return page.Eval[bool](p.Page, visible) }, patience, 100e6)
	p.Shoot(*shots, "stop")
	p.click("#stop")
	require.False(p.T, page.Eval[bool](p.Page, visible))
}

// A run that takes long can be stopped. The text stays, and what was shown before runs again.
func TestStop(t *testing.T) {
	p := open(t, "")
	first := p.state()
	p.insert("node add n1 n2", "fault backend disk.example.com Create error=Internal\napply -f app.yaml\nadvance 100000h\n")
	p.stop()
	require.Equal(t, "You stopped the run.", p.text("#status"))
	require.Equal(t, "line 1: You stopped the run. Change the script to run it.", p.text("#problems"))
	stopped := p.state()
	require.Contains(t, stopped.Text, "advance 100000h")
	require.Equal(t, []int{first.Tick, first.End}, []int{stopped.Tick, stopped.End})
	require.Contains(t, p.text("#objects"), "PersistentVolumeClaim")
	p.click("#minute")
	require.Equal(t, stopped.Text, p.editor())
	p.click("#share")
	link := page.Eval[string](p.Page, `location.hash`)
	p.write(first.Text)
	require.Empty(t, p.text("#problems"))
	p.click("#minute")
	require.Greater(t, p.state().End, first.End)

	// In a second future, and through a link.
	p.seek(20)
	p.click("#kill")
	require.Equal(t, []string{"a", "b"}, p.state().Futures)
	second := p.state()
	p.insert("node add n1 n2", "fault backend disk.example.com Create error=Internal\napply -f app.yaml\nadvance 100000h\n")
	p.stop()
	require.Equal(t, []string{"a", "b"}, p.state().Futures)
	require.Equal(t, second.End, p.state().End)
	server := httptest.NewServer(http.FileServer(http.Dir(*dist)))
	t.Cleanup(server.Close)
	other := &tab{Page: page.Open(t, server.URL+"/"+link, patience), server: server}
	other.stop()
	other.ready()
	require.Equal(t, stopped.Text, other.editor())
	require.Equal(t, "You stopped the run.", other.text("#status"))
	require.Contains(t, other.text("#objects"), "No objects.")
}
