package deny

import (
	"maps"
	"slices"

	"github.com/writ-policy/writ/translator/emit"
	"github.com/writ-policy/writ/translator/rule"
	"github.com/writ-policy/writ/translator/tables"
)

// request is a request of a generated test. Values are texts, except namespaceLabels, which
// are absent where they are not known, and what pod security reads.
type request map[string]any

func (r request) text(key string) string {
	text, _ := r[key].(string)
	return text
}

// asWords returns what policies compare of the request as it is written.
func (r request) asWords() *rule.Words {
	labels, _ := r["namespaceLabels"].(map[string]string)
	in := rule.Request{
		Verb: r.text("verb"), Group: r.text("apiGroup"), Resource: r.text("resource"), Subresource: r.text("subresource"), Path: r.text("path"),
		Name: r.text("name"), Namespace: r.text("namespace"), NamespaceLabels: labels,
	}
	for i := range tables.ScopeAttributes {
		*in.At(i) = r.text(tables.ScopeAttributes[i].Key)
	}
	w := rule.FormWords(&in, []rule.Spelling{{Verb: r.text("verb"), Subresource: r.text("subresource")}}, []string{r.text("resource")})
	return &w
}

// with returns the request with one more value.
func (r request) with(key string, value any) request {
	other := maps.Clone(r)
	other[key] = value
	return other
}

// fit is whether a rule matches a request.
type fit int

const (
	noFit fit = iota
	fits
	fitsUnknown // only because the labels of the namespace are not known
)

// variation is a request that differs from a base in one value.
type variation struct {
	note  string
	key   string
	value any
}

// variations collects what a rule tells apart. One with the value of the base is left out.
type variations struct {
	base request
	list []variation
}

func (v *variations) add(note, key string, value any) {
	if text, ok := value.(string); ok && v.base.text(key) == text {
		return
	}
	v.list = append(v.list, variation{note, key, value})
}

// words varies a value over a list of words and to one that is not in it.
func (v *variations) words(key string, words []string, other string) {
	for _, word := range words {
		v.add(key+" "+word, key, word)
	}
	v.add("another "+key, key, other)
}

// globs varies a value over what patterns match, what is near, and what is far.
func (v *variations) globs(key string, globs []tables.PathGlob) {
	for _, glob := range globs {
		sample := glob.Sample()
		v.add(key+" "+sample, key, sample)
		for _, near := range []string{sample + "z", "z" + sample, sample + "/z"} {
			v.add(key+" "+near, key, near)
		}
	}
	v.add("another "+key, key, "writ-other")
	v.add("no "+key, key, "")
}

// namespaces varies the namespace and its labels.
func (v *variations) namespaces(f *tables.NamespaceFilter) {
	if f == nil {
		v.add("another namespace", "namespace", "writ-other")
		return
	}
	v.globs("namespace", f.Patterns)
	for i := range f.Terms {
		labels := labelsOf(f.Terms[i])
		v.add(notef("labels %d", i), "namespaceLabels", labels)
		for _, r := range f.Terms[i] {
			without := maps.Clone(labels)
			delete(without, r.Key)
			v.add(notef("labels %d, no %s", i, r.Key), "namespaceLabels", without)
			for _, value := range append(slices.Clone(r.Values), "writ-other") {
				changed := maps.Clone(labels)
				changed[r.Key] = value
				v.add(notef("labels %d, %s=%s", i, r.Key, value), "namespaceLabels", changed)
			}
		}
	}
	if len(f.Terms) > 0 {
		v.add("no labels", "namespaceLabels", map[string]string{})
	}
}

// labelsOf returns labels that satisfy the requirements, where they do not exclude each other.
func labelsOf(term []tables.LabelRequirement) map[string]string {
	labels := make(map[string]string)
	for _, r := range term {
		switch r.Operator {
		case tables.In:
			labels[r.Key] = r.Values[0]
		case tables.Exists:
			if _, ok := labels[r.Key]; !ok {
				labels[r.Key] = "x"
			}
		case tables.NotIn, tables.DoesNotExist: // no label satisfies them
		}
	}
	return labels
}

// fitOf returns what a rule of the policy makes of a request, as it is written.
func (t *denySamples) fitOf(of rule.Rule, r request) fit {
	w := r.asWords()
	if rule.Scope(t.policy).Match(w) != rule.Yes {
		return noFit
	}
	switch of.Match(w) {
	case rule.Yes:
		return fits
	case rule.No:
		return noFit
	default:
		return fitsUnknown
	}
}

// scopeVariations varies what brings a request into the scope of the policy.
func (t *denySamples) scopeVariations(v *variations) {
	for i, globs := range t.policy.Scope() {
		if key := tables.ScopeAttributes[i].Key; len(*globs) > 0 {
			v.globs(key, *globs)
		} else {
			v.add("another "+key, key, "writ-other")
		}
	}
	for _, name := range t.policy.ReferredBy {
		v.add("escalation "+name, "escalation", name)
	}
}

// ruleVariations varies what one action and one resource of a rule read.
func (t *denySamples) ruleVariations(rule *tables.DenyRule, a *tables.DenyAction, d *tables.DenyResource, base request) []variation {
	v := variations{base: base}
	v.words("verb", a.Verbs, emit.StrangeVerb)
	if a.VerbPrefix != "" {
		v.add("a verb with the prefix", "verb", a.VerbPrefix+"writ")
	}
	v.words("apiGroup", a.Groups, emit.StrangeGroup)
	v.words("resource", d.Resources, emit.StrangeResource)
	v.words("subresource", d.Subresources, "writ-other")
	v.add("no subresource", "subresource", "")
	v.add("a path", "path", emit.StrangePath)
	if len(rule.Names) > 0 || rule.NeedsName {
		v.globs("name", rule.Names)
	} else {
		v.add("another name", "name", "writ-other")
	}
	v.namespaces(rule.Namespaces)
	t.scopeVariations(&v)
	return v.list
}
