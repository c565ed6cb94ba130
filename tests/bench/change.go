package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/source"
)

// The goals of comparing and questioning revisions. Beyond is the time of a diff without
// that of a check of one side.
const (
	goalDiff      = "diff of %d documents, 10 changed, beyond a check"
	goalUnrelated = "diff of 1000 documents and 1000 others"
	goalGrant     = "one cluster-wide grant over 100000 bindings, beyond a check"
	goalDenial    = "one deny policy over 100000 bindings, beyond a check"
	goalAnswer    = "answer to one grant or deny policy over 100000 bindings"
	goalQuestion  = "who-can and what-can of a server, 100000 bindings"
	goalReplay    = "replay of %d events, 100000 bindings"
	goalHeld      = "peak of memory of that replay"
	goalGrowth    = "memory of that replay, x that of a tenth of the events"
)

func changeGoals(events int) []goal {
	at := func(name string, n int) string { return fmt.Sprintf(name, n) }
	return []goal{
		{name: at(goalDiff, 10_000), unit: "s", limit: 2},
		{name: at(goalDiff, 100_000), unit: "s", limit: 10},
		{name: goalUnrelated, unit: "s", limit: 30},
		{name: goalGrant, unit: "s", limit: 2},
		{name: goalDenial, unit: "s", limit: 2},
		{name: goalAnswer, unit: "MiB", limit: 1},
		{name: goalQuestion, unit: "s", limit: 1},
		{name: at(goalReplay, events), unit: "s", limit: float64(events) / 1e6 * 20},
		{name: goalHeld, unit: "MiB", limit: 600},
		{name: goalGrowth, unit: "x", limit: 1.1},
	}
}

// changes measures the commands that compare and question revisions: diff of directories
// of two sizes and of unrelated ones, who-can of a server, replay of two lengths of a log.
func changes(r *results, o options) error {
	r.goals = changeGoals(o.events)
	for _, documents := range []int{10_000, 100_000} {
		r.printf("\n%d documents\n", documents)
		err := inWorld(documents/2, documentsPerFile, func(w *world) error {
			beyond, _, err := r.edited(w, o, (*world).edit)
			r.reached(beyond, goalDiff, documents)
			return err
		})
		if err != nil {
			return err
		}
	}
	r.printf("\n1000 documents and 1000 others\n")
	err := inWorld(500, documentsPerFile, func(a *world) error {
		return inWorld(501, documentsPerFile, func(b *world) error {
			_, diff, err := r.diff(o, a.dir, b.dir)
			r.reached(diff.seconds, goalUnrelated)
			return err
		})
	})
	if err != nil {
		return err
	}
	const bindings = 100_000
	r.printf("\n%d roles and %d bindings\n", bindings, bindings)
	err = inWorld(bindings, documentsPerFile, func(w *world) error {
		return errors.Join(replays(r, w, o), questions(r, w, o), r.touching(w, o))
	})
	r.printGoals(true)
	return err
}

// touching compares a directory with ones that have one document more, which concerns
// every namespace.
func (r *results) touching(w *world, o options) error {
	for _, added := range []struct{ goal, document string }{
		{goalGrant, `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: auditors}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: role-0},
 subjects: [{kind: Group, apiGroup: rbac.authorization.k8s.io, name: auditors}]}`},
		{goalDenial, `{apiVersion: breakglass.t-caas.telekom.com/v1alpha1, kind: DenyPolicy, metadata: {name: freeze}, spec: {rules: [{verbs: [delete], apiGroups: ["*"], resources: ["*"]}]}}`},
	} {
		r.printf("  one document more\n")
		beyond, diff, err := r.edited(w, o, func(b *world) error {
			return os.WriteFile(filepath.Join(b.dir, "more.yaml"), []byte(added.document), 0o644)
		})
		if err != nil {
			return err
		}
		r.reached(beyond, added.goal)
		r.reached(diff.output, goalAnswer)
	}
	return nil
}

// edited compares a directory with an edited copy.
func (r *results) edited(w *world, o options, edit func(*world) error) (beyond float64, diff usage, err error) {
	err = inWorld(w.n, documentsPerFile, func(b *world) error {
		if err := edit(b); err != nil {
			return err
		}
		beyond, diff, err = r.diff(o, w.dir, b.dir)
		return err
	})
	return beyond, diff, err
}

// edit changes ten documents.
func (w *world) edit() error {
	_, err := w.deny(9)
	return errors.Join(err, w.change("another"))
}

// diff prints what a comparison takes, beside the translation of one side.
func (r *results) diff(o options, a, b string) (beyond float64, diff usage, err error) {
	check, err := r.command("check", o.writ, "check", b)
	if err != nil {
		return 0, diff, err
	}
	diff, err = r.command("diff", o.writ, "diff", a, b, "--fail-on", "none", "-o", "json")
	return max(0, diff.seconds-check.seconds), diff, err
}

// usage is what a command takes: time, its peak of memory and its output, in MiB.
type usage struct{ seconds, peak, output float64 }

// command runs a command and prints what it takes.
func (r *results) command(name string, arguments ...string) (usage, error) {
	var out bytes.Buffer
	c := exec.Command(arguments[0], arguments[1:]...)
	c.Stdout, c.Stderr = &out, &out
	began := time.Now()
	if err := c.Run(); err != nil {
		return usage{}, fmt.Errorf("%s: %w: %.2000s", name, err, out.Bytes())
	}
	system, _ := c.ProcessState.SysUsage().(*syscall.Rusage)
	u := usage{time.Since(began).Seconds(), float64(system.Maxrss) / 1024, float64(out.Len()) / (1 << 20)}
	r.printf("  %-34s %10.2f s  %.2f s CPU, peak %.0f MiB, output %.1f MiB\n", name, u.seconds,
		(c.ProcessState.UserTime() + c.ProcessState.SystemTime()).Seconds(), u.peak, u.output)
	return u, nil
}

// questions measures who-can and what-can of a server that has loaded the documents.
func questions(r *results, w *world, o options) error {
	c, err := startChild([]string{o.writ, "serve", "--policies", w.dir, "--log-level", "error", "--listen", addressWord}, "/readyz")
	if err != nil {
		return err
	}
	defer c.stop()
	for _, q := range []struct{ name, path, body string }{
		{"who-can, in a namespace", "/v1/who-can", `{"request":{"verb":"get","resource":"pods","namespace":"ns-7"}}`},
		{"who-can, in all namespaces", "/v1/who-can?limit=1000", `{"request":{"verb":"get","resource":"pods"},"open":["namespace","name"]}`},
		{"what-can", "/v1/what-can", `{"user":"user-7","groups":["group-7"],"namespace":"ns-7"}`},
	} {
		var took []time.Duration
		for range 20 {
			began := time.Now()
			answer, err := http.Post("http://"+c.address+q.path, "application/json", strings.NewReader(q.body))
			if err != nil {
				return err
			}
			text, err := io.ReadAll(answer.Body)
			_ = answer.Body.Close()
			if err != nil || answer.StatusCode != http.StatusOK {
				return fmt.Errorf("%s: %s %.200s %w", q.name, answer.Status, text, err)
			}
			took = append(took, time.Since(began))
		}
		slowest := slices.Max(took).Seconds()
		r.reached(slowest, goalQuestion)
		r.printf("  %-34s %10.3f s the first time, %.3f s the slowest of 20\n", q.name, took[0].Seconds(), slowest)
	}
	return nil
}

// replays measures the replay of a log and of its first tenth.
func replays(r *results, w *world, o options) error {
	var tenth usage
	for _, n := range []int{o.events / 10, o.events} {
		log := filepath.Join(w.scratch, "audit.log")
		if err := w.audit(log, n); err != nil {
			return err
		}
		whole, err := r.command(fmt.Sprintf("replay of %d events", n), o.writ, "replay", "--log", log, "--policies", w.dir, "--unused", "--fail-on", "none", "-o", "json")
		if err != nil {
			return err
		}
		if n < o.events {
			tenth = whole
			continue
		}
		r.reached(whole.seconds, goalReplay, n)
		r.reached(max(whole.peak, tenth.peak), goalHeld)
		r.reached(whole.peak/tenth.peak, goalGrowth)
	}
	return nil
}

// audit writes a log of an API server that authorizes by the documents. One decision in a
// thousand is another.
func (w *world) audit(file string, n int) error {
	l := loader{directory: source.Dir(w.dir, source.DirOptions{}), translator: translator.New(translator.Options{})}
	_, e, err := l.load(context.Background())
	if err != nil {
		return err
	}
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	defer out.Close()
	buffer := bufio.NewWriter(out)
	encoder := json.NewEncoder(buffer)
	for i, began := 0, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC); i < n; {
		for _, q := range w.requests(min(n-i, 10_000)) {
			allowed := e.Access(context.Background(), &q).Allowed
			recorded := map[bool]string{true: "allow", false: "forbid"}[allowed != (i%1000 == 0)]
			err := encoder.Encode(map[string]any{
				"kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "Metadata", "stage": "ResponseComplete",
				"auditID": fmt.Sprintf("7c4a8d09-ca37-4623-9d2e-%012x", i), "verb": q.Verb,
				"user":                     map[string]any{"username": q.User, "groups": q.Groups},
				"objectRef":                map[string]any{"apiGroup": q.APIGroup, "resource": q.Resource, "namespace": q.Namespace, "name": q.Name},
				"requestReceivedTimestamp": began.Add(time.Duration(i) * time.Millisecond),
				"annotations":              map[string]string{"authorization.k8s.io/decision": recorded},
			})
			if err != nil {
				return err
			}
			i++
		}
	}
	return buffer.Flush()
}
