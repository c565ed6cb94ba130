package risk

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/tables"
)

// Finding is a dangerous power that a binding grants.
type Finding struct {
	Code     diag.Code `json:"code"`
	Severity string    `json:"severity"`
	Level    Level     `json:"-"`
	// Can completes the sentence "the subjects can ...".
	Can string `json:"can"`
	// Instance is one of the requests, for people, if Can does not name any.
	Instance string `json:"instance,omitempty"`
	// Subjects are the principals that hold the power, sorted: "user:NAME" or "group:NAME".
	Subjects []string `json:"subjects"`
	// Where is "everywhere", a namespace, or empty for some namespaces.
	Where string `json:"where"`
	// IsNamed is true if the power is only for names that the rule or the binding lists.
	IsNamed bool `json:"isNamed,omitempty"`
	// Condition is what the rule reads beside the members of a request, so that it may allow
	// less than is reported: "extension NAME" or "CEL". It is empty for other rules.
	Condition string `json:"condition,omitempty"`
	// Binding and Role are the documents that grant it, each with its line.
	Binding Place `json:"binding"`
	Role    Place `json:"role"`
	// Rule is the index of the rule of the role.
	Rule int `json:"rule"`
	// Sources are the places of all rules of the role that allow it.
	Sources []string `json:"-"`
	// Example is a request that the rule allows to the first subject, if its condition holds.
	Example map[string]any `json:"example,omitempty"`
}

// What returns what the subjects can do, with an instance and the condition.
func (f *Finding) What() string {
	out := f.Can
	if f.Instance != "" {
		out += ", for example " + f.Instance
	}
	if f.Condition != "" {
		out += ", if " + f.Condition + " allows it"
	}
	return out
}

// Reach is Where and IsNamed in words, such as "in namespace "shop"".
func (f *Finding) Reach() string {
	switch {
	case f.IsNamed && f.Where == "":
		return "for some names"
	case f.IsNamed:
		return fmt.Sprintf("for some names in namespace %q", f.Where)
	case f.Where == "":
		return "in some namespaces"
	case f.Where == "everywhere":
		return f.Where
	}
	return fmt.Sprintf("in namespace %q", f.Where)
}

// Place is a document with its line.
type Place struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	Source    string `json:"source"`
}

// String names the document.
func (p Place) String() string {
	return statement.DocumentName(statement.Document{Kind: p.Kind, Namespace: p.Namespace, Name: p.Name})
}

// finder is the state of one search.
type finder struct {
	world  *statement.World
	denied []*statement.Statement // by deny policies, without what is opaque
	admins map[string]bool        // principals that may do everything, everywhere
	known  map[question]result
}

type question struct {
	rule      *rule
	condition statement.Condition
	namespace string
	denials   string // of the subject, by address
}

type result struct {
	attempt
	example map[string]any
}

// Of returns the findings of a revision, the most severe first, then by binding and code.
// It returns the error of ctx if that ends.
func Of(ctx context.Context, w *statement.World) ([]Finding, error) {
	f := &finder{world: w, admins: make(map[string]bool), known: make(map[question]result)}
	f.denied = slices.DeleteFunc(slices.Clone(w.Deny), func(s *statement.Statement) bool { return s.Opaque != "" })
	out := []Finding{}
	all := []*rule{&allPowers, &everybody, &defaultAccount}
	for i := range rules {
		all = append(all, &rules[i])
	}
	for pass := range 2 { // who may do everything is known before the rest
		for key, b := range w.Access.Bindings.All() {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			statements := w.Binding(key)
			if pass == 0 {
				f.findAdmins(statements)
				continue
			}
			out = append(out, f.ofBinding(b, statements, all)...)
		}
	}
	slices.SortStableFunc(out, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(b.Level, a.Level), strings.Compare(a.Binding.Source, b.Binding.Source),
			strings.Compare(a.Binding.String(), b.Binding.String()), strings.Compare(string(a.Code), string(b.Code)))
	})
	return out, nil
}

// ofBinding returns at most one finding of each rule. Beside all powers only the rules
// about who holds them are reported.
func (f *finder) ofBinding(b *tables.Binding, statements []*statement.Statement, all []*rule) []Finding {
	var out []Finding
	hasAll := false
	for i, r := range all {
		if hasAll && i > 2 {
			break
		}
		if found := f.find(r, b, statements); found != nil {
			out = append(out, *found)
			hasAll = hasAll || i == 0
		}
	}
	return out
}

func (f *finder) findAdmins(statements []*statement.Statement) {
	for _, s := range statements {
		for _, p := range s.Subjects {
			if s.Effect == statement.OutcomeAllow && s.Opaque == "" && f.result(&allPowers, s, p).reach == everywhere {
				f.admins[p] = true
			}
		}
	}
}

// find returns the finding of a rule for a binding, of its most severe statement.
func (f *finder) find(r *rule, b *tables.Binding, statements []*statement.Statement) *Finding {
	var out *Finding
	subjects, sources := make(map[string]bool), make(map[string]bool)
	for _, s := range statements {
		if s.Effect != statement.OutcomeAllow {
			continue
		}
		for _, p := range s.Subjects {
			if isStock(b, p) || !r.isAbout(p) {
				continue
			}
			found := f.result(r, s, p)
			if found.reach == nowhere {
				continue
			}
			subjects[p] = true
			sources[s.Documents[0].Source] = true
			if level := f.level(r, p, found.reach); out == nil || level > out.Level || level == out.Level && narrower(out, s, found) {
				out = f.finding(r, b, s, level, found, p)
			}
		}
	}
	if out != nil {
		out.Subjects, out.Sources = slices.Sorted(maps.Keys(subjects)), slices.Sorted(maps.Keys(sources))
	}
	return out
}

// narrower reports whether a finding says less than a statement that reaches as far: for some
// names, or under a condition.
func narrower(f *Finding, s *statement.Statement, found result) bool {
	if hadCondition, has := f.Condition != "", s.Opaque != ""; hadCondition != has {
		return hadCondition
	}
	return f.IsNamed && !found.isNamed
}

func (f *finder) finding(r *rule, b *tables.Binding, s *statement.Statement, level Level, found result, principal string) *Finding {
	role := f.world.Access.Roles.At(b.Role)
	out := &Finding{Code: r.code, Level: level, Severity: level.String(), Can: r.can, Instance: r.instance(found.example, s.Condition),
		Binding: Place{b.Kind, b.Namespace, b.Name, b.Source},
		IsNamed: found.isNamed, Condition: conditionOf(s),
		Role: Place{role.Kind, role.Namespace, role.Name, s.Documents[0].Source}, Rule: s.Documents[0].Rule}
	switch {
	case found.reach == everywhere:
		out.Where = "everywhere"
	case s.Namespace != "":
		out.Where = s.Namespace
	case found.reach == inSystem, r.probes[0].namespace != "":
		out.Where = systemNamespace
	}
	if found.example != nil {
		asked, _ := statement.RequestOf(statement.PointAccess, []string{principal})
		out.Example = statement.With(found.example, "user", asked.User)
		if len(asked.Groups) > 0 {
			out.Example["groups"] = asked.Groups
		}
	}
	return out
}

// conditionOf names what an opaque statement reads.
func conditionOf(s *statement.Statement) string {
	switch {
	case s.Opaque == "":
		return ""
	case statement.IsExtension(s.Opaque):
		return strings.Replace(s.Opaque, ":", " ", 1)
	}
	return strings.ToUpper(s.Opaque)
}

// level returns how much a power matters.
func (f *finder) level(r *rule, principal string, found reach) Level {
	if r != &allPowers && f.admins[principal] && !isEverybody(principal) {
		return low // it adds nothing
	}
	return r.levelOf(principal, found)
}

// levelOf returns how much a power matters by who holds it and how far it reaches.
func (r *rule) levelOf(principal string, found reach) Level {
	level := r.level
	if r != &everybody && r != &defaultAccount {
		level += weight(principal)
	} else if principal != everyone[0] && isEverybody(principal) {
		level++ // without a name
	}
	switch found {
	case oneNamespace:
		level--
	case someNames:
		level -= 2
	case nowhere, inSystem, everywhere: // as the rule has it
	}
	return min(max(level, low), critical)
}

// result returns how far a principal holds a power by a statement.
func (f *finder) result(r *rule, s *statement.Statement, principal string) result {
	own := f.denialsOf(s, principal)
	key := question{rule: r, condition: s.Condition, namespace: s.Namespace}
	for _, d := range own {
		key.denials += statement.ContentOf(d) + "\x00"
	}
	found, ok := f.known[key]
	if !ok {
		found.attempt, found.example = r.reach([]*statement.Statement{s}, slices.Concat(f.denied, own))
		f.known[key] = found
	}
	return found
}

// denialsOf returns the deny rules of a principal that are decided before a statement.
func (f *finder) denialsOf(s *statement.Statement, principal string) []*statement.Statement {
	if !f.world.HasDenials() {
		return nil
	}
	return slices.DeleteFunc(f.world.Of(principal, s.Namespace), func(d *statement.Statement) bool {
		return d.Effect != statement.OutcomeDeny || d.Step >= s.Step || d.Opaque != ""
	})
}
