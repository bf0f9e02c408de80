package pictures

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/internal/proof/browser/page"
	"github.com/volsim/volsim/internal/tools/picture"
	"github.com/volsim/volsim/internal/tools/picture/samples"
)

// colours counts the colours of the timeline. An empty timeline has one.
const colours = `(() => {
	const c = document.getElementById("plot"), pixels = new Uint32Array(c.getContext("2d").getImageData(0, 0, c.width, c.height).data.buffer);
	return new Set(pixels).size;
})()`

func TestLoad(t *testing.T) {
	p := open(t, samples.Failover)
	require.Equal(t, "A database whose node dies", p.text("h1"))
	require.Contains(t, p.text("#summary"), "22m40s of virtual time from 2026-01-01 00:00:00 UTC")
	require.Equal(t, p.run.Trace.Len()-p.startup(), p.shown().Steps)
	require.Greater(t, page.Eval[int](p.Page, colours), 8)
	labels := p.text("#labels")
	for _, want := range []string{"db-0", "db-1", "data", "n1", "pvc-"} {
		require.Contains(t, labels, want)
	}
	require.Contains(t, p.text("#legend"), "API write")
	require.Contains(t, p.text("#tones"), "Bound")
	p.click("#tabStep")
	require.Contains(t, p.text("#step"), "FailedAttachVolume", "the overview lists warnings")
	p.shoot("light")
}

// No label overlaps another, and none is wider than its column.
func TestLabelsDoNotOverlap(t *testing.T) {
	p := open(t, samples.Failover)
	p.shown()
	overlaps := page.Eval[[]string](p.Page, `(() => {
		const boxes = [...document.querySelectorAll("#labels > *")].map((e) => [e.innerText, e.getBoundingClientRect()]), column = document.getElementById("labels").getBoundingClientRect(), bad = [];
		boxes.forEach(([a, x], i) => {
			if (x.right > column.right + 1) bad.push(a + " is too wide");
			boxes.slice(i + 1).forEach(([b, y]) => { if (x.bottom > y.top + 1 && y.bottom > x.top + 1) bad.push(a + " over " + b); });
		});
		return bad;
	})()`)
	require.Empty(t, overlaps)
	require.Equal(t, 0, page.Eval[int](p.Page, `document.documentElement.scrollWidth - document.documentElement.clientWidth`),
		"the page is no wider than the window")
}

func TestHoverShowsTheDecisionWithItsRule(t *testing.T) {
	p := open(t, samples.Failover)
	p.shown()
	step := p.find(`e.type === 0 && e.rule === "MNT-009"`)
	at := p.where(step)
	require.Equal(t, 1, at.Steps)
	p.Do(chromedp.MouseEvent("mouseMoved", at.X, at.Y))
	tip := p.text("#tip")
	require.Contains(t, tip, "Decision")
	require.Contains(t, tip, "sync failed: unmounted volumes=[data]")
	require.Contains(t, tip, "MNT-009")
	require.Contains(t, tip, "failed sync: retry after", "the text of the rule")
	require.Contains(t, tip, "kubelet/n2")
	p.shoot("hover")
	p.Do(chromedp.MouseEvent("mouseMoved", at.X, 30))
	require.True(t, page.Eval[bool](p.Page, `document.getElementById("tip").hidden`))
}

func TestClickShowsTheObjectAndWhatChanged(t *testing.T) {
	p := open(t, samples.Failover)
	// A report of the status, which comes after the registration.
	step := p.find(`e.type === 1 && e.head === "patch-status" && e.lane === "Node n1" && e.text === "changed" && e.pause > 0`)
	at := p.where(step)
	if at.Steps > 1 {
		p.Do(chromedp.MouseClickXY(at.X, at.Y)) // zooms in
		p.shown()
		at = p.where(step)
	}
	p.Do(chromedp.MouseClickXY(at.X, at.Y))
	require.Equal(t, step, p.shown().Step)
	require.Contains(t, p.text("#step .changes"), "status.conditions")
	require.Contains(t, p.text("#step .yaml"), "kind: Node\n")
	require.Contains(t, p.text("#step .yaml"), "name: n1\n")
	require.Contains(t, p.text("#step .yaml .changed"), "lastHeartbeatTime")
	p.shoot("click")
	// A later step shows a later version of the object.
	later := p.find(`e.type === 2 && e.lane === "Node n1" && e.head === "patch-status"`)
	before := p.text("#step .yaml")
	page.Eval[any](p.Page, "picture.select("+itoa(later)+")")
	require.Contains(t, p.text("#step .yaml"), "reason: NodeStatusUnknown")
	require.NotContains(t, before, "reason: NodeStatusUnknown")
}

// A write names the decision behind it and links to it.
func TestStepsSayWhy(t *testing.T) {
	p := open(t, samples.Failover)
	page.Eval[any](p.Page, "picture.select("+itoa(p.find(`e.rule === "ATT-070"`))+")")
	require.Contains(t, p.text("#step h2"), "do not attach")
	require.Contains(t, p.text("#step .rule"), "ATT-070")
	require.Contains(t, p.text("#step .rule"), "docs/rules/attach.md")
	p.shoot("picture")
	page.Eval[any](p.Page, "picture.select("+itoa(p.find(`e.type === 1 && e.lane.startsWith("VolumeAttachment") && e.text === "created"`))+")")
	require.Contains(t, p.text("#step .why"), "ATT-068")
	require.Contains(t, p.text("#step .rule"), "ATT-068")
	write := p.shown().Step
	p.click("#step .why")
	require.Less(t, p.shown().Step, write)
	require.Contains(t, p.text("#step h2"), "attach ")
}

func TestClickOnABarShowsTheObjectAtThatMoment(t *testing.T) {
	p := open(t, samples.Failover)
	p.shown()
	bound := p.find(`e.rule === "BIND-060d"`)
	at := p.where(bound)
	p.Do(chromedp.MouseClickXY(at.X+60, at.Y+16))
	require.Contains(t, p.text("#step .yaml"), "kind: PersistentVolumeClaim\n")
	require.Contains(t, p.text("#step .yaml"), "phase: Bound")
}

func TestSteps(t *testing.T) {
	p := open(t, samples.Failover)
	begin := p.startup()
	p.click("#forward")
	require.Equal(t, begin, p.shown().Step)
	require.Equal(t, "1 / "+itoa(p.run.Trace.Len()-begin), p.text("#position"))
	p.click("#forward")
	p.press(kb.ArrowRight)
	require.Equal(t, begin+2, p.shown().Step)
	p.click("#back")
	p.press(kb.ArrowLeft)
	p.press(kb.ArrowLeft)
	require.Equal(t, begin, p.shown().Step, "there is none before the first")
	p.press(kb.End)
	require.Equal(t, p.run.Trace.Len()-1, p.shown().Step)
	p.press(kb.Home)
	require.Equal(t, begin, p.shown().Step)
	// On one lane only.
	page.Eval[any](p.Page, "picture.select("+itoa(p.find(`e.lane === "Node n1"`))+")")
	first := p.shown()
	p.press(kb.ArrowRight, chromedp.KeyModifiers(chromedp.ModifierShift))
	second := p.shown()
	require.Equal(t, first.Lane, second.Lane)
	require.Greater(t, second.Step, first.Step+1)
	require.Contains(t, p.text("#say"), "Node n1", "what a screen reader reads")
	// Other lanes show their object at the same step.
	p.press(kb.ArrowDown)
	require.NotEqual(t, second.Lane, p.shown().Lane)
	require.Equal(t, second.Step, p.shown().Step)
	p.press(kb.Escape)
	require.Equal(t, -1, p.shown().Step)
}

func TestFilters(t *testing.T) {
	p := open(t, samples.Failover)
	all := p.shown()
	p.filter("db-0")
	require.Equal(t, 1, p.shown().Lanes)
	require.Less(t, p.shown().Steps, all.Steps)
	require.NotContains(t, p.text("#labels"), "db-1")
	p.click("#related")
	related := p.shown()
	require.Contains(t, p.text("#labels"), "pvc-", "its volume")
	require.Greater(t, related.Lanes, 4)
	p.click("#clear")
	require.Equal(t, all.Steps, p.shown().Steps)
	// By actor.
	p.Do(chromedp.SetValue("#actor",
		page.Eval[string](p.Page, `[...document.querySelectorAll("#actor option")].find((o) => o.textContent === "attachdetach-controller").value`)))
	page.Eval[any](p.Page, `document.getElementById("actor").dispatchEvent(new Event("change"))`)
	byActor := p.shown()
	require.Less(t, byActor.Steps, all.Steps)
	require.NotZero(t, byActor.Steps)
	p.shoot("filter")
	p.click("#clear")
	// By kind, and by type of step.
	p.click(`#kinds button[value="Pod"]`)
	require.Equal(t, all.Lanes-2, p.shown().Lanes)
	p.click("#clear")
	p.click(`#legend button[value="0"]`)
	require.Less(t, p.shown().Steps, all.Steps)
	p.click("#clear")
	// No match.
	p.filter("no-such-object")
	require.Equal(t, 0, p.shown().Lanes)
	require.Contains(t, p.text("#empty"), "No object")
}

func TestZoomPanAndAxes(t *testing.T) {
	p := open(t, samples.Failover)
	fit := p.shown().View
	p.press("+")
	zoomed := p.shown().View
	require.Less(t, zoomed.To-zoomed.From, fit.To-fit.From)
	p.press("]")
	require.Greater(t, p.shown().View.From, zoomed.From)
	p.shoot("zoom")
	p.press("0")
	require.Equal(t, fit, p.shown().View)
	p.press("a")
	linear := p.shown()
	require.True(t, linear.Linear)
	require.InDelta(t, 1360, linear.View.To, 60, "the unit is a second")
	p.shoot("linear")
	p.click("#folded")
	require.False(t, p.shown().Linear)
	// Dragging pans the timeline.
	p.press("+")
	before := p.shown().View
	box := page.Eval[place](p.Page,
		`(() => { const b = document.getElementById("plot").getBoundingClientRect(); return { x: b.left + b.width / 2, y: b.bottom - 12 }; })()`)
	p.Do(chromedp.DragAndDropXY(box.X, box.Y, box.X-120, box.Y, 6))
	require.Greater(t, p.shown().View.From, before.From)
	require.Equal(t, -1, p.shown().Step, "a drag is no click")
}

func TestDark(t *testing.T) {
	p := open(t, samples.Failover)
	light := page.Eval[string](p.Page, `getComputedStyle(document.body).backgroundColor`)
	p.press("d")
	p.press(kb.End)
	require.NotEqual(t, light, page.Eval[string](p.Page, `getComputedStyle(document.body).backgroundColor`))
	require.Equal(t, "dark", page.Eval[string](p.Page, `document.documentElement.dataset.theme`))
	p.shoot("dark")
}

func TestListOfSteps(t *testing.T) {
	p := open(t, samples.Failover)
	p.press("l")
	require.False(t, page.Eval[bool](p.Page, `document.getElementById("log").hidden`))
	rows := page.Eval[int](p.Page, `document.querySelectorAll("#log .logLine").length`)
	require.Greater(t, rows, 10)
	require.Less(t, rows, p.run.Trace.Len(), "only what is in sight")
	p.click("#log .logLine:nth-child(3)")
	require.Equal(t, p.startup()+2, p.shown().Step)
	p.shoot("list")
}

// Everything from the run is shown as text. The page runs only its own program, or the browser complains on the console.
func TestHostileRun(t *testing.T) {
	p := open(t, samples.Hostile)
	require.Equal(t, `</title><script>alert("title")</script>`, p.text("h1"))
	require.Equal(t, 2, page.Eval[int](p.Page, `document.scripts.length`))
	require.Equal(t, 0, page.Eval[int](p.Page, `document.images.length`))
	step := p.find(`e.type === 2 && e.lane === "PersistentVolumeClaim default/evil"`)
	page.Eval[any](p.Page, "picture.select("+itoa(step)+")")
	require.Contains(t, p.text("#step .yaml"), `</script><script>alert('annotation')</script><!--`)
	require.Contains(t, p.text("#step .yaml"), `<img src=x onerror=`)
	require.Equal(t, 0, page.Eval[int](p.Page, `document.images.length`))
	violation := p.find(`e.type === 10`)
	at := p.where(violation)
	p.Do(chromedp.MouseEvent("mouseMoved", at.X, at.Y))
	require.Contains(t, p.text("#tip"), "<b>bold</b>: an & in the text (BIND-066, BIND-012)")
	p.shoot("hostile")
}

// Of 2,000 objects, only the visible ones are drawn.
func TestManyObjects(t *testing.T) {
	p := open(t, func() (picture.Run, error) { return samples.Many(500) })
	all := p.shown()
	require.Greater(t, all.Lanes, 2000)
	require.Less(t, all.Drawn, 2000)
	require.Less(t, page.Eval[int](p.Page, `document.querySelectorAll("*").length`), 600)
	p.shoot("many")
	p.filter("pvc/data-17")
	require.Equal(t, 1, p.shown().Lanes, "the whole name of one is not a part of others")
	p.click("#related")
	require.Equal(t, 6, p.shown().Lanes, "pod, claim, volume, attachment, node, class")
	p.shoot("many-filtered")
	p.click("#clear")
	p.press(kb.Escape)
	p.press(kb.End)
	last := p.shown()
	require.Equal(t, p.run.Trace.Len()-1, last.Step)
	require.Contains(t, p.text("#labels"), page.Eval[string](p.Page, `document.querySelector("#labels .chosen .name")?.innerText ?? "nothing"`),
		"the lane of the step is in sight")
	p.Do(chromedp.SetValue("#order", "related"))
	page.Eval[any](p.Page, `document.getElementById("order").dispatchEvent(new Event("change"))`)
	require.Contains(t, p.text("#labels .groupLabel"), "data-0")
}

// A link can name a step.
func TestLinkToAStep(t *testing.T) {
	p := open(t, samples.Failover)
	p.press(kb.Home)
	p.press(kb.ArrowRight)
	step := p.startup() + 1
	require.Equal(t, "#"+itoa(step+1), page.Eval[string](p.Page, `location.hash`))
	p.Do(chromedp.Reload())
	require.Equal(t, step, p.shown().Step)
}

func TestNothing(t *testing.T) {
	p := open(t, samples.Nothing)
	require.Equal(t, "Nothing happened in this run.", p.text("#summary"))
	p.press(kb.ArrowRight)
	p.press(kb.End)
	p.press("a")
	p.press(kb.ArrowDown)
	require.Equal(t, -1, p.shown().Step)
}

func TestPrint(t *testing.T) {
	p := open(t, samples.Failover)
	p.press("d")
	page.Eval[any](p.Page, "picture.select("+itoa(p.find(`e.rule === "MATCH-015"`))+")")
	pdf, err := chromedp.Run(p.Ctx, chromedp.PrintToPDF(chromedp.PDFPrintBackground()))
	require.NoError(t, err)
	require.Greater(t, len(pdf), 20_000)
	// The printed version is light, has every lane and every step, and is hidden on the screen.
	require.Equal(t, p.shown().Lanes, page.Eval[int](p.Page, `document.querySelectorAll("#paper .paperLabel").length`))
	require.Equal(t, p.run.Trace.Len()-p.startup(), page.Eval[int](p.Page, `document.querySelectorAll("#paper .steps tbody tr").length`))
	require.Contains(t, page.Eval[string](p.Page, `document.querySelector("#paper .paperStep").textContent`), "MATCH-015")
	require.Equal(t, "#ffffff", page.Eval[string](p.Page, `getComputedStyle(document.getElementById("paper")).getPropertyValue("--ground")`))
	const display, background = `getComputedStyle(document.getElementById("paper")).display`, `getComputedStyle(document.body).backgroundColor`
	require.Equal(t, "none", page.Eval[string](p.Page, display))
	_, err = chromedp.Call(p.Ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
	require.NoError(t, err)
	require.Equal(t, "block", page.Eval[string](p.Page, display))
	require.Equal(t, "rgb(255, 255, 255)", page.Eval[string](p.Page, background))
	if *shots != "" {
		require.NoError(t, os.WriteFile(filepath.Join(*shots, "print.pdf"), pdf, 0o644))
	}
}

// On a narrow screen the details are below the timeline.
func TestNarrow(t *testing.T) {
	p := open(t, samples.Failover)
	p.Do(chromedp.EmulateViewport(420, 800))
	p.press(kb.End)
	p.shown()
	require.Equal(t, 0, page.Eval[int](p.Page, `document.documentElement.scrollWidth - document.documentElement.clientWidth`))
	require.True(t, page.Eval[bool](p.Page,
		`document.getElementById("panel").getBoundingClientRect().top >= document.getElementById("timeline").getBoundingClientRect().bottom - 1`))
	require.True(t, page.Eval[bool](p.Page,
		`document.getElementById("timeline").getBoundingClientRect().top < document.querySelector(".filters").getBoundingClientRect().top`),
		"the lanes come first")
	require.Zero(t, page.Eval[int](p.Page, `scrollY`), "steps do not scroll the page")
	p.shoot("narrow")
}
