package lint

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/tables"
)

// Revision is one side of a change.
type Revision struct {
	Tables tables.List
	// Extensions are the texts of the Rego modules of extensions, by file.
	Extensions map[string]string
	// Routes are the places (file:line) of routes, by KIND/NAMESPACE/NAME.
	Routes map[string]string
}

// Relaxed returns a diagnostic for each denial that goes away for the author, at all
// three points: a deny rule, a deny policy, an override of pod security, an extension
// that a rule of the author calls, a policy that limits what the author sees, an
// authentication or authorization rule of a path. It compares documents and not
// decisions. Therefore it also reports some changes that permit nothing new; it does
// not exempt authors who may escalate.
func Relaxed(now, base Revision, author Author) diag.List {
	c := &relaxed{author: author}
	c.denyRules(tables.Of[*tables.Access](now.Tables), tables.Of[*tables.Access](base.Tables))
	c.extensions(now, base)
	if before := tables.Of[*tables.Deny](base.Tables); before != nil {
		after := tables.Of[*tables.Deny](now.Tables)
		if after == nil {
			after = &tables.Deny{}
		}
		c.denyPolicies(after, before)
		c.overrides(after, before)
	}
	c.views(tables.Of[*tables.Visibility](now.Tables), tables.Of[*tables.Visibility](base.Tables))
	c.comparePaths(tables.Of[*tables.Gateway](now.Tables), tables.Of[*tables.Gateway](base.Tables), now.Routes)
	return c.list.Sorted()
}

// relaxed is the state of one comparison.
type relaxed struct {
	author Author
	list   diag.List
}

// removed reports what is only in the base.
func (c *relaxed) removed(source, format string, args ...any) {
	c.report(source, format+" (%s of the base)", append(args, source)...)
}

// example describes a request of the author that the base does not allow and the change
// does, empty if it is not one.
func (c *relaxed) example(q Question) string {
	q.User, q.Groups = c.author.User, c.author.Groups
	if c.author.May == nil || c.author.MayNow == nil || c.author.May(q) || !c.author.MayNow(q) {
		return ""
	}
	text := q.Verb + " " + q.Resource
	if q.Subresource != "" {
		text += "/" + q.Subresource
	}
	if q.APIGroup != "" {
		text += "." + q.APIGroup
	}
	if q.Namespace != "" {
		text += " in namespace " + strconv.Quote(q.Namespace)
	}
	return fmt.Sprintf("; the author may now %s", text)
}

// sampleWord returns the first of the words that a rule lists, or the other word if the
// rule lists none or "*".
func sampleWord(words []string, other string) string {
	if len(words) == 0 || words[0] == "*" {
		return other
	}
	return words[0]
}

// report adds a diagnostic at a source, which is file:line.
func (c *relaxed) report(source, format string, args ...any) {
	position, ok := diag.ParseSource(source)
	if !ok {
		position = diag.Position{File: source, Line: 1, Column: 1}
	}
	c.list.Add(diag.Diagnostic{
		Position: position,
		Code:     diag.Escalation,
		Message:  fmt.Sprintf("a denial goes away for %s: ", c.author) + fmt.Sprintf(format, args...),
		Hint:     "keep the denial, or have the change approved by other means",
	})
}

// subjects are the author's keys in the tables. Every user is in system:authenticated.
func (c *relaxed) subjects() []string {
	return append(newPermissions(&tables.Access{}, c.author).subjects, "group:"+authenticated)
}

const authenticated = "system:authenticated"

// denyRules compares the deny rules that are bound to the author, binding by binding.
func (c *relaxed) denyRules(now, base *tables.Access) {
	if base == nil {
		return
	}
	if now == nil {
		now = &tables.Access{}
	}
	after, before := subjectsOf(now), subjectsOf(base)
	for key, b := range base.Bindings.All() {
		still := now.Bindings.At(key)
		for _, subject := range c.subjects() {
			if !slices.Contains(before[key], subject) {
				continue
			}
			kept := slices.Contains(after[key], subject) && still.Cluster == b.Cluster
			for _, rule := range base.Roles.At(b.Role).Origin {
				if !rule.Deny || kept && hasRule(now.Roles.At(still.Role).Origin, rule) {
					continue
				}
				kind, subresource, _ := strings.Cut(sampleWord(rule.Kinds, "pods"), "/")
				c.removed(rule.Source, "rule %d of Role %q is removed or changed, or %s %q no longer binds it%s",
					rule.Rule, base.Roles.At(b.Role).Name, b.Kind, b.Name, c.example(Question{
						Verb: sampleWord(rule.Verbs, "get"), Resource: sampleWord([]string{kind}, "pods"), Subresource: subresource, Namespace: b.Namespace,
					}))
			}
		}
	}
}

// hasRule reports whether a role has an equal rule, at any index and line.
func hasRule(rules []tables.OriginRule, wanted tables.OriginRule) bool {
	return slices.ContainsFunc(rules, func(r tables.OriginRule) bool {
		r.Rule, r.Source = wanted.Rule, wanted.Source
		return reflect.DeepEqual(r, wanted)
	})
}

// extensions reports changed modules if a rule that is bound to the author, in either
// revision, calls an extension: a module may call another.
func (c *relaxed) extensions(now, base Revision) {
	var changed []string
	for name, text := range base.Extensions {
		if other, ok := now.Extensions[name]; !ok || other != text {
			changed = append(changed, name)
		}
	}
	for name := range now.Extensions {
		if _, ok := base.Extensions[name]; !ok {
			changed = append(changed, name)
		}
	}
	if len(changed) == 0 || !c.callsExtension(now) && !c.callsExtension(base) {
		return
	}
	slices.Sort(changed)
	for _, name := range changed {
		c.report(name+":1", "the module %s of an extension is added, removed or changed, and a rule that is bound to the author calls an extension", name)
	}
}

func (c *relaxed) callsExtension(r Revision) bool {
	access := tables.Of[*tables.Access](r.Tables)
	if access == nil {
		return false
	}
	named := subjectsOf(access)
	for key, b := range access.Bindings.All() {
		if !slices.ContainsFunc(c.subjects(), func(s string) bool { return slices.Contains(named[key], s) }) {
			continue
		}
		if slices.ContainsFunc(access.Roles.At(b.Role).Origin, func(r tables.OriginRule) bool {
			return r.Restrictions != nil && r.Restrictions.Extension != ""
		}) {
			return true
		}
	}
	return false
}
