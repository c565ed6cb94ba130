package engine

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/tables"
)

const accountPrefix = "system:serviceaccount:"

// WhoCan tries every principal that a binding in reach of the request names,
// each alone: users without groups, groups without a user. Principals whose
// bindings lead to the same roles in the same places get the same answer, so
// each such set is decided once, unless what it leads to reads the user's name.
func (e *Engine) WhoCan(ctx context.Context, r *decision.Request) decision.WhoCan {
	answer := decision.WhoCan{
		Users: []string{}, Groups: []string{}, ServiceAccounts: []string{}, Revision: e.revision,
	}
	known := make(map[string]decision.Decision)
	warnings := make(map[string]bool)
	if policy, failure := e.deniesAll(ctx, r); policy != "" || failure != "" {
		answer.Reason, answer.EvaluationError, answer.Warnings = policy, failure, []string{}
		return answer
	}
	// Pod security judges pods, and none is asked about.
	nameless := *r
	nameless.PodError = ""
	if missing, err := e.MissingFacts(ctx, &nameless); err == nil && missing.Pod {
		warnings["pod security is left out: the question names no pod"] = true
	}
	for _, subject := range e.inReach(r) {
		set, same := e.bindingsOf(r, subject)
		d, ok := known[set]
		if !ok || !same {
			d = e.decide(ctx, evaluation{request: asked(r, subject), anonymous: true})
			known[set] = d
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

// add lists the subject where it is allowed, and as an exception where a deny
// rule matched, overridden or not: a member of a listed group may still meet it.
func (e *Engine) add(answer *decision.WhoCan, subject string, d decision.Decision) {
	user, isUser := strings.CutPrefix(subject, "user:")
	group := strings.TrimPrefix(subject, "group:")
	if d.Allowed {
		switch {
		case strings.HasPrefix(user, accountPrefix):
			answer.ServiceAccounts = append(answer.ServiceAccounts, user)
		case isUser:
			answer.Users = append(answer.Users, user)
		default:
			answer.Groups = append(answer.Groups, group)
		}
	}
	for _, entry := range d.Matched {
		if entry.Effect != "deny" || entry.Role == nil {
			continue // a DenyPolicy has no binding
		}
		exception := decision.Exception{Kind: "Group", Name: group, Step: 5}
		if isUser {
			exception.Kind, exception.Name = "User", user
		}
		if entry.Namespace == e.access.Master {
			exception.Step = 3
		}
		// A subject's exceptions come together.
		if last := len(answer.Except); last == 0 || answer.Except[last-1] != exception {
			answer.Except = append(answer.Except, exception)
		}
	}
}

// inReach is every subject that a binding for the cluster or for the request's
// namespace names, sorted.
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

// bindingsOf names what the subject's bindings lead to. same is false where a
// decision may depend on who asks beyond that.
func (e *Engine) bindingsOf(r *decision.Request, subject string) (set string, same bool) {
	roles := make(map[string]bool)
	// An escalation's override of pod security depends on groups.
	same = r.Pod == nil || !e.features.Has(tables.FeatureDenyPolicies)
	note := func(keys []string) {
		for _, key := range keys {
			binding := e.access.Bindings.At(key)
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

// asked is the request as the subject alone would make it.
func asked(r *decision.Request, subject string) *decision.Request {
	alone := *r
	alone.User, alone.Groups = "", nil
	if user, ok := strings.CutPrefix(subject, "user:"); ok {
		alone.User = user
	} else {
		alone.Groups = []string{strings.TrimPrefix(subject, "group:")}
	}
	return &alone
}
