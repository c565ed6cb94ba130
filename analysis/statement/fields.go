package statement

import (
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/rule"
	"github.com/writ-policy/writ/translator/tables"
)

// Field is a list of a rule: its verbs, API groups, resources, kinds, names or paths.
type Field struct {
	Name    string
	Entries []string
	// Value returns what a request has where the entries are compared.
	Value func(*Request) string

	covers func(entry string, r *Request) bool
}

// Used returns the entries that a request, which the rule matches, needs: the one that
// equals its value, or all that cover it.
func (f *Field) Used(r *Request) []string {
	value := f.Value(r)
	if slices.Contains(f.Entries, value) {
		return []string{value}
	}
	covering := slices.DeleteFunc(slices.Clone(f.Entries), func(entry string) bool { return !f.covers(entry, r) })
	for _, entry := range covering {
		if strings.EqualFold(entry, value) {
			return []string{entry}
		}
	}
	return covering
}

// fields returns the lists of a rule, none for pod security and impersonation.
func (r *Rule) fields() []Field {
	switch c := r.Condition.(type) {
	case *KubernetesRule:
		return c.lists()
	case *OriginRule:
		return c.lists()
	case *denyRule:
		return c.lists()
	}
	return nil
}

func verbOf(r *Request) string     { return r.Verb }
func groupOf(r *Request) string    { return r.Group }
func nameOf(r *Request) string     { return r.Name }
func pathOf(r *Request) string     { return r.Path }
func resourceOf(r *Request) string { return strings.TrimSuffix(r.Resource+"/"+r.Subresource, "/") }

// coversWord compares an entry that is a word or "*".
func coversWord(value func(*Request) string) func(string, *Request) bool {
	return func(entry string, r *Request) bool { return HasWord([]string{entry}, value(r)) }
}

func (k *KubernetesRule) lists() []Field {
	verbs := Field{"verbs", k.Verbs, verbOf, coversWord(verbOf)}
	if len(k.Paths) > 0 {
		return []Field{verbs, {"nonResourceURLs", k.Paths, pathOf, func(entry string, r *Request) bool { return rule.CoversPath(entry, r.Path) }}}
	}
	return []Field{verbs, {"apiGroups", k.Groups, groupOf, coversWord(groupOf)},
		{"resources", k.Resources, resourceOf, func(entry string, r *Request) bool {
			return (&KubernetesRule{KubernetesLists: &tables.KubernetesLists{Resources: []string{entry}}}).Match(stageTarget, r) != 0
		}},
		{"resourceNames", k.Names, nameOf, coversWord(nameOf)}}
}

func (o *OriginRule) lists() []Field {
	alone := func(r *Request, verbs, kinds []string) bool {
		return (&OriginRule{Deny: o.Deny, Verbs: verbs, Kinds: kinds}).match(r, until(stageVerb))
	}
	return []Field{
		{"verbs", o.Verbs, verbOf, func(entry string, r *Request) bool { return alone(r, []string{entry}, o.Kinds) }},
		{"resourceKinds", o.Kinds, resourceOf, func(entry string, r *Request) bool { return alone(r, o.Verbs, []string{entry}) }},
	}
}

func (d *denyRule) lists() []Field {
	written := d.rule()
	spelled := func(r *Request, matches func(rule.Spelling) bool) bool {
		return slices.ContainsFunc(rule.Spellings(r.Verb, r.Subresource), matches)
	}
	verb := func(entry string, r *Request) bool {
		return spelled(r, func(f rule.Spelling) bool {
			return HasWord([]string{entry}, f.Verb) || entry == rule.Impersonate && strings.HasPrefix(f.Verb, rule.IdentityPrefix)
		})
	}
	group := func(entry string, r *Request) bool {
		return HasWord([]string{entry}, r.Group) || strings.HasPrefix(r.Verb, rule.IdentityPrefix)
	}
	resource := func(entry string, r *Request) bool {
		kind, sub, slash := strings.Cut(entry, "/")
		return (kind == "*" || slices.Contains(rule.Resources(r.Resource), kind)) &&
			(!slash || sub == "*" || spelled(r, func(f rule.Spelling) bool { return f.Subresource == sub }))
	}
	name := func(entry string, r *Request) bool {
		return slices.ContainsFunc(d.r.Names, func(g tables.PathGlob) bool {
			return GlobTexts([]tables.PathGlob{g})[0] == entry && rule.MatchGlob(g, r.Name)
		})
	}
	return []Field{{"verbs", written.Verbs, verbOf, verb}, {"apiGroups", written.APIGroups, groupOf, group},
		{"resources", written.Resources, resourceOf, resource}, {"resourceNames", written.ResourceNames, nameOf, name}}
}
