package question

import (
	"context"
	"maps"
	"slices"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/translator/tables"
)

// Allowance is whether principals that are held together are allowed the requests of a question.
type Allowance struct {
	// Always states that they are allowed every one, denials of deny policies included.
	Always bool
	// Allowed is a request that is allowed. It is nil if no request is, and if Inexact is set
	// and none was found.
	Allowed map[string]any
	// Refused is a request that is not, if one was found.
	Refused map[string]any
	// Inexact states that an expression or an extension decides.
	Inexact bool
	// Opaque are the reasons of the statements that no list expresses: pod, cel or
	// extension:NAME.
	Opaque []string
}

// Allowance returns what principals are allowed of the requests of a question, nil for
// nothing. In contrast to WhoCan it counts the denials of deny policies: of those that deny
// has, which are all that may fit.
func (a *Asker) Allowance(ctx context.Context, q *Question, principals []string, deny []*statement.Statement) (*Allowance, error) {
	if err := a.prepare(q); err != nil {
		return nil, err
	}
	f := q.fit(deny)
	own := slices.DeleteFunc(a.bound(q, principals), func(s *statement.Statement) bool { return !f.fits(q, s) })
	subject, err := a.subject(ctx, q, f.deny, own, principals)
	if err != nil || subject == nil {
		return nil, err
	}
	out := &Allowance{Allowed: subject.Example, Refused: subject.Counterexample, Inexact: subject.Inexact,
		Always: subject.Verdict == verdictAlways && len(f.deny) == 0}
	for _, s := range slices.Concat(f.deny, own) {
		if s.Opaque != "" && !slices.Contains(out.Opaque, s.Opaque) {
			out.Opaque = append(out.Opaque, s.Opaque)
		}
	}
	for _, d := range f.deny {
		if r := q.find([]*statement.Statement{d}, nil, principals); r != nil && out.Refused == nil && d.Opaque == "" {
			out.Refused = r.Object(statement.PointAccess)
		}
	}
	return out, q.err()
}

// Grants are the rules by which a subject is allowed something, whatever else a request
// contains: a client may rely on each of them.
type Grants struct {
	Rules []GrantedRule
	// Omitted states what is allowed in some requests and is not in the rules; empty if
	// the rules are complete.
	Omitted []string
}

// GrantedRule is a rule in the form of Kubernetes. It has paths, or groups and resources.
type GrantedRule struct{ Verbs, APIGroups, Resources, ResourceNames, NonResourceURLs []string }

// Grants returns the rules of a subject in a namespace, and those for paths. Stated are
// members of a request that have a value for all of them; all others are open. It returns
// ErrTooComplex or the error of ctx if the rules cannot be computed.
func (a *Asker) Grants(ctx context.Context, user string, groups []string, namespace string, stated map[string]any) (*Grants, error) {
	out := &Grants{Rules: []GrantedRule{}}
	for _, at := range []struct {
		namespace string
		open      []string
	}{{namespace, []string{"verb", "apiGroup", "resource", "subresource", "name"}}, {"", []string{"verb", "path"}}} {
		q := &Question{User: user, Groups: groups, Stated: map[string]any{"namespace": at.namespace}}
		maps.Copy(q.Stated, stated)
		q.Open = slices.DeleteFunc(append(Facts(), at.open...), func(key string) bool { _, known := stated[key]; return known })
		if err := a.grants(ctx, q, user, out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (a *Asker) grants(ctx context.Context, q *Question, user string, out *Grants) error {
	if err := a.prepare(q); err != nil {
		return err
	}
	principals := q.principals()
	f := q.fit(a.World.Deny).add(q, slices.Values(a.bound(q, principals)))
	own := f.all[len(f.deny):]
	for _, s := range own {
		if s.Effect != statement.OutcomeAllow {
			continue
		}
		denials := slices.Concat(f.deny, below(own, s))
		touched := func(rule *statement.KubernetesRule) bool {
			narrow := *s
			narrow.Condition = rule
			return q.find([]*statement.Statement{&narrow}, []*statement.Statement{s}, principals) != nil ||
				slices.ContainsFunc(denials, func(d *statement.Statement) bool {
					return q.find([]*statement.Statement{&narrow, d}, nil, principals) != nil
				})
		}
		rules, isWhole := s.KubernetesRules()
		for _, rule := range rules {
			if err := ctx.Err(); err != nil {
				return err
			}
			kept := []*statement.KubernetesRule{rule}
			if touched(rule) {
				kept, isWhole = rule.Parts(touched), false
			}
			for _, k := range kept {
				out.Rules = append(out.Rules, GrantedRule{k.Verbs, k.Groups, k.Resources, k.Names, k.Paths})
			}
		}
		if !isWhole {
			title := s.Title()
			if selectors := s.Selectors(user); selectors != "" {
				title += " (holds with " + selectors + ")"
			}
			out.Omitted = append(out.Omitted, title)
		}
	}
	out.Omitted = tables.Once(out.Omitted)
	return q.err()
}
