// Package samples has runs for the tests of the picture, with a browser and without.
package samples

import (
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/tools/picture"
	"github.com/volsim/volsim/storage"
	"github.com/volsim/volsim/trace"
)

const driver = "disk.example.com"

// step is a command of a run. Chapter is the title of the chapter that it begins, "" for a further command of the chapter before.
type step struct {
	chapter, text string
	expects       bool
	do            func() error
}

// record creates a cluster with one driver, takes the steps, and returns the run. Steps without a text are not shown.
func record(title string, steps func(c *volsim.Cluster) []step) (picture.Run, error) {
	c, err := volsim.New(volsim.Config{Backends: []storage.Backend{fake.CSI(driver, fake.Lenient())}})
	if err != nil {
		return picture.Run{}, err
	}
	var chapters []picture.Chapter
	for n, step := range steps(c) {
		command := picture.Command{Line: n + 1, Text: step.text, Seq: c.Trace().Seq(), From: c.Now(), Expects: step.expects}
		if err := step.do(); err != nil {
			return picture.Run{}, fmt.Errorf("%s: step %d: %w", title, n, err)
		}
		command.To = c.Now()
		if step.chapter != "" {
			chapters = append(chapters, picture.Chapter{Title: step.chapter})
		}
		if step.text != "" {
			last := &chapters[len(chapters)-1]
			last.Commands = append(last.Commands, command)
		}
	}
	return picture.Run{Title: title, Trace: c.Trace(), Start: engine.DefaultStart, End: c.Now(), Chapters: chapters}, nil
}

// plain returns steps that are not shown.
func plain(do ...func() error) []step {
	var steps []step
	for _, f := range do {
		steps = append(steps, step{do: f})
	}
	return steps
}

// database returns a pod that writes to the claim once a minute.
func database(name, node, claim string) *corev1.Pod {
	return fake.Pod(name, fake.OnNode(node), fake.Claims(claim), fake.Annotations("volsim.dev/write-every", "1m"))
}

// Failover returns the run of a database whose node loses power, and which continues on another node.
func Failover() (picture.Run, error) {
	now := int64(0)
	return record("A database whose node dies", func(c *volsim.Cluster) []step {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}
		advance := func(d time.Duration) func() error { return func() error { return c.Advance(d) } }
		return []step{
			{"The database runs on n1", "apply -f database.yaml", false, func() error {
				return c.Create(fake.Class("fast", driver), fake.Node("n1"), fake.Node("n2"),
					fake.Claim("data", "10Gi", fake.InClass("fast")), database("db-0", "n1", "data"))
			}},
			{"", "advance 2m", false, advance(2 * time.Minute)},
			{"n1 loses power", "fault node n1 poweroff", false, func() error {
				n1, err := c.Node("n1")
				if err == nil {
					n1.PowerOff()
				}
				return err
			}},
			{"", "advance 40s", false, advance(40 * time.Second)},
			{"", "patch node/n1", false, func() error {
				return c.PatchStatus(node, `{"status":{"conditions":[{"type":"Ready","status":"Unknown","reason":"NodeStatusUnknown"}]}}`)
			}},
			{"", "expect node/n1 ready=Unknown", true, func() error { return nil }},
			{"", "advance 5m", false, advance(5 * time.Minute)},
			{"Another pod replaces it", "delete pod/db-0 --force", false, func() error {
				return c.DeleteWith(database("db-0", "n1", "data"), api.DeleteOptions{GracePeriodSeconds: &now})
			}},
			{"", "apply -f db-1.yaml", false, func() error { return c.Create(database("db-1", "n2", "data")) }},
			{"", "advance 15m", false, advance(15 * time.Minute)},
			{"", "expect pod/db-1 phase=Running", true, func() error { return nil }},
		}
	})
}

// Hostile returns the run of a claim whose creation fails twice, with a violation, and with names and annotations that look like markup.
func Hostile() (picture.Run, error) {
	run, err := record(`</title><script>alert("title")</script>`, func(c *volsim.Cluster) []step {
		return plain(
			func() error {
				c.Faults.Fail(fake.Match{Verb: string(storage.Create)}, errors.New("quota </script><script>alert('error')</script> & more")).Times(2)
				return c.Create(fake.Class("fast", driver), fake.Claim("evil", "1Gi", fake.InClass("fast"), fake.Annotations(
					"markup", "</script><script>alert('annotation')</script><!--", "image", `<img src=x onerror="alert('image')">`, "lines",
					"a\u2028b\nc: d")))
			},
			func() error { return c.Advance(time.Minute) },
		)
	})
	run.Violations = []picture.Violation{{
		Time: engine.DefaultStart.Add(30 * time.Second), Object: api.Ref{Kind: api.PersistentVolumeClaim, Key: "default/evil"},
		Name: "<b>bold</b>", Text: "an & in the text", Rules: []string{"BIND-066", "BIND-012"},
	}}
	return run, err
}

// Many returns the run of a cluster in which n pods get a volume each and lose it again: at least four objects for each pod.
func Many(n int) (picture.Run, error) {
	return record(fmt.Sprintf("%d pods with a volume each", n), func(c *volsim.Cluster) []step {
		var pods, claims []api.Object
		for i := range n {
			name := fmt.Sprintf("data-%d", i)
			claims = append(claims, fake.Claim(name, "1Gi", fake.InClass("fast")))
			pods = append(pods, fake.Pod(fmt.Sprintf("web-%d", i), fake.OnNode(fmt.Sprintf("n%d", i%20)), fake.Claims(name)))
		}
		steps := []func() error{func() error { return c.Create(fake.Class("fast", driver)) }}
		for i := range 20 {
			steps = append(steps, func() error { return c.Create(fake.Node(fmt.Sprintf("n%d", i))) })
		}
		return plain(append(steps,
			func() error { return c.Create(claims...) },
			func() error { return c.Create(pods...) },
			func() error { return c.Advance(10 * time.Minute) },
			func() error {
				for _, pod := range pods[:n/2] {
					if err := c.Delete(pod); err != nil {
						return err
					}
				}
				return nil
			},
			func() error { return c.Advance(6 * time.Hour) },
			func() error {
				for _, claim := range claims[:n/4] {
					if err := c.Delete(claim); err != nil {
						return err
					}
				}
				return nil
			},
			func() error { return c.Advance(time.Hour) },
		)...)
	})
}

// Bind returns the run of a claim that gets a volume, the smallest useful run.
func Bind() (picture.Run, error) {
	return record("A claim gets a volume", func(c *volsim.Cluster) []step {
		return plain(
			func() error { return c.Create(fake.Volume("pv", "1Gi"), fake.Claim("data", "1Gi")) },
			func() error { return c.Advance(20 * time.Second) },
		)
	})
}

// Nothing returns an empty run.
func Nothing() (picture.Run, error) {
	return picture.Run{Title: "Nothing", Trace: &trace.Trace{}}, nil
}
