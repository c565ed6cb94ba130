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

// changes measures the commands that compare and question revisions: diff of directories
// of two sizes and of unrelated ones, who-can of a server, replay of two lengths of a log.
func changes(r *results, o options) error {
	for _, documents := range []int{10_000, 100_000} {
		r.printf("\n%d documents\n", documents)
		if err := inWorld(documents/2, documentsPerFile, func(w *world) error { return edited(r, w, o) }); err != nil {
			return err
		}
	}
	r.printf("\n1000 documents and 1000 others\n")
	err := inWorld(500, documentsPerFile, func(a *world) error {
		return inWorld(501, documentsPerFile, func(b *world) error { return r.diff(o, a.dir, b.dir) })
	})
	if err != nil {
		return err
	}
	const bindings = 100_000
	r.printf("\n%d roles and %d bindings\n", bindings, bindings)
	return inWorld(bindings, documentsPerFile, func(w *world) error {
		return errors.Join(questions(r, w, o), replays(r, w, o))
	})
}

// edited compares a directory with one of which ten documents differ.
func edited(r *results, w *world, o options) error {
	return inWorld(w.n, documentsPerFile, func(b *world) error {
		if err := b.change("another"); err != nil {
			return err
		}
		remove, err := b.deny(9)
		if err != nil {
			return err
		}
		defer remove()
		return r.diff(o, w.dir, b.dir)
	})
}

// diff prints what a comparison takes, beside the translation of one side.
func (r *results) diff(o options, a, b string) error {
	if err := r.command("check", o.writ, "check", b); err != nil {
		return err
	}
	return r.command("diff", o.writ, "diff", a, b, "--fail-on", "none", "-o", "json")
}

// command runs a command and prints what it takes.
func (r *results) command(name string, arguments ...string) error {
	var out bytes.Buffer
	c := exec.Command(arguments[0], arguments[1:]...)
	c.Stdout, c.Stderr = &out, &out
	began := time.Now()
	if err := c.Run(); err != nil {
		return fmt.Errorf("%s: %w: %.2000s", name, err, out.Bytes())
	}
	usage, _ := c.ProcessState.SysUsage().(*syscall.Rusage)
	r.printf("  %-34s %10.2f s  %.2f s CPU, peak %d MiB, output %.1f MiB\n", name, time.Since(began).Seconds(),
		(c.ProcessState.UserTime() + c.ProcessState.SystemTime()).Seconds(), usage.Maxrss>>10, float64(out.Len())/(1<<20))
	return nil
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
		r.printf("  %-34s %10.3f s the first time, %.3f s the slowest of 19 more\n", q.name, took[0].Seconds(), slices.Max(took[1:]).Seconds())
	}
	return nil
}

// replays measures the replay of a log and of its first tenth.
func replays(r *results, w *world, o options) error {
	for _, n := range []int{o.events / 10, o.events} {
		log := filepath.Join(w.scratch, "audit.log")
		if err := w.audit(log, n); err != nil {
			return err
		}
		if err := r.command(fmt.Sprintf("replay of %d events", n), o.writ, "replay", "--log", log, "--policies", w.dir, "--unused", "--fail-on", "none", "-o", "json"); err != nil {
			return err
		}
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
