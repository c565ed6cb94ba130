package question

import (
	"context"
	"maps"
	"slices"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/translator/tables"
)

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
