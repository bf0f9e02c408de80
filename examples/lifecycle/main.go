// Lifecycle takes one volume and one claim through every phase they can have, in seven steps. After each step it prints the output of
// `kubectl get pv,pvc -A` and the fields that changed.
package main

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/tools/kubectl"
	"github.com/volsim/volsim/storage"
	"github.com/volsim/volsim/trace"
)

//go:embed *.yaml
var manifests embed.FS

func main() {
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "lifecycle:", err)
		os.Exit(1)
	}
}

// volume and claim name the objects of the manifests.
var (
	volume = &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv3"}}
	claim  = &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "test", Name: "myclaim"}}
)

func run(w io.Writer) error {
	cluster, err := volsim.New(volsim.Config{Backends: []storage.Backend{fake.NFS()}})
	if err != nil {
		return err
	}
	walk := walk{Cluster: cluster, w: w}

	walk.step("1. Add the volume", "No claim uses it: it is Available.")
	walk.apply("pv3.yaml")
	walk.settle()

	walk.step("2. Add the claim", "It is Pending until the controller syncs it. The volume fits: both are Bound.")
	walk.apply("myclaim.yaml")
	walk.show()
	walk.settle()

	walk.step("3. Delete the volume",
		`The finalizer kubernetes.io/pv-protection protects a bound volume. It is only marked as deleted (kubectl prints
Terminating), and the claim stays Bound.`)
	walk.do(cluster.Delete(volume))
	walk.settle()
	walk.say("Remove the finalizer by hand, as in a cluster without this protection: the volume is gone, and the claim is Lost.")
	walk.do(cluster.Patch(volume, `{"metadata":{"finalizers":null}}`))
	walk.settle()

	walk.step("4. Add the volume again", "A Lost claim can recover: at the next resync it binds to a volume with the name in its spec.")
	walk.apply("pv3.yaml")
	walk.advance(15 * time.Second)

	walk.step("5. Delete the claim", "The volume is Released. Its policy is Recycle, so a recycler pod starts to scrub it.")
	cluster.Faults.Add(fake.Match{Target: "kubernetes.io/nfs", Verb: string(storage.Recycle)},
		api.Fault{Err: errors.New("nfs.example.com does not answer"), Delay: time.Minute})
	walk.do(cluster.Faults.Err())
	walk.do(cluster.Delete(claim))
	walk.advance(time.Second)

	walk.step("6. The storage does not answer", "Recycling fails, and the volume is Failed. Its status and an Event contain the reason.")
	walk.advance(time.Minute)
	walk.events()

	walk.step("7. The administrator removes claimRef", "The volume is no longer reserved for a claim: it is Available again, with its data.")
	walk.do(cluster.Patch(volume, `{"spec":{"claimRef":null}}`))
	walk.settle()
	return walk.err
}

// walk runs steps on a cluster and prints the result of each. After an error it does nothing.
type walk struct {
	*volsim.Cluster
	w    io.Writer
	seen []api.Object
	err  error
}

func (l *walk) do(err error) {
	if l.err == nil {
		l.err = err
	}
}

func (l *walk) printf(format string, args ...any) {
	if l.err == nil {
		_, l.err = fmt.Fprintf(l.w, format, args...)
	}
}

func (l *walk) step(title, text string) { l.printf("\n== %s\n%s\n", title, text) }

func (l *walk) say(text string) { l.printf("\n%s\n", text) }

func (l *walk) apply(file string) {
	data, err := manifests.ReadFile(file)
	l.do(err)
	if l.err == nil {
		l.do(l.Apply(data))
	}
}

func (l *walk) settle() {
	if l.err == nil {
		l.do(l.Settle())
	}
	l.show()
}

func (l *walk) advance(d time.Duration) {
	if l.err == nil {
		l.do(l.Advance(d))
	}
	l.show()
}

// show prints the tables, and what is new since the last time.
func (l *walk) show() {
	var objs []api.Object
	for _, pv := range l.Volumes.List() {
		objs = append(objs, pv)
	}
	for _, c := range l.Claims.List() {
		objs = append(objs, c)
	}
	l.printf("\n$ kubectl get pv,pvc -A    # %v after the start\n", l.Now().Sub(engine.DefaultStart).Truncate(time.Second))
	if l.err == nil {
		l.do(kubectl.Get(l.w, l.Now(), []api.Kind{api.PersistentVolume, api.PersistentVolumeClaim}, objs))
	}
	l.printf("\n")
	for _, obj := range objs {
		before := find(l.seen, api.RefTo(obj))
		if before == nil {
			l.printf("%s is new\n", api.RefTo(obj))
			continue
		}
		for _, change := range trace.Changes(before, obj) {
			l.printf("%s: %s\n", api.RefTo(obj), change)
		}
	}
	for _, obj := range l.seen {
		if find(objs, api.RefTo(obj)) == nil {
			l.printf("%s is gone\n", api.RefTo(obj))
		}
	}
	l.seen = objs
}

func find(objs []api.Object, ref api.Ref) api.Object {
	for _, obj := range objs {
		if api.RefTo(obj) == ref {
			return obj
		}
	}
	return nil
}

func (l *walk) events() {
	l.printf("\n$ kubectl get events -A\n")
	for _, e := range l.Events() {
		l.printf("%s %s %s/%s: %s (%d times)\n", e.Type, e.Reason, e.InvolvedObject.Kind, e.InvolvedObject.Name, e.Message, e.Count)
	}
}
