package playground

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/internal/proof/browser/page"
)

// undo takes back the last change in the editor.
func (p *tab) undo() {
	p.T.Helper()
	page.Eval[any](p.Page, `(() => { const v = playground.editor.view; v.focus(); v.contentDOM.dispatchEvent(new KeyboardEvent("keydown", { key: "z", code: "KeyZ", keyCode: 90, ctrlKey: true, bubbles: true, cancelable: true })); return null; })()`)
}

// What can be undone belongs to a text: the changes of a lesson or of another future are not among it.
func TestUndo(t *testing.T) {
	p := open(t, "#open=01-static-binding")
	p.choose("03-best-fit")
	lesson := p.state().Text
	page.Eval[any](p.Page, `void (document.getElementById("right").scrollTop = 300)`)
	p.undo()
	require.Equal(t, lesson, p.editor())
	p.choose("")
	require.Zero(t, page.Eval[int](p.Page, `(async () => { await playground.idle(); return document.getElementById("right").scrollTop; })()`))

	p.click("#minute")
	first := p.state().Text
	p.seek(20)
	p.click("#kill")
	second := p.state().Text
	require.NotEqual(t, first, second)
	p.undo()
	require.Equal(t, second, p.editor())
	p.click("#tab-a")
	require.Equal(t, first, p.editor())
	p.undo()
	require.Equal(t, strings.Replace(first, "advance 1m\n", "", 1), p.editor())
	p.click("#tab-b")
	require.Equal(t, second, p.editor())
}

// file opens a file of the user.
func (p *tab) file(name, text string) {
	p.T.Helper()
	data, err := json.Marshal([]string{name, text})
	require.NoError(p.T, err)
	page.Eval[any](p.Page, fmt.Sprintf(`(() => { const [name, text] = %s, list = new DataTransfer(), input = document.getElementById("file"); list.items.add(new File([text], name)); input.files = list.files; input.onchange(); return null; })()`, data))
	p.idle()
}

// A file is a script with its question, or manifests. A link carries both.
func TestFile(t *testing.T) {
	p := open(t, "")
	p.file("own.txtar", "# My lesson. It has one step.\ncreate ns one\nsettle\n-- question --\n# Make the namespace two.\nexpect ns/two\n-- solution --\ncreate ns two\n")
	require.Equal(t, "# My lesson. It has one step.\ncreate ns one\nsettle\n", p.state().Text)
	require.Equal(t, "Make the namespace two.", p.text("#questionText"))
	require.Empty(t, page.Eval[string](p.Page, `document.getElementById("open").value`))
	p.click("#check")
	require.Contains(t, p.text("#checked"), "Not yet: ")
	p.click("#share")
	other := open(t, page.Eval[string](p.Page, `location.hash`))
	require.Equal(t, "Make the namespace two.", other.text("#questionText"))
	other.click("#hint")
	other.click("#check")
	require.Equal(t, "Yes, that is it.", other.text("#checked"))

	p.file("a claim.yaml", "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec:\n  accessModes: [ReadWriteOnce]\n  resources: {requests: {storage: 5Gi}}\n")
	require.Contains(t, p.state().Text, "apply -f a-claim.yaml\nsettle\n-- a-claim.yaml --\napiVersion: v1\n")
	require.Contains(t, p.text("#objects"), "Pending")
	p.choose("12-a-node-dies")
	p.idle()
	require.Contains(t, page.Eval[string](p.Page, `document.getElementById("lessonText").innerHTML`), "<code>attach.md</code>")
}

// A page whose simulator does not load says so, to screen readers as well.
func TestNotLoaded(t *testing.T) {
	files := http.FileServer(http.Dir(*dist))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/worker.js" {
			fmt.Fprint(w, "postMessage({ id: 0, problem: 'this browser has no WebAssembly' });")
			return
		}
		files.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	p := page.Open(t, server.URL, patience)
	require.Eventually(t, func() bool {
		return p.Text("#loading") == "The page does not start: this browser has no WebAssembly. Reload it to try again."
	}, patience, 100e6)
	require.Equal(t, "status", page.Eval[string](p, `document.getElementById("loading").role`))
	require.False(t, page.Eval[bool](p, `!!document.getElementById("loading").closest("[inert]")`))
}
