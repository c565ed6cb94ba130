package companion

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/translator/tables"
)

// The codes of refusals.
const (
	codeCEL             = "cel"
	codeExtension       = "extension"
	codePodSecurity     = "pod-security"
	codePatchApart      = "patch-apart"
	codeFieldIndex      = "field-index"
	codeMinion          = "minion"
	codeTooManySubjects = "too-many-subjects"
	codeClusterUnknown  = "cluster-unknown"
	codeReads           = "reads"
	codeSelector        = "selector"
	codeDated           = "dated"
)

// Options are for whom policies are printed.
type Options struct {
	// Cluster and Tenant are those of every request; empty: not known.
	Cluster, Tenant string
	// AllDenials prints denials that the object does not decide too.
	AllDenials bool
	// MaxSubjects is how many subjects a validation may name; zero means 1000.
	MaxSubjects int
	// SessionKey and EscalationKey are the keys of the extra of a user that have a session and
	// an escalation.
	SessionKey, EscalationKey string
}

// defaultMaxSubjects is MaxSubjects where it is not set.
const defaultMaxSubjects = 1000

// Refusal is a condition that is not printed.
type Refusal struct {
	Code   string `json:"code"`
	Place  string `json:"place"` // FILE:LINE
	Title  string `json:"title"` // the document and its rule
	Reason string `json:"reason"`
}

// Companion is what admission checks for the documents of one revision.
type Companion struct {
	// Slices are the policies, at least one: the first one has the probe.
	Slices []Slice
	// Digest is the SHA-256 of the expressions and matches, in hexadecimal.
	Digest string
	// AllDenials is that of the options.
	AllDenials bool
	// Refused are sorted.
	Refused []Refusal

	rules    map[Rule]*part // the parts of bindings
	hasNames bool           // every condition of a deny policy on the name of a new object is printed
}

// builder collects parts and validations.
type builder struct {
	Options
	world       *statement.World
	lent        map[string]bool // groups that sessions lend
	hasSessions bool
	texts       map[statement.Condition]*text
	refused     []Refusal
	cluster     []*part            // allowing parts of the whole cluster
	local       map[string][]*part // those of namespaces
}

// Make prints the companion of a revision. Documents that begin or end are taken as they are
// written, whether they hold now or not.
func Make(world *statement.World, o Options) *Companion {
	o.MaxSubjects = cmp.Or(o.MaxSubjects, defaultMaxSubjects)
	world = world.Whole()
	b := &builder{Options: o, world: world, texts: make(map[statement.Condition]*text), local: make(map[string][]*part), lent: make(map[string]bool)}
	if b.Cluster == "" {
		b.Cluster = world.Access.Cluster
	}
	b.Tenant = tables.TenantsOf(world.Revision.Tables).In(tables.Scope{Cluster: b.Cluster, Tenant: b.Tenant}).Tenant
	b.readSessions()
	parts := b.bindingParts()
	if deny := tables.Of[*tables.Deny](world.Revision.Tables); deny != nil {
		parts = append(b.denyParts(deny), parts...)
	}
	slices.SortStableFunc(parts, func(a, b *part) int {
		return cmp.Or(cmp.Compare(a.step, b.step), strings.Compare(a.namespace, b.namespace), strings.Compare(a.title, b.title), strings.Compare(a.source, b.source))
	})
	for _, p := range parts {
		if place := &b.cluster; !p.deny && p.namespace == "" {
			*place = append(*place, p)
		} else if !p.deny {
			b.local[p.namespace] = append(b.local[p.namespace], p)
		}
	}
	var validations []Validation
	for _, p := range parts {
		if v, ok := b.validation(p); ok {
			validations = append(validations, v)
		}
	}
	slices.SortFunc(b.refused, func(a, c Refusal) int {
		return cmp.Or(strings.Compare(a.Place, c.Place), strings.Compare(a.Title, c.Title), strings.Compare(a.Code, c.Code), strings.Compare(a.Reason, c.Reason))
	})
	out := &Companion{AllDenials: o.AllDenials, Refused: slices.Compact(b.refused)}
	out.register(parts)
	out.slice(validations, b.variables())
	return out
}

// readSessions notes what sessions that may hold lend.
func (b *builder) readSessions() {
	sessions := tables.Of[*tables.Sessions](b.world.Revision.Tables)
	if sessions == nil {
		return
	}
	for _, s := range sessions.Sessions.All() {
		if s.MayHold() && (b.Cluster == "" || s.Cluster == b.Cluster) {
			b.hasSessions = true
			for _, group := range s.Groups {
				b.lent[tables.Group(group)] = true
			}
		}
	}
}

// bindingParts returns the rules of bindings that cover a write.
func (b *builder) bindingParts() (out []*part) {
	for s := range b.world.All("") {
		subjects := asked(s.Subjects)
		if len(subjects) == 0 {
			continue
		}
		t := b.textOf(s.Rule())
		if t == nil {
			continue
		}
		d := s.Documents[0]
		p := &part{text: t, rule: ruleOf(&d), step: s.Step, deny: s.Effect == statement.OutcomeDeny, namespace: s.Namespace, subjects: subjects, source: d.Source,
			isDated: s.Dates != nil || slices.ContainsFunc(subjects, func(name string) bool { return b.lent[name] })}
		p.title = b.title(&d)
		if r, ok := s.Rule().(*statement.OriginRule); ok && r.Restrictions != nil {
			p.what = words(r.Restrictions)
		}
		if !slices.ContainsFunc(t.at[:], func(s state) bool { return s.covers }) {
			if t.seen {
				b.refused = append(b.refused, Refusal{codeReads, p.source, p.title, "admission is not asked about any of its verbs"})
			}
			continue
		}
		out = append(out, p)
	}
	return out
}

// textOf returns the rule of a statement, nil if it matches no write.
func (b *builder) textOf(c statement.Condition) *text {
	if found, ok := b.texts[c]; ok {
		return found
	}
	var t *text
	switch c := c.(type) {
	case *statement.KubernetesRule:
		t = kubernetesText(c)
	case *statement.OriginRule:
		t = originText(c)
	}
	b.texts[c] = t
	return t
}

// title names a binding with its role, the rule and its line.
func (b *builder) title(d *statement.Document) string {
	role := b.world.Access.Roles.At(d.Role)
	name := tables.FullName(role.Namespace, role.Name)
	return fmt.Sprintf("%s (%s %s, rule %d; %s)", statement.DocumentName(*d), role.Kind, name, d.Rule, d.Source)
}

// words states the condition of restrictions on an object.
func words(r *tables.Restrictions) string {
	var out []string
	written := r.Written()
	for _, each := range []struct{ key, text string }{
		{"labelsContain", "the object has labels "}, {"fieldsMutatable", "no field is changed outside "}, {"fieldsSelect", "the object has "},
	} {
		if entries, ok := written[each.key].([]string); ok {
			out = append(out, each.text+strings.Join(statement.Shorten(entries), ", "))
		}
	}
	if r.SameMinion {
		out = append(out, "the pod is on the node of the user")
	}
	return strings.Join(out, " and ")
}

// asked returns the subjects of reviews: those that admission leaves out are left out here.
func asked(subjects []string) []string {
	return slices.DeleteFunc(slices.Clone(subjects), func(s string) bool {
		if group, ok := strings.CutPrefix(s, tables.GroupPrefix); ok {
			return slices.Contains(exemptGroups, group)
		}
		user := strings.TrimPrefix(s, tables.UserPrefix)
		return user == "" || slices.Contains(exemptUsers, user) || strings.HasPrefix(user, tables.AccountPrefix+"kube-system:")
	})
}

// validation returns the check of a part, false without one.
func (b *builder) validation(p *part) (Validation, bool) {
	var on [operations]bool
	var others []*part
	for op := range operations {
		s := p.at[op]
		if !s.covers {
			continue
		}
		met := b.met(p, op)
		if !s.conditional && !p.deny || !s.conditional && !b.AllDenials && !slices.ContainsFunc(met, func(o *part) bool { return o.at[op].conditional }) {
			continue
		}
		if refusal, refused := b.refusal(p, met, op); refused {
			b.refused = append(b.refused, refusal)
			continue
		}
		on[op] = true
		others = append(others, met...)
	}
	if on == ([operations]bool{}) {
		return Validation{}, false
	}
	otherwise, count := b.print(others, on)
	if count += len(p.subjects); count > b.MaxSubjects {
		b.refused = append(b.refused, Refusal{codeTooManySubjects, p.source, p.title, fmt.Sprintf("it and what precedes it name %d subjects, more than %d", count, b.MaxSubjects)})
		return Validation{}, false
	}
	var body string
	if p.deny {
		body = allOf(p.facts, anyVersion(allOf(p.object, not(otherwise))))
	} else {
		body = anyVersion(not(anyOf(allOf(p.facts, p.object), otherwise)))
	}
	if body == "false" {
		return Validation{}, false
	}
	fails := allOf(isOperation(on), p.fits(), body)
	p.printed = on
	return Validation{Expression: not(fails), Message: p.message(), Reason: "Forbidden", source: p.source}, true
}

// fits is the condition on what a review states, the operation aside.
func (p *part) fits() string {
	in := ""
	if p.namespace != "" {
		in = "variables.space == " + quote(p.namespace)
	}
	return allOf(in, IsSubject(p.subjects), p.match)
}

// print joins parts for some operations, and returns how many subjects they name. Parts that
// differ in their subjects alone are one.
func (b *builder) print(parts []*part, on [operations]bool) (expression string, subjects int) {
	type key struct {
		text      *text
		namespace string
	}
	joined := make(map[key]*part)
	var out []*part
	for _, p := range parts {
		k := key{p.text, p.namespace}
		if found := joined[k]; found != nil {
			found.subjects = append(found.subjects, p.subjects...)
			continue
		}
		own := *p
		own.subjects = slices.Clone(p.subjects)
		joined[k] = &own
		out = append(out, &own)
	}
	var texts []string
	for _, p := range out {
		p.subjects = tables.Entries(p.subjects)
		subjects += len(p.subjects)
		covered, isWhole := on, true
		for op := range operations {
			covered[op] = on[op] && p.at[op].covers
			isWhole = isWhole && covered[op] == on[op]
		}
		only := isOperation(covered)
		if isWhole {
			only = ""
		}
		texts = append(texts, allOf(only, p.fits(), p.facts, p.object))
	}
	slices.Sort(texts)
	return anyOf(texts...), subjects
}

// anyVersion is true if a condition holds for a version of the object.
func anyVersion(condition string) string {
	if !strings.Contains(condition, "o.metadata") && !strings.Contains(condition, "o.spec") {
		return condition
	}
	return "variables.objects.exists(o, " + condition + ")"
}

// met returns the allowing parts that may decide a write of a part: those before a denial, all
// others of an allowing part.
func (b *builder) met(p *part, op operation) (out []*part) {
	add := func(list []*part) {
		for _, o := range list {
			if o != p && (!p.deny || o.step < p.step) && p.meets(o, op) {
				out = append(out, o)
			}
		}
	}
	add(b.cluster)
	switch {
	case p.deny: // no namespace allows before it
	case p.namespace != "":
		add(b.local[p.namespace])
	default:
		for _, namespace := range slices.Sorted(maps.Keys(b.local)) {
			add(b.local[namespace])
		}
	}
	return out
}

// refusal returns why an operation of a part cannot be printed.
func (b *builder) refusal(p *part, met []*part, op operation) (Refusal, bool) {
	if s := p.state(op); s.problem != nil {
		return Refusal{s.problem.code, p.source, p.title, operationNames[op] + ": " + s.problem.reason}, true
	}
	for _, o := range met {
		if s := o.state(op); s.problem != nil {
			return Refusal{s.problem.code, p.source, p.title, fmt.Sprintf("%s: %s may allow it before, and cannot be printed: %s", operationNames[op], o.title, s.problem.reason)}, true
		}
	}
	return Refusal{}, false
}
