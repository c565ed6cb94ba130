package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine"
	"github.com/writ-policy/writ/server/reload"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/source"
)

// heldSessions is how many sessions there are, each in a file of its own, for the first users
// of a world. They are on the cluster onCluster.
const (
	heldSessions = 10_000
	onCluster    = "prod-1"
)

// session is a session that lends a group of the world. Each has another end.
func (w *world) session(i int, state string) string {
	return fmt.Sprintf(`apiVersion: breakglass.t-caas.telekom.com/v1alpha1
kind: BreakglassSession
metadata: {namespace: bg, name: session-%d}
spec: {cluster: %s, user: user-%d, grantedGroup: group-%d}
status: {state: %s, approvedAt: 2026-01-01T00:00:00Z, expiresAt: 2199-01-01T00:%02d:%02dZ}
`, i, onCluster, i, i%max(w.n/10, 1), state, i/60%60, i%60)
}

func (w *world) sessionFile(i int) string {
	return filepath.Join(w.dir, fmt.Sprintf("session-%06d.yaml", i))
}

// addSessions writes n sessions.
func (w *world) addSessions(n int) error {
	for i := range n {
		if err := os.WriteFile(w.sessionFile(i), []byte(w.session(i, "Approved")), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// sessionEngines are engines of the documents beside deny policies, without sessions and
// with n of them.
func sessionEngines(ctx context.Context, w *world, n int) (without, with *engine.Engine, err error) {
	l := &loader{directory: source.Dir(w.dir, source.DirOptions{}), translator: translator.New(translator.Options{})}
	if without, err = l.withDenyPolicies(ctx, w); err != nil {
		return nil, nil, err
	}
	if err = w.addSessions(n); err != nil {
		return nil, nil, err
	}
	with, err = l.withDenyPolicies(ctx, w)
	return without, with, err
}

// sessionRow compares decisions on requests beside sessions with those of the same documents
// without sessions, on the requests base.
type sessionRow struct {
	name           string
	base, requests []decision.Request
}

// sessionRows are requests of users without a session, of users whose session grants nothing
// where they ask, and of users whose session does: these are compared with members of the
// group, so that both have the same grants.
func sessionRows(w *world, n int) []sessionRow {
	const requests = 2048
	rows := []sessionRow{{name: "user without a session"}, {name: "user with a session"}, {name: "user with a session that grants, x a member"}}
	for len(rows[2].requests) < requests {
		for _, r := range w.requests(requests) {
			r.Cluster = onCluster
			number, _ := strconv.Atoi(strings.TrimPrefix(r.User, "user-"))
			group := number % max(w.n/10, 1)
			if number >= n {
				if len(rows[0].requests) < requests {
					rows[0].add(r, r)
				}
				continue
			}
			there := r
			there.Namespace = fmt.Sprintf("ns-%d", (group+n/2)%max(w.n/10, 1))
			rows[1].add(there, there)
			member := r
			member.Groups = append(slices.Clip(r.Groups), fmt.Sprintf("group-%d", group))
			rows[2].add(member, r)
		}
	}
	return rows
}

// asks are what is compared: without sessions, then with them.
func (s *sessionRow) asks(ctx context.Context, without, with *engine.Engine) [2]func(i int) {
	return [2]func(i int){
		func(i int) { without.Access(ctx, &s.base[i%len(s.base)]) },
		func(i int) { with.Access(ctx, &s.requests[i%len(s.requests)]) },
	}
}

// fastest returns the seconds of processor time of one decision of each kind. The kinds take
// turns at a few requests, of which the fastest turn counts: the ratio of two kinds must not
// show what else the machine does.
func (s *sessionRow) fastest(asks [2]func(i int), rounds int) (took [2]float64) {
	const turn = 256
	for from := 0; from < len(s.requests); from += turn {
		var best [2]time.Duration
		for round := range rounds {
			for kind, ask := range asks {
				began := cpuTime()
				for i := range turn {
					ask(from + i)
				}
				if now := cpuTime() - began; round == 0 || now < best[kind] {
					best[kind] = now
				}
			}
		}
		for kind := range took {
			took[kind] += best[kind].Seconds() / float64(len(s.requests))
		}
	}
	return took
}

func (s *sessionRow) add(base, r decision.Request) {
	s.base, s.requests = append(s.base, base), append(s.requests, r)
}

// sessions prints what sessions cost decisions, and what it takes from a saved session to
// the answer that it changes.
func sessions(out *results, w *world, rounds int) error {
	ctx := context.Background()
	out.printf("\n%d roles and %d bindings, beside %d deny policies, and %d sessions in a file each\n", w.n, w.n, denyPolicies, heldSessions)
	without, with, err := sessionEngines(ctx, w, heldSessions)
	if err != nil {
		return err
	}
	for _, row := range sessionRows(w, heldSessions) {
		took := row.fastest(row.asks(ctx, without, with), 50*rounds)
		ratio := took[1] / took[0]
		out.printf("  %-44s %8.2f us, without sessions %8.2f us %5.2f x\n", row.name, took[1]*1e6, took[0]*1e6, ratio)
		out.reached(ratio, goalSessions)
	}
	if err := sessionChange(ctx, out, w, rounds); err != nil {
		return err
	}
	return sessionQuestions(ctx, out, w, rounds)
}

// sessionChange prints what it takes from a saved session, or a changed object of a cluster,
// to the answer that it changes, by the way a server goes, without the time it waits for more
// changes.
func sessionChange(ctx context.Context, out *results, w *world, rounds int) error {
	const changing = heldSessions / 2
	group := fmt.Sprintf("group-%d", changing%max(w.n/10, 1))
	granted := fmt.Sprintf(`{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: changing, namespace: sessions},
 roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: changing},
 subjects: [{kind: Group, apiGroup: rbac.authorization.k8s.io, name: %s}]}`, group)
	if err := os.WriteFile(filepath.Join(w.dir, "changing-group.yaml"), []byte(granted), 0o644); err != nil {
		return err
	}
	objects, err := watchedOf(ctx, w, filepath.Base(w.sessionFile(changing)))
	if err != nil {
		return err
	}
	request := &decision.Request{User: fmt.Sprintf("user-%d", changing), Verb: "get", Resource: "pods", Namespace: "sessions", Cluster: onCluster}
	directory := watch(ctx, source.Dir(w.dir, source.DirOptions{}))
	defer directory.stop()
	for _, row := range []struct {
		name, goal string
		r          *reload.Reloader
		save       func(text []byte) error
	}{
		{"one session changed, file", goalOneSession, newReloader(directory), func(text []byte) error {
			return directory.noticed(func() error { return os.WriteFile(w.sessionFile(changing), text, 0o644) })
		}},
		{"one session changed, watch event", goalOneEvent, newReloader(objects), objects.change},
	} {
		var least spent
		for round := range 2*rounds + 2 {
			state := [...]string{"Approved", "Expired"}[round%2]
			one, err := spend(func() error {
				if err := row.save([]byte(w.session(changing, state))); err != nil {
					return err
				}
				if err := row.r.Reload(ctx); err != nil {
					return err
				}
				if d := row.r.Current().Access(ctx, request); d.Allowed != (state == "Approved") {
					return fmt.Errorf("%s: the change does not show: %s", row.name, d.Reason)
				}
				return nil
			})
			if err != nil {
				return err
			}
			// The first two rounds read everything, and compile what is new.
			if round == 2 || round > 2 && one.wall < least.wall {
				least = one
			}
		}
		out.printf("  %-34s %10.3f s  %.3f s CPU, %d allocs\n", row.name, least.wall.Seconds(), least.cpu.Seconds(), least.allocs)
		out.reached(least.wall.Seconds(), row.goal, w.n)
	}
	return nil
}

// watched is a source that has all documents in memory, as the source of a cluster has, and
// learns of each change.
type watched struct {
	source.Source
	snapshot source.Snapshot
	at       int // the file that changes
}

// watchedOf is the documents of a world of which those of a file change.
func watchedOf(ctx context.Context, w *world, file string) (*watched, error) {
	snapshot, list, err := source.Dir(w.dir, source.DirOptions{}).Snapshot(ctx)
	at := slices.IndexFunc(snapshot.Files, func(f source.File) bool { return f.Path == file })
	if err != nil || list.HasErrors() || at < 0 {
		return nil, errors.Join(err, fmt.Errorf("%d diagnostics of the snapshot, which has %s at %d", len(list), file, at))
	}
	return &watched{snapshot: snapshot, at: at}, nil
}

// change replaces the file that changes.
func (s *watched) change(text []byte) error {
	s.snapshot.Files = slices.Clone(s.snapshot.Files)
	f := &s.snapshot.Files[s.at]
	f.Content, f.Hash = source.TextOf(text), sha256.Sum256(text)
	return nil
}

// Snapshot implements source.Source.
func (s *watched) Snapshot(context.Context) (source.Snapshot, diag.List, error) {
	return s.snapshot, nil, nil
}
