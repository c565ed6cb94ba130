package access

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/dates"
	"github.com/writ-policy/writ/translator/tables"
)

// WhoCan are the principals for each of which, tried alone, the decision on a request is
// allowed. Lists are sorted, without duplicates, and never nil.
type WhoCan struct {
	Users           []string
	Groups          []string
	ServiceAccounts []string // as system:serviceaccount:NS:NAME
	// Except lists the subjects of bindings with a matching deny rule: a member of
	// a listed group that is one of these subjects may still be denied.
	Except   []Exception
	Warnings []string
	// Reason is set if one deny policy denies the request to every principal; then no
	// principal is listed.
	Reason string
	// EvaluationError describes why the evaluation failed; empty if it succeeded.
	EvaluationError string
}

// Exception is a subject of a binding with a matching deny rule.
type Exception struct {
	Kind string // User or Group
	Name string
	// Step is the position of the rule in the order of evaluation: 3 for the master
	// namespace, 5 for the namespace of the request.
	Step int
}

// failedWhoCan returns the answer for a failed evaluation: it lists no principal.
func failedWhoCan(cause string) WhoCan {
	return WhoCan{Users: []string{}, Groups: []string{}, ServiceAccounts: []string{}, Warnings: []string{}, Reason: cause, EvaluationError: cause}
}

// WhoCan lists principals, within the time its caller leaves.
func (a *Decider) WhoCan(r *http.Request, p decision.Policies, q *decision.Request) (w WhoCan) {
	if err := a.assignCluster(q); err != nil {
		return failedWhoCan(err.Error())
	}
	ctx, cancel := context.WithTimeout(r.Context(), a.service.Budget(r))
	defer cancel()
	defer a.service.Guard.Protect(ctx, func(cause string) { w = failedWhoCan(cause) })
	return AskWhoCan(ctx, p, q)
}

// AskWhoCan decides a request, which has neither user nor groups, for each subject of bindings
// that apply to it: users without groups, groups without a user. Subjects whose bindings refer
// to the same roles in the same scopes get the same decision, so each such set of roles is
// decided once, unless a rule depends on the user. The clock is read once for all of them.
//
// Package question answers another question: in which of the requests that a question leaves
// open a subject is allowed, pods among them. Here nothing is open, and what the review does
// not state is undecidable, as in a decision.
func AskWhoCan(ctx context.Context, p decision.Policies, r *decision.Request) WhoCan {
	now := p.Now()
	p = p.At(now)
	switch d := p.Access(ctx, r.Alone("")); {
	case d.EvaluationError != "":
		return failedWhoCan(d.EvaluationError)
	case d.Denied && d.PodSecurity == nil:
		answer := failedWhoCan("")
		answer.Reason = d.Reason
		return answer
	}
	answer := WhoCan{Users: []string{}, Groups: []string{}, ServiceAccounts: []string{}}
	warnings := make(map[string]bool)
	// Pod security evaluates pods, and the request names no pod.
	withoutPodError := *r
	withoutPodError.PodError = ""
	if missing, err := p.MissingFacts(ctx, &withoutPodError); err == nil && missing.Pod {
		warnings["pod security is left out: the question names no pod"] = true
	}
	in := bound{p.Tables(), r.Namespace, dates.Of(now)}
	// The override of pod security by an escalation depends on groups.
	isShared := r.Pod == nil || !p.Tables().Features.Has(tables.FeatureDenyPolicies)
	decisions := make(map[string]decision.Decision)
	for _, subject := range in.subjects() {
		set, isSame := in.rolesOf(subject)
		d, ok := decisions[set]
		if !ok || !isSame || !isShared {
			d = p.Access(ctx, r.Alone(subject))
			decisions[set] = d
		}
		if d.EvaluationError != "" {
			return failedWhoCan(d.EvaluationError)
		}
		answer.add(in.Revision, subject, &d)
		for _, warning := range d.Warnings {
			warnings[warning] = true
		}
	}
	answer.Warnings = append([]string{}, slices.Sorted(maps.Keys(warnings))...)
	return answer
}

// add lists the subject if it is allowed, and as an exception if a deny rule matched,
// even one that did not decide: it may deny a member of a listed group.
func (w *WhoCan) add(t *tables.Revision, subject string, d *decision.Decision) {
	of := tables.ParseSubject(subject)
	if d.Allowed {
		list := &w.Users
		if of.IsGroup {
			list = &w.Groups
		} else if strings.HasPrefix(of.Name, tables.AccountPrefix) {
			list = &w.ServiceAccounts
		}
		*list = append(*list, of.Name)
	}
	for _, entry := range d.Matched {
		if entry.Effect != tables.EffectDeny || entry.Role == nil {
			continue // a DenyPolicy has no binding
		}
		exception := Exception{Kind: "Group", Name: of.Name, Step: t.Access().StepOf(entry.APIVersion, entry.Namespace, entry.Name, true)}
		if !of.IsGroup {
			exception.Kind = "User"
		}
		// Exceptions of a subject are adjacent.
		if last := len(w.Except); last == 0 || w.Except[last-1] != exception {
			w.Except = append(w.Except, exception)
		}
	}
}

// bound is the bindings for the whole cluster and for a namespace, empty for none, at an instant.
type bound struct {
	*tables.Revision
	namespace string
	at        dates.Instant
}

// each calls f with the bindings of subjects, by subject.
func (b *bound) each(f func(tables.Map[[]string])) {
	f(b.Access().Subjects.Cluster)
	if b.namespace != "" {
		f(b.Access().Subjects.Namespaces.At(b.namespace))
	}
}

// subjects returns the subjects of bindings, sorted.
func (b *bound) subjects() []string {
	subjects := make(map[string]bool)
	b.each(func(of tables.Map[[]string]) {
		for subject := range of.All() {
			subjects[subject] = true
		}
	})
	return slices.Sorted(maps.Keys(subjects))
}

// rolesOf returns a key for the roles of the subject's bindings that hold, and their scopes.
// isSame is false if the decision may depend on the subject in other ways.
func (b *bound) rolesOf(subject string) (set string, isSame bool) {
	roles := make(map[string]bool)
	isSame = true
	b.each(func(of tables.Map[[]string]) {
		for _, key := range of.At(subject) {
			binding := b.Access().Bindings.At(key)
			if !binding.Dates.Holds(b.at) {
				continue
			}
			scope := "local "
			if binding.Cluster {
				scope = "cluster "
			}
			roles[scope+binding.Role] = true
			isSame = isSame && !slices.ContainsFunc(b.Access().Roles.At(binding.Role).Origin, func(r tables.OriginRule) bool { return r.Restrictions != nil })
		}
	})
	return strings.Join(slices.Sorted(maps.Keys(roles)), "\n"), isSame
}
