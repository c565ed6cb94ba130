package origin

import (
	"context"
	"maps"
	"slices"

	"github.com/writ-policy/writ/analysis/question"
	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/tables"
)

// Principals are those for each of which, tried alone, a request is allowed. Lists are
// sorted, without duplicates.
type Principals struct {
	Users  []string // service accounts among them
	Groups []string
	// Except are the subjects that a deny rule of a binding matches: a member of a listed
	// group that is one of them may still be denied.
	Except   []string
	Warnings []string
	// Failure is why the evaluation failed; then nothing else is set.
	Failure string
}

// WhoCan tries the principals that documents name: users without groups, groups without a
// user. Principals that documents do not tell apart are tried once. The request has neither
// user nor groups; decide decides it for some at the time of p.
func WhoCan(ctx context.Context, p decision.Policies, r decision.Request, decide func(*decision.Request) decision.Decision) Principals {
	var out Principals
	world := statement.Of(p)
	warnings, err := leavePodOut(ctx, p, world, &r, decide)
	if err != nil {
		return Principals{Failure: err.Error()}
	}
	d := decide(as(r, ""))
	switch {
	case d.EvaluationError != "":
		return Principals{Failure: d.EvaluationError}
	case d.Denied && d.PodSecurity == nil && !hasDenial(&d):
		out.Warnings = []string{d.Reason}
		return out
	case world == nil:
		return Principals{Failure: "the bundle has no table of its deny policies"}
	}
	asker := &question.Asker{World: world}
	keys, err := asker.Alone(&question.Question{Stated: stated(&r), Open: question.Facts()})
	if err != nil {
		return Principals{Failure: err.Error()}
	}
	decisions := make(map[string]decision.Decision)
	for _, principal := range slices.Sorted(maps.Keys(keys)) {
		d, known := decisions[keys[principal]]
		if !known {
			d = decide(as(r, principal))
			decisions[keys[principal]] = d
			warnings = append(warnings, d.Warnings...)
		}
		if d.EvaluationError != "" {
			return Principals{Failure: d.EvaluationError}
		}
		out.add(tables.ParseSubject(principal), &d)
	}
	slices.Sort(warnings)
	out.Warnings = slices.Compact(warnings)
	return out
}

// add lists a principal if it is allowed, and as an exception if a deny rule matched, even
// one that did not decide.
func (w *Principals) add(of tables.Subject, d *decision.Decision) {
	kind, list := "User ", &w.Users
	if of.IsGroup {
		kind, list = "Group ", &w.Groups
	}
	if d.Allowed {
		*list = append(*list, of.Name)
	}
	if hasDenial(d) {
		w.Except = append(w.Except, kind+of.Name)
	}
}

// hasDenial reports whether a deny rule of a binding matched: a DenyPolicy has no role.
func hasDenial(d *decision.Decision) bool {
	return slices.ContainsFunc(d.Matched, func(m decision.Matched) bool { return m.Effect == tables.EffectDeny && m.Role != nil })
}

// leavePodOut adds a pod that pod security lets pass to a request that lacks one, and returns
// the warning about it.
func leavePodOut(ctx context.Context, p decision.Policies, world *statement.World, r *decision.Request, decide func(*decision.Request) decision.Decision) ([]string, error) {
	missing, err := p.MissingFacts(ctx, r)
	if err != nil || !missing.Pod || world == nil {
		return nil, err
	}
	for _, labels := range append([]map[string]string{nil}, world.ExemptLabels()...) {
		r.Pod = statement.PodOf(nil, labels)
		if d := decide(as(*r, "")); !d.Denied || d.PodSecurity == nil {
			break
		}
	}
	return []string{"pod security is left out: the question names no pod"}, nil
}

// as returns the request as a principal alone would make it; empty for one that no document
// names.
func as(r decision.Request, principal string) *decision.Request {
	switch of := tables.ParseSubject(principal); {
	case principal == "":
		r.User = "unnamed"
	case of.IsGroup:
		r.Groups = []string{of.Name}
	default:
		r.User = of.Name
	}
	return &r
}

// stated are the members of a request that a question states.
func stated(r *decision.Request) map[string]any {
	out := map[string]any{
		"verb": r.Verb, "apiGroup": r.APIGroup, "resource": r.Resource, "subresource": r.Subresource,
		"namespace": r.Namespace, "name": r.Name, "path": r.Path, "cluster": r.Cluster,
	}
	if r.Pod != nil {
		out["pod"] = r.Pod
	}
	return out
}
