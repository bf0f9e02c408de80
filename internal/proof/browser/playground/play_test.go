package playground

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/internal/proof/browser/page"
)

func TestLoadEditRun(t *testing.T) {
	p := open(t, "")
	took := page.Eval[float64](p.Page, `playground.firstPicture`)
	fmt.Printf("first picture after %.0f ms\n", took)
	require.Contains(t, p.text("#objects"), "PersistentVolumeClaim")
	require.Contains(t, p.text("#status"), "ok, seed 0")
	p.shoot("start")

	// An error stays at its line, and the last picture in view.
	text := p.state().Text
	p.write(strings.Replace(text, "settle", "setle", 1))
	require.Contains(t, p.text("#problems"), `line 5: unknown command "setle"`)
	require.NotZero(t, page.Eval[int](p.Page, `document.querySelectorAll(".cm-lintRange-error, .cm-lint-marker-error").length`))
	require.Contains(t, p.text("#objects"), "PersistentVolumeClaim")
	p.write(strings.Replace(text, "storage: 5Gi", "storage: 7Gi", 1))
	require.Empty(t, p.text("#problems"))
	require.Contains(t, p.text("#objects"), "7Gi")
}

func TestTime(t *testing.T) {
	p := open(t, "")
	before := p.state()
	require.Equal(t, before.End, before.Tick)
	p.click("#back")
	require.Equal(t, before.Tick-1, p.state().Tick)
	p.click("#first")
	require.Equal(t, "No objects.", p.text("#objects"))
	p.click("#change")
	require.Greater(t, p.state().Tick, 0)
	p.click("#last")
	// At the end the next event happens, as a line of the script.
	p.click("#forward")
	require.Contains(t, p.state().Text, "settle\nstep\n")
	p.click("#minute")
	require.Contains(t, p.state().Text, "step\nadvance 1m\n")
	p.click("#quiet")
	require.Contains(t, p.state().Text, "advance 1m\nsettle\n")
	worst := 0.0
	for range 20 {
		p.click("#forward")
		worst = max(worst, page.Eval[float64](p.Page, `playground.took.do`))
	}
	fmt.Printf("the slowest of 20 events took %.1f ms in the worker\n", worst)
}

// What is broken in the past begins a second future beside the first.
func TestFork(t *testing.T) {
	p := open(t, "")
	first := p.state()
	page.Eval[any](p.Page, `(() => { const s = document.getElementById("slider"); s.value = Math.floor(s.max / 2); s.oninput(); })()`)
	require.Less(t, p.state().Tick, first.End)
	page.Eval[any](p.Page, `(() => { document.getElementById("op").value = "Attach"; })()`)
	p.click("#fail")
	forked := p.state()
	require.Equal(t, []string{"a", "b"}, forked.Futures)
	require.Equal(t, "b", forked.Active)
	require.Contains(t, forked.Text, "fault backend disk.example.com Attach error=Internal:'broken by hand' once")
	require.Contains(t, p.text("#objects"), "Future A")
	require.Contains(t, p.text("#objects"), "Future B")
	require.Contains(t, p.text("#differenceText"), "---")
	p.shoot("fork")
	p.click("#closeTab")
	require.Equal(t, []string{"a"}, p.state().Futures)
	require.Equal(t, first.Text, p.state().Text)
}

func TestExplanation(t *testing.T) {
	p := open(t, "")
	p.click(`[data-object="pvc/default/data"]`)
	require.Contains(t, p.text("#explanation"), "pvc/default/data is Bound")
	page.Eval[any](p.Page, `(() => { const s = document.getElementById("slider"); s.value = 3; s.oninput(); })()`)
	require.Contains(t, p.text("#explanation"), "pvc/default/data is Pending")
}

// The page can be used without a mouse: keys move in time, and all that can be focused has a name.
func TestKeys(t *testing.T) {
	p := open(t, "")
	press := func(key string) {
		page.Eval[any](p.Page, fmt.Sprintf(`void document.body.dispatchEvent(new KeyboardEvent("keydown", { key: %q, bubbles: true }))`, key))
		p.idle()
	}
	end := p.state().End
	press("ArrowLeft")
	require.Equal(t, end-1, p.state().Tick)
	press("Home")
	require.Zero(t, p.state().Tick)
	press("n")
	require.NotZero(t, p.state().Tick)
	press("End")
	require.Equal(t, end, p.state().Tick)
	press("m")
	require.Contains(t, p.state().Text, "settle\nadvance 1m\n")
	require.Empty(t, page.Eval[[]string](p.Page, `[...document.querySelectorAll("button, input, select, textarea")]
		.filter((e) => !(e.textContent.trim() && e.tagName === "BUTTON") && !e.getAttribute("aria-label") && !e.closest("label")).map((e) => e.outerHTML)`))
}

// Exported files have the whole run.
func TestExport(t *testing.T) {
	p := open(t, "")
	for format, want := range map[string]string{"txtar": "-- app.yaml --", "go": "func TestPlayground(t *testing.T)", "html": "<!DOCTYPE html>", "trace": "pvc-protection"} {
		text := ask[string](p, "export", map[string]any{"run": "a", "format": format})
		require.Contains(t, strings.ToLower(text), strings.ToLower(want), format)
	}
}

// TestWithoutEffect: the page says that it evaluates no admission policies.
func TestWithoutEffect(t *testing.T) {
	p := open(t, "")
	p.write(`apply -f policy.yaml
-- policy.yaml --
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: p}
spec:
  matchConstraints: {resourceRules: [{operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], resources: ["*"]}]}
  validations: [{expression: "false"}]
`)
	require.Equal(t, "ok, seed 0, 0s of virtual time; stored without effect: ValidatingAdmissionPolicy", p.text("#status"))
	p.shoot("without-effect")
}

// An object that cannot be explained is shown as YAML. Open YAML stays open, and the focus stays where it is.
func TestYAML(t *testing.T) {
	p := open(t, "")
	p.click(`[data-object="node/n1"]`)
	require.Contains(t, p.text("#explanation"), "kind: Node")
	require.NotContains(t, p.text("#explanation"), "cannot explain")
	p.click(`[data-object="pvc/default/data"]`)
	require.NotContains(t, p.text("#explanation"), "kind: PersistentVolumeClaim")
	p.click("#explanation summary")
	p.click("#back")
	require.Eventually(t, func() bool { return strings.Contains(p.text("#explanation"), "kind: PersistentVolumeClaim") }, patience, 100e6)
	box := page.Eval[[]float64](p.Page, `(() => { const b = document.getElementById("details").getBoundingClientRect(); return [b.top, innerHeight]; })()`)
	require.Less(t, box[0], box[1], "the explanation is in view")
	require.Equal(t, "pvc/data", page.Eval[string](p.Page, `(async () => { const l = [...document.querySelectorAll("button.lane")].find((l) => l.textContent === "pvc/data"); l.focus(); l.click(); await playground.idle(); return document.activeElement.textContent; })()`))
}

// Only the newest of the moments that the slider asks for is shown.
func TestSlider(t *testing.T) {
	p := open(t, "")
	views := page.Eval[int](p.Page, `(async () => {
		let n = 0;
		const s = document.getElementById("slider"), c = document.getElementById("clock");
		new MutationObserver(() => n++).observe(c, { childList: true });
		for (let i = 0; i < 40; i++) { s.value = i; s.oninput(); }
		await playground.idle();
		return n;
	})()`)
	require.LessOrEqual(t, views, 2)
	require.Equal(t, 39, p.state().Tick)
}

// A seed that is none is refused.
func TestSeedField(t *testing.T) {
	p := open(t, "")
	for _, seed := range []string{"-3", "1e30", "1.5", ""} {
		page.Eval[any](p.Page, fmt.Sprintf(`(() => { const s = document.getElementById("seed"); s.value = %q; s.onchange(); })()`, seed))
		require.Equal(t, "A seed is a whole number from 0 on.", p.text("#status"), seed)
		require.Equal(t, "0", page.Eval[string](p.Page, `document.getElementById("seed").value`))
	}
}
