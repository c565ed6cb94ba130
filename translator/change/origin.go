package change

import (
	"reflect"
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/tables"
)

// originRule is a writ.dev rule. Its lists are those of a table's row or shorter.
type originRule struct {
	deny                             bool
	verbs, notVerbs, kinds, notKinds []string
	restrictions                     *tables.Restrictions
}

func newOriginRule(r *tables.OriginRule) *originRule {
	return &originRule{r.Deny, r.Verbs, r.NotVerbs, r.Kinds, r.NotKinds, r.Restrictions}
}

// opaque returns why the rule does not decide by its lists alone, or "".
func (o *originRule) opaque() string {
	switch {
	case o.restrictions == nil:
		return ""
	case o.restrictions.Expression != "":
		return whyCEL
	case o.restrictions.Extension != "":
		return whyExtension + o.restrictions.Extension
	}
	return ""
}

// The bits of stageTarget: the kinds match as they are, and for a request without a
// subresource also if its verb stands for one.
const (
	bitPlain = 1 << iota
	bitExec
	bitProxy
)

func (o *originRule) match(at stage, r *request) uint8 {
	switch at {
	case stageTarget:
		if r.path != "" {
			return 0
		}
		bits := one(o.matchKinds(r.resource, r.subresource)) * bitPlain
		if r.subresource == "" {
			bits |= one(o.matchKinds(r.resource, "exec")) * bitExec
			bits |= one(o.matchKinds(r.resource, "proxy")) * bitProxy
		}
		return bits
	case stageVerb:
		sub := impliedSubresource(r.verb, r.subresource)
		return one(o.matchVerbs(r.verb, sub) && o.matchKinds(r.resource, sub))
	case stageGroup:
		if o.restrictions != nil && o.restrictions.SameMinion {
			return one(r.group == "" && isKind("pods", r.resource))
		}
	case stageLabels:
		return o.verdict(o.labels(r))
	case stageFields:
		return o.verdict(o.fields(r))
	case stageNodes:
		return o.verdict(o.nodes(r))
	}
	return 1
}

// impliedSubresource returns the subresource of a request; the verbs exec and proxy
// stand for one.
func impliedSubresource(verb, subresource string) string {
	if v := strings.ToLower(verb); subresource == "" && (v == "exec" || v == "proxy") {
		return v
	}
	return subresource
}

func (o *originRule) matchVerbs(verb, subresource string) bool {
	carried := tables.OriginVerbs(verb, subresource)
	if carried[0] == "*" { // not for a subresource that stands for a verb
		return o.matchWhole(o.verbs, o.notVerbs)
	}
	covers := func(entry string) bool { return entry == "*" || slices.Contains(carried, entry) }
	return slices.ContainsFunc(o.verbs, covers) && !slices.ContainsFunc(o.notVerbs, covers)
}

// matchWhole matches a request for "*": an allow rule must cover everything, a deny rule
// anything.
func (o *originRule) matchWhole(entries, negated []string) bool {
	if o.deny {
		return len(entries) > 0 && !slices.Contains(negated, "*")
	}
	return slices.Contains(entries, "*") && len(negated) == 0
}

func (o *originRule) matchKinds(resource, subresource string) bool {
	if resource == "*" {
		return o.matchWhole(o.kinds, o.notKinds)
	}
	covers := func(entry string) bool { return coversKind(entry, resource, subresource) }
	return slices.ContainsFunc(o.kinds, covers) && !slices.ContainsFunc(o.notKinds, covers)
}

func coversKind(entry, resource, subresource string) bool {
	kind, sub, slash := strings.Cut(entry, "/")
	return (!slash || strings.EqualFold(sub, subresource)) && (kind == "*" || isKind(kind, resource))
}

// isKind reports whether a lower-case word names the kind of a resource.
func isKind(word, resource string) bool {
	resource = strings.ToLower(resource)
	return word == resource || tables.Plural(word) == resource || tables.Plural(resource) == word
}

// truth is the value of a restriction.
type truth int

const (
	isFalse truth = iota
	isUndecidable
	isTrue
)

// verdict is how a restriction counts: an undecidable one must not allow, and must not
// let a denial be escaped.
func (o *originRule) verdict(t truth) uint8 {
	return one(t == isTrue || o.deny && t == isUndecidable)
}

func (o *originRule) labels(r *request) truth {
	switch {
	case o.restrictions == nil || len(o.restrictions.Labels) == 0:
		return isTrue
	case r.labels == nil:
		return isUndecidable
	}
	for _, entry := range o.restrictions.Labels {
		if value, ok := r.labels[entry.Key]; !ok || entry.Value != nil && *entry.Value != value {
			return isFalse
		}
	}
	return isTrue
}

// The classes of verbs for fieldsMutatable.
const (
	verbOther = iota
	verbReads
	verbMutates
)

func verbClass(r *request) int {
	class := verbOther
	for _, verb := range tables.OriginVerbs(r.verb, impliedSubresource(r.verb, r.subresource)) {
		switch verb {
		case "get", "list", "watch":
			return verbReads
		case "update", "create":
			class = verbMutates
		}
	}
	return class
}

func (o *originRule) fields(r *request) truth {
	if o.restrictions == nil || len(o.restrictions.Fields) == 0 {
		return isTrue
	}
	switch verbClass(r) {
	case verbReads:
		return isTrue
	case verbOther:
		return isFalse
	}
	if r.fields == nil {
		return isUndecidable
	}
	for _, path := range r.fields {
		if !coversField(o.restrictions.Fields, path) {
			return isFalse
		}
	}
	return isTrue
}

func coversField(fields []string, path string) bool {
	return slices.ContainsFunc(fields, func(f string) bool {
		rest, ok := strings.CutPrefix(path, f)
		return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
	})
}

const nodePrefix = "system:node:"

func (o *originRule) nodes(r *request) truth {
	if o.restrictions == nil || !o.restrictions.SameMinion {
		return isTrue
	}
	own, isNode := strings.CutPrefix(r.user, nodePrefix)
	if !isNode {
		own = r.minion
	}
	if own == "" || r.podMinion == "" {
		return isUndecidable
	}
	if own == r.podMinion {
		return isTrue
	}
	return isFalse
}

func (o *originRule) last() stage {
	switch r := o.restrictions; {
	case r == nil:
		return stageVerb
	case r.SameMinion:
		return stageNodes
	case len(r.Fields) > 0:
		return stageFields
	case len(r.Labels) > 0:
		return stageLabels
	}
	return stageVerb
}

func (o *originRule) mention(v *values) {
	v.folds = true
	for _, verb := range slices.Concat(o.verbs, o.notVerbs) {
		v.addWord(&v.verbs, verb)
		if verb == "update" || verb == "delete" {
			v.verbs.add("patch", "deletecollection")
		}
	}
	v.verbs.add("exec", "proxy")
	for _, entry := range slices.Concat(o.kinds, o.notKinds) {
		v.addKind(entry)
	}
	v.subresources.add("exec", "proxy")
	if r := o.restrictions; r != nil {
		for _, entry := range r.Labels {
			if entry.Value == nil {
				v.labels.add(entry.Key, "")
			} else {
				v.labels.add(entry.Key, *entry.Value)
			}
		}
		v.fields.add(r.Fields...)
		if r.SameMinion {
			v.nodes, v.reads = true, true
		}
		v.reads = v.reads || len(r.Fields) > 0
	}
}

func (o *originRule) describe(s *Statement) { s.Rule = o.rule() }

func (o *originRule) rule() any {
	rule := map[string]any{"verbs": negated(o.verbs, o.notVerbs), "resourceKinds": negated(o.kinds, o.notKinds)}
	if o.deny {
		rule["deny"] = true
	}
	if o.restrictions != nil {
		rule["attributeRestrictions"] = restrictionsJSON(o.restrictions)
	}
	return rule
}

func negated(entries, not []string) []string {
	out := slices.Clone(entries)
	for _, entry := range not {
		out = append(out, "-"+entry)
	}
	return out
}

// restrictionsJSON returns attributeRestrictions as documents write them.
func restrictionsJSON(r *tables.Restrictions) map[string]any {
	out := make(map[string]any)
	if len(r.Fields) > 0 {
		out["fieldsMutatable"] = r.Fields
	}
	var labels []string
	for _, entry := range r.Labels {
		if entry.Value == nil {
			labels = append(labels, entry.Key)
		} else {
			labels = append(labels, entry.Key+"="+*entry.Value)
		}
	}
	if len(labels) > 0 {
		out["labelsContain"] = labels
	}
	switch {
	case r.SameMinion:
		out["kind"] = "sameMinionRestriction"
	case r.Expression != "":
		out["kind"], out["expression"] = "cel", r.Expression
	case r.Extension != "":
		for key, value := range r.Params {
			out[key] = value
		}
		out["kind"] = r.Extension
	}
	return out
}

func (o *originRule) without(other condition) condition {
	p, ok := other.(*originRule)
	if !ok || p.deny != o.deny || p.restrictions != nil && !reflect.DeepEqual(p.restrictions, o.restrictions) ||
		!isSubset(p.notVerbs, o.notVerbs) || !isSubset(p.notKinds, o.notKinds) {
		return o
	}
	out := *o
	covers := func(v string) bool {
		kind, sub, slash := strings.Cut(v, "/")
		return hasWord(p.kinds, v) || slash && (slices.Contains(p.kinds, kind) || slices.Contains(p.kinds, "*/"+sub))
	}
	if !reduce(dimension{&out.verbs, func(v string) bool { return hasWord(p.verbs, v) }}, dimension{&out.kinds, covers}) {
		return nil
	}
	return &out
}

func isSubset(list, of []string) bool {
	return !slices.ContainsFunc(list, func(v string) bool { return !slices.Contains(of, v) })
}
