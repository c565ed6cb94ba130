package answers

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/writ-policy/writ/analysis/judge"
	"github.com/writ-policy/writ/analysis/reach"
	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/server/console"
)

// maxReached bounds the identities of a search, and maxShownPaths the paths of an answer.
const (
	maxReached    = 100_000
	maxShownPaths = 20
)

// Reach implements console.Viewer.
func (v *viewer) Reach(ctx context.Context, c console.Caller, q console.ReachQuery) (*console.Reach, error) {
	if err := v.admit(c); err != nil {
		return nil, err
	}
	now := v.x.o.Now()
	p := v.policies.At(now)
	o := reach.Options{
		World: statement.Of(p), Judge: judge.Of(p), Revision: v.Revision(), Now: now, To: []string{q.To}, Class: reach.Possible,
		MaxHops: reach.MaxHops, MaxChanges: reach.MaxChanges, MaxIdentities: maxReached,
	}
	if o.World == nil {
		return nil, console.Errorf(console.NotReady, "the bundle has no table of its deny policies")
	}
	if q.From != "" {
		o.From = []string{q.From}
	}
	report, err := reach.Find(ctx, o)
	if err != nil {
		return nil, reachError(ctx, err)
	}
	denied, err := reach.Denied(ctx, o, report)
	if err != nil {
		return nil, reachError(ctx, err)
	}
	all := len(report.Paths) + len(denied)
	report.Paths = append(report.Paths, denied...)
	if all > maxShownPaths {
		report.Paths = report.Paths[:maxShownPaths]
	}
	out := &console.Reach{Paths: []console.ReachPath{}, More: all - len(report.Paths), NotCovered: report.NotCovered, Revision: report.Revision,
		SVG: report.Linked(func(path, hop int) string { return fmt.Sprintf("#hop-%d-%d", path, hop) })}
	for i := range report.Paths {
		out.Paths = append(out.Paths, reachPath(&report.Paths[i]))
	}
	return out, nil
}

func reachError(ctx context.Context, err error) error {
	var invalid *reach.InputError
	switch {
	case errors.As(err, &invalid):
		return &console.Error{Reason: console.Invalid, Field: invalid.Field, Message: invalid.Error()}
	case errors.Is(err, reach.ErrTooManyIdentities), ctx.Err() != nil:
		return console.Errorf(console.Busy, "too many identities can be reached to answer here; writ reach follows more")
	}
	return err
}

func reachPath(p *reach.Path) console.ReachPath {
	out := console.ReachPath{From: p.Subject, To: p.To, Class: p.Class.String(), Why: p.Why, Hops: []console.ReachHop{}}
	for i := range p.Hops {
		h := &p.Hops[i]
		what, result, _ := strings.Cut(h.Text, ": ")
		hop := console.ReachHop{Edge: h.Edge, Class: h.Class.String(), What: what, Result: result, Assumes: h.Assumes, Why: h.Why, Grants: reachGrants(h.Grants), Denies: reachGrants(h.Denies)}
		for _, r := range h.Made() {
			hop.Requests = append(hop.Requests, statement.Encode(r))
		}
		out.Denied = out.Denied || len(h.Denies) > 0
		out.Hops = append(out.Hops, hop)
	}
	return out
}

// reachGrants returns rules in words, each once.
func reachGrants(list []reach.Grant) []console.ReachGrant {
	out := []console.ReachGrant{}
	for i := range list {
		text := strings.NewReplacer("; "+list[i].Source, "", " ("+list[i].Source+")", "").Replace(list[i].String())
		if i == 0 || list[i] != list[i-1] {
			out = append(out, console.ReachGrant{Text: text, Source: list[i].Source})
		}
	}
	return out
}
