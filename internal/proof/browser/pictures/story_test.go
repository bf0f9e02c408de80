package pictures

import (
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/internal/proof/browser/page"
	"github.com/volsim/volsim/internal/tools/picture/samples"
)

func TestScript(t *testing.T) {
	p := open(t, samples.Failover)
	script := p.text("#script")
	for _, want := range []string{"n1 loses power", "fault node n1 poweroff", "expect pod/db-1 phase=Running", "✓"} {
		require.Contains(t, script, want, "the script is shown first")
	}
	// A command leads to what it caused.
	p.click(`#script .chapterLink[title="Zoom to this chapter"]`)
	page.Eval[any](p.Page, `[...document.querySelectorAll("#script .command")].find((e) => e.innerText.includes("poweroff")).click()`)
	require.Equal(t, p.find(`e.type === 7 && e.lane === "Component kubelet/n1"`), p.shown().Step)
	require.Contains(t, p.text("#script .chosen"), "fault node n1 poweroff", "the command of the step is marked")
	// A click on a mark shows the step.
	p.press(kb.Home)
	p.press("0")
	at := p.where(p.find(`e.rule.startsWith("ATT")`)) // its mark is not beside those of another command
	p.Do(chromedp.MouseClickXY(at.X, at.Y))
	require.True(t, page.Eval[bool](p.Page, `document.getElementById("script").hidden`))
	require.NotEmpty(t, p.text("#step h2"))
	p.press("s")
	require.Contains(t, p.text("#script .chosen"), "advance 2m")
}

func TestChapters(t *testing.T) {
	p := open(t, samples.Failover)
	require.Greater(t, page.Eval[int](p.Page, `(() => {
		const c = document.getElementById("story"), pixels = new Uint32Array(c.getContext("2d").getImageData(0, 0, c.width, c.height).data.buffer);
		return new Set(pixels).size;
	})()`), 8, "the chapters are drawn")
	whole := p.shown().View
	box := page.Eval[place](p.Page,
		`(() => { const b = document.getElementById("story").getBoundingClientRect(); return { x: b.right - 60, y: b.top + 8 }; })()`)
	p.Do(chromedp.MouseEvent("mouseMoved", box.X, box.Y))
	require.Contains(t, p.text("#tip"), "Another pod replaces it")
	p.Do(chromedp.MouseClickXY(box.X, box.Y))
	zoomed := p.shown()
	require.Greater(t, zoomed.View.From, whole.From)
	require.Equal(t, p.find(`e.type === 2 && e.lane === "Pod default/db-0" && e.head === "delete"`), zoomed.Step)
	p.shoot("chapter")
}

func TestPlay(t *testing.T) {
	p := open(t, samples.Failover)
	p.Do(chromedp.SetValue("#speed", "16"))
	page.Eval[any](p.Page, `document.getElementById("speed").dispatchEvent(new Event("change"))`)
	p.press(" ")
	require.Equal(t, "Pause", page.Eval[string](p.Page, `document.getElementById("play").getAttribute("aria-label")`))
	require.Eventually(t, func() bool { return p.shown().Step >= p.startup()+5 }, patience, 50*time.Millisecond, "it plays")
	p.click("#play")
	require.Equal(t, "Play", page.Eval[string](p.Page, `document.getElementById("play").getAttribute("aria-label")`))
	step := p.shown().Step
	p.Do(chromedp.Sleep(200 * time.Millisecond))
	require.Equal(t, step, p.shown().Step, "it pauses")
	// It stops at the end.
	p.press(kb.End)
	p.press(kb.ArrowLeft)
	p.press(" ")
	require.Eventually(t, func() bool {
		return page.Eval[string](p.Page, `document.getElementById("play").getAttribute("aria-label")`) == "Play"
	}, patience, 50*time.Millisecond)
	require.Equal(t, p.run.Trace.Len()-1, p.shown().Step)
}

func TestSearch(t *testing.T) {
	p := open(t, samples.Failover)
	all := p.shown().Steps
	p.press("f")
	require.Equal(t, "search", page.Eval[string](p.Page, `document.activeElement.id`))
	page.Eval[any](p.Page, `void (document.activeElement.value = "")`)
	p.press("multi-attach")
	found := p.shown()
	require.NotZero(t, found.Steps)
	require.Less(t, found.Steps, 5)
	p.press(kb.Enter)
	require.Contains(t, p.text("#say"), "Multi-Attach error")
	p.shoot("search")
	p.click("#clear")
	require.Equal(t, all, p.shown().Steps)
}

// Dragging on the axis shows only the steps of a span of time.
func TestSpan(t *testing.T) {
	for _, axis := range []string{"folded", "linear"} {
		p := open(t, samples.Failover)
		p.click("#" + axis)
		all := p.shown()
		box := page.Eval[struct{ X, Y, Width float64 }](p.Page,
			`(() => { const b = document.getElementById("axis").getBoundingClientRect(); return { x: b.left, y: b.top + 20, width: b.width }; })()`)
		p.Do(chromedp.DragAndDropXY(box.X+box.Width*0.3, box.Y, box.X+box.Width*0.6, box.Y, 6))
		part := p.shown()
		require.NotZero(t, part.Steps, axis)
		require.Less(t, part.Steps, all.Steps, axis)
		require.Contains(t, p.text("#span"), " to +", axis)
		p.shoot("span-" + axis)
		p.click("#span")
		require.Equal(t, all.Steps, p.shown().Steps, axis)
		require.False(t, page.Eval[bool](p.Page, `document.getElementById("clear").checkVisibility()`))
	}
}

// The start of all components is folded away until it is asked for.
func TestStartUp(t *testing.T) {
	p := open(t, samples.Failover)
	hidden := p.shown().Steps
	require.Greater(t, p.startup(), 5)
	p.click(`#legend button[value="12"]`)
	require.Equal(t, hidden+p.startup(), p.shown().Steps)
}

// Objects related to a pod include what its node runs on, and the pod does not stay green without power.
func TestRelatedNode(t *testing.T) {
	p := open(t, samples.Failover)
	p.filter("pod/db-0")
	p.click("#related")
	labels := p.text("#labels")
	for _, want := range []string{"kubelet/n1", "machine/n1", "n1"} {
		require.Contains(t, labels, want)
	}
	require.Contains(t, p.text("#tones"), "Running, node is off")
	p.shoot("related")
}
