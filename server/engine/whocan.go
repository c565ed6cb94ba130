package engine

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/dates"
	"github.com/writ-policy/writ/translator/tables"
)

// WhoCan decides the request for each subject of bindings that apply to it: users
// without groups, groups without a user. Subjects whose bindings refer to the same
// roles in the same scopes get the same decision, so each such set of roles is decided
// once, unless a rule depends on the user. The clock is read once for all of them.
func (e *Engine) WhoCan(ctx context.Context, r *decision.Request) decision.WhoCan {
	now := e.now()
	e = e.then(now)
	answer := decision.WhoCan{
		Users: []string{}, Groups: []string{}, ServiceAccounts: []string{}, Revision: e.revision,
	}
	decisions := make(map[string]decision.Decision)
	warnings := make(map[string]bool)
	if policy, failure := e.deniesAll(ctx, r); policy != "" || failure != "" {
		answer.Reason, answer.EvaluationError, answer.Warnings = policy, failure, []string{}
		return answer
	}
	// Pod security evaluates pods, and the request names no pod.
	withoutPodError := *r
	withoutPodError.PodError = ""
	if missing, err := e.MissingFacts(ctx, &withoutPodError); err == nil && missing.Pod {
		warnings["pod security is left out: the question names no pod"] = true
	}
	for _, subject := range e.inReach(r) {
		set, same := e.bindingsOf(r, subject, dates.Of(now))
		d, ok := decisions[set]
		if !ok || !same {
			d = e.decide(ctx, evaluation{request: asked(r, subject), anonymous: true})
			decisions[set] = d
		}
		if d.EvaluationError != "" {
			failed := answer.Failed(d.EvaluationError)
			failed.Revision = e.revision
			return failed
		}
		e.add(&answer, subject, d)
		for _, warning := range d.Warnings {
			warnings[warning] = true
		}
	}
	answer.Warnings = slices.Sorted(maps.Keys(warnings))
	return answer
}

// deniesAll returns the reason of a deny policy that denies the request to every
// principal, or the evaluation error.
func (e *Engine) deniesAll(ctx context.Context, r *decision.Request) (policy, failure string) {
	if !e.features.Has(tables.FeatureDenyPolicies) {
		return "", ""
	}
	d := e.decide(ctx, evaluation{request: r, anonymous: true})
	if d.Denied && d.EvaluationError == "" && d.PodSecurity == nil {
		return d.Reason, ""
	}
	return "", d.EvaluationError
}

// add lists the subject if it is allowed, and as an exception if a deny rule matched,
// even one that did not decide: it may deny a member of a listed group.
func (e *Engine) add(answer *decision.WhoCan, subject string, d decision.Decision) {
	of := tables.ParseSubject(subject)
	if d.Allowed {
		switch {
		case of.IsGroup:
			answer.Groups = append(answer.Groups, of.Name)
		case strings.HasPrefix(of.Name, tables.AccountPrefix):
			answer.ServiceAccounts = append(answer.ServiceAccounts, of.Name)
		default:
			answer.Users = append(answer.Users, of.Name)
		}
	}
	for _, entry := range d.Matched {
		if entry.Effect != tables.EffectDeny || entry.Role == nil {
			continue // a DenyPolicy has no binding
		}
		exception := decision.Exception{Kind: "Group", Name: of.Name, Step: e.access.StepOf(entry.APIVersion, entry.Namespace, entry.Name, true)}
		if !of.IsGroup {
			exception.Kind = "User"
		}
		// Exceptions of a subject are adjacent.
		if last := len(answer.Except); last == 0 || answer.Except[last-1] != exception {
			answer.Except = append(answer.Except, exception)
		}
	}
}

// inReach returns the subjects of bindings for the cluster or the namespace of the
// request, sorted.
func (e *Engine) inReach(r *decision.Request) []string {
	subjects := make(map[string]bool)
	for subject := range e.access.Subjects.Cluster.All() {
		subjects[subject] = true
	}
	if r.Namespace != "" {
		for subject := range e.access.Subjects.Namespaces.At(r.Namespace).All() {
			subjects[subject] = true
		}
	}
	return slices.Sorted(maps.Keys(subjects))
}

// bindingsOf returns a key for the roles of the subject's bindings that hold at an instant,
// and their scopes. same is false if the decision may depend on the subject in other ways.
func (e *Engine) bindingsOf(r *decision.Request, subject string, at dates.Instant) (set string, same bool) {
	roles := make(map[string]bool)
	// The override of pod security by an escalation depends on groups.
	same = r.Pod == nil || !e.features.Has(tables.FeatureDenyPolicies)
	note := func(keys []string) {
		for _, key := range keys {
			binding := e.access.Bindings.At(key)
			if !binding.Dates.Holds(at) {
				continue
			}
			scope := "local "
			if binding.Cluster {
				scope = "cluster "
			}
			roles[scope+binding.Role] = true
			for _, rule := range e.access.Roles.At(binding.Role).Origin {
				if rule.Restrictions != nil {
					same = false
				}
			}
		}
	}
	note(e.access.Subjects.Cluster.At(subject))
	if r.Namespace != "" {
		note(e.access.Subjects.Namespaces.At(r.Namespace).At(subject))
	}
	return strings.Join(slices.Sorted(maps.Keys(roles)), "\n"), same
}

// asked returns the request as the subject alone would make it.
func asked(r *decision.Request, subject string) *decision.Request {
	alone := *r
	alone.User, alone.Groups = "", nil
	if of := tables.ParseSubject(subject); of.IsGroup {
		alone.Groups = []string{of.Name}
	} else {
		alone.User = of.Name
	}
	return &alone
}
