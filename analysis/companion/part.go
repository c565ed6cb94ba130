package companion

import (
	"slices"
	"strings"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/translator/rule"
	"github.com/writ-policy/writ/translator/tables"
)

// operation is an operation of admission that has an object.
type operation int

const (
	create operation = iota
	update
	remove
	operations
)

var operationNames = [operations]string{"CREATE", "UPDATE", "DELETE"}

// operationVerbs are the verbs of requests that become an operation: admission does not tell
// them apart.
var operationVerbs = [operations][]string{{"create"}, {"update", "patch"}, {"delete", "deletecollection"}}

// state is what a part is for one operation.
type state struct {
	covers      bool // some write matches
	conditional bool // the object decides
	problem     *problem
}

// problem is why a part cannot be printed.
type problem struct{ code, reason string }

// text is the rule of a part as CEL. Bindings of one role share it.
type text struct {
	at [operations]state
	// match is the condition on what a review states. facts is one on what it does not, and
	// object one on a version "o" of the object. They are empty without one.
	match, facts, object string
	resources            map[string]bool // words for the only resources; nil: any
	readsNode            bool            // object compares the node of the user
	seen                 bool            // a restriction limits the rule, whatever its verbs are
}

// part is a statement as CEL.
type part struct {
	*text
	step      int
	deny      bool
	namespace string   // the only one; empty: every one, and none
	subjects  []string // nil: everybody
	title     string   // of the document, for messages
	source    string   // FILE:LINE of the rule
	what      string   // the condition in words
	isDated   bool
	rule      Rule             // of a binding
	printed   [operations]bool // its condition is a validation
}

// state returns what the part is for an operation, its subjects and dates included.
func (p *part) state(op operation) state {
	s := p.at[op]
	switch {
	case !s.covers || s.problem != nil:
	case p.isDated:
		s.problem = &problem{codeDated, "it begins or ends, or a session lends its group: admission has no clock"}
	case p.readsNode && !areNodes(p.subjects):
		s.problem = &problem{codeMinion, "a subject is not a user system:node:NAME, and admission does not say on which node another one is"}
	}
	return s
}

func areNodes(subjects []string) bool {
	return subjects != nil && !slices.ContainsFunc(subjects, func(s string) bool { return !strings.HasPrefix(s, statement.NodePrefix) })
}

// meets reports whether a write may match both parts. It may be true for parts that no write
// matches, but never false for others.
func (p *part) meets(o *part, op operation) bool {
	return p.at[op].covers && o.at[op].covers &&
		(p.namespace == "" || o.namespace == "" || p.namespace == o.namespace) &&
		canShare(p.subjects, o.subjects) && share(p.resources, o.resources)
}

// canShare reports whether one requester may be among both lists of subjects.
func canShare(a, b []string) bool {
	if a == nil || b == nil {
		return true
	}
	isGroup := func(s string) bool { return strings.HasPrefix(s, tables.GroupPrefix) }
	if slices.ContainsFunc(a, isGroup) || slices.ContainsFunc(b, isGroup) {
		return true
	}
	return slices.ContainsFunc(a, func(s string) bool { _, ok := slices.BinarySearch(b, s); return ok })
}

func share(a, b map[string]bool) bool {
	if a == nil || b == nil {
		return true
	}
	for word := range a {
		if b[word] {
			return true
		}
	}
	return false
}

// states returns the states of a rule by whether it matches a verb.
func states(matches func(verb string) bool) (out [operations]state) {
	for op, verbs := range operationVerbs {
		n := 0
		for _, verb := range verbs {
			if matches(verb) {
				n++
			}
		}
		out[op].covers = n > 0
		if n > 0 && n < len(verbs) {
			out[op].problem = &problem{codePatchApart, "it matches one of " + strings.Join(verbs, " and ") + " and not the other, which admission does not tell apart"}
		}
	}
	return out
}

// conditionalAt marks operations for which the object decides.
func (t *text) conditionalAt(ops ...operation) {
	for _, op := range ops {
		t.at[op].conditional = true
	}
}

// refuse sets a problem for every operation that the rule covers, and counts it as one that the
// object decides: what cannot be printed may read it.
func (t *text) refuse(code, reason string) {
	for op := range t.at {
		t.at[op].problem, t.at[op].conditional = &problem{code, reason}, true
	}
}

// deleteByName is the problem of a rule that matches names, for deletions: a deletion of a
// collection has no name at its review, and one for each object at admission.
func (t *text) deleteByName(code string) {
	if t.at[remove].covers {
		t.at[remove].problem = &problem{code, "its names match delete, and not the deletecollection of the same objects, which admission does not tell apart"}
	}
}

// kubernetesText returns a rule of a Kubernetes role; nil if it matches no write.
func kubernetesText(r *statement.KubernetesRule) *text {
	if len(r.Paths) > 0 {
		return nil
	}
	t := &text{at: states(func(verb string) bool { return rule.HasOrStar(r.Verbs, verb) })}
	var names, subs []string
	any := false
	for _, entry := range r.Resources {
		head, sub, ok := strings.Cut(entry, "/")
		switch {
		case entry == "*":
			any = true
		case head == "*" && ok:
			subs = append(subs, sub)
		default:
			names = append(names, entry)
		}
	}
	if !any {
		t.match = allOf(t.match, anyOf(isIn("variables.target", names), both(`variables.sub != ""`, isIn("variables.sub", subs))))
		if len(subs) == 0 {
			t.resources = make(map[string]bool)
			for _, name := range names {
				head, _, _ := strings.Cut(name, "/")
				t.resources[head] = true
			}
		}
	}
	if !slices.Contains(r.Groups, "*") {
		t.match = allOf(t.match, isIn("variables.group", r.Groups))
	}
	if len(r.Names) > 0 {
		t.at[create].covers = false // a create has no name for Kubernetes
		t.deleteByName(codePatchApart)
		t.match = allOf(t.match, isIn("variables.name", r.Names))
	}
	return t
}

// originText returns a rule of an Origin role; nil if it matches nothing.
func originText(r *statement.OriginRule) *text {
	row := (*tables.OriginRule)(r)
	if rule.MatchesNothing(row) {
		return nil
	}
	t := &text{at: states(func(verb string) bool { return rule.MatchesVerb(row, verb, "") }), resources: kindWords(r.Kinds)}
	t.match = kinds(r.Kinds)
	if len(r.NotKinds) > 0 {
		t.match = allOf(t.match, not(kinds(r.NotKinds)))
	}
	if r.Restrictions != nil {
		t.restrict(r.Restrictions, r.Deny)
	}
	return t
}

func (t *text) restrict(r *tables.Restrictions, deny bool) {
	t.seen = true
	switch {
	case r.Expression != "":
		t.refuse(codeCEL, "its expression reads a request of writ, which is not that of admission")
		return
	case r.Extension != "":
		t.refuse(codeExtension, "extension "+r.Extension+" decides")
		return
	}
	if len(r.Fields) > 0 {
		t.restrictFields(r.Fields, deny)
	}
	if len(r.Labels) > 0 {
		t.conditionalAt(create, update, remove)
		for _, entry := range r.Labels {
			t.object = allOf(t.object, hasPair("has(o.metadata.labels)", "o.metadata.labels", entry.Key, entry.Value))
		}
	}
	t.restrictSelected(r.Select, deny)
	if r.SameMinion {
		t.conditionalAt(create, update, remove)
		t.readsNode = true
		t.match = allOf(t.match, `variables.group == ""`, `variables.resource == "pods"`)
		t.object = allOf(t.object, `has(o.spec) && has(o.spec.nodeName) && o.spec.nodeName != "" && `+
			`variables.user == "system:node:" + o.spec.nodeName`)
	}
}

// restrictFields adds fieldsMutatable, which no deletion fulfils.
func (t *text) restrictFields(paths []string, deny bool) {
	t.at[remove].covers = false
	t.conditionalAt(create, update)
	expression, ok := within(paths, deny)
	if !ok {
		t.refuse(codeFieldIndex, "a path has an index, or too many segments")
		return
	}
	t.facts = allOf(t.facts, expression)
}

// restrictSelected adds fieldsSelect. Writes state the name and the namespace, and no other
// field: what is not known does not allow, and does not keep from denying.
func (t *text) restrictSelected(entries []tables.Entry, deny bool) {
	for _, entry := range entries {
		if t.at[remove].covers {
			t.at[remove].problem = &problem{codeSelector, "the selector of a deletecollection decides, which admission does not see"}
		}
		value := quote(*entry.Value)
		switch {
		case entry.Key == "metadata.name":
			t.conditionalAt(create)
			t.match = allOf(t.match, anyOf(isIn("request.operation", operationNames[create:update]), "variables.name == "+value))
			t.facts = allOf(t.facts, "variables.name == "+value)
		case entry.Key == "metadata.namespace" && deny:
			t.match = allOf(t.match, `variables.space in ["", `+value+`]`)
		case entry.Key == "metadata.namespace":
			t.match = allOf(t.match, "variables.space == "+value)
		case !deny:
			t.at[create].covers, t.at[update].covers = false, false
		}
	}
}

// kinds prints entries of an Origin rule.
func kinds(entries []string) string {
	var words, subs []string
	var out []string
	for _, entry := range entries {
		kind, sub, hasSub := strings.Cut(entry, "/")
		switch {
		case entry == "*":
			return "true"
		case kind == "*":
			subs = append(subs, sub)
		case hasSub:
			out = append(out, both(isIn("variables.resource", tables.KindSynonyms(kind)), "variables.sub == "+quote(sub)))
		default:
			words = append(words, tables.KindSynonyms(kind)...)
		}
	}
	return anyOf(append([]string{isIn("variables.resource", words), isIn("variables.sub", subs)}, out...)...)
}

// kindWords returns the words for the kinds of a list, nil if it has every kind.
func kindWords(entries []string) map[string]bool {
	out := make(map[string]bool)
	for _, entry := range entries {
		kind, _, _ := strings.Cut(entry, "/")
		if kind == "*" {
			return nil
		}
		for _, word := range tables.KindSynonyms(kind) {
			out[word] = true
		}
	}
	return out
}
