package verify

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/translator/assertion"
	"github.com/writ-policy/writ/translator/tables"
)

const (
	// mostItems bounds the items that are tried for one request, and itemsAtOnce those of
	// one question.
	mostItems   = 1 << 14
	itemsAtOnce = 512
)

// withItem returns a request with an item that breaks the assertion, nothing if no item of
// the class does.
func (p *prover) withItem(f *found, k *kind) []found {
	items := p.items(f, k)
	for chunk := range slices.Chunk(items, itemsAtOnce) {
		asked := f.r.Clone()
		asked.Facts["items"] = chunk
		isShown, err := p.shown(asked, f.held)
		if err != nil {
			p.err = err
			return nil
		}
		for i, item := range chunk {
			if isShown[i] != (p.a.Form == assertion.Never) {
				continue
			}
			one := f.r.Clone()
			one.Facts["items"] = []any{item}
			if !p.isIn(one, f.held) {
				continue
			}
			isNew, err := p.isNew(one, f.held)
			if p.err = err; isNew {
				return []found{{f.held, one, nil}}
			}
		}
	}
	return nil
}

// shown returns which items of a request the engine shows.
func (p *prover) shown(r *statement.Request, held []string) (map[int]bool, error) {
	answers, _, err := p.decide(r, held, p.asks())
	if err != nil {
		return nil, err
	}
	var d struct {
		Visible []int `json:"visible"`
	}
	err = json.Unmarshal(answers[0].Decision, &d)
	out := make(map[int]bool, len(d.Visible))
	for _, i := range d.Visible {
		out[i] = true
	}
	return out, err
}

// itemSpace is what criteria of policies and classes tell apart of items.
type itemSpace struct {
	names, namespaces criteriaOf
	labels            statement.LabelValues
	fields            map[string]*criteriaOf
	isOperator        bool
	hidesMasters      bool
}

// criteriaOf is the values of one key with what tells them apart.
type criteriaOf struct {
	list  statement.List
	tests []func(string) bool
}

// class adds a value of a class.
func (t *criteriaOf) class(v *assertion.Value) {
	if v != nil {
		t.list.Add(v.Words()...)
		t.list.Add(v.Samples()...)
		t.list.Patterns = append(t.list.Patterns, v.Expressions()...)
		t.tests = append(t.tests, v.Fits)
	}
}

// criteria adds the criteria of an entry.
func (t *criteriaOf) criteria(list ...*tables.Criteria) {
	for _, c := range list {
		t.list.AddCriteria(c)
		for _, v := range []*tables.Values{&c.Allowed, &c.Denied} {
			if !v.IsEmpty() {
				t.tests = append(t.tests, v.Has)
			}
		}
	}
}

// values returns one value for each set of tests that it passes, the empty one first.
func (t *criteriaOf) values() []string {
	var out []string
	seen := make(map[string]bool)
	for _, value := range append([]string{""}, t.list.All(assertion.MadeUp)...) {
		key := []byte{statement.Bit(value == "")}
		for _, fits := range t.tests {
			key = append(key, statement.Bit(fits(value)))
		}
		if !seen[string(key)] {
			seen[string(key)] = true
			out = append(out, value)
		}
	}
	return out
}

// items returns the items that the policies and classes of a request tell apart, the
// plainest first.
func (p *prover) items(f *found, k *kind) []any {
	s := itemSpace{fields: make(map[string]*criteriaOf), isOperator: k.typ == "operators"}
	for _, c := range slices.Concat(p.a.Of, p.out) {
		if c.Item == nil {
			continue
		}
		s.names.class(c.Item.Texts["name"])
		s.namespaces.class(c.Item.Texts["namespace"])
		if given := c.Item.Labels["labels"]; given != nil {
			for _, term := range given.Terms {
				s.labels.Add(term.Key, slices.Concat(term.Value.Words(), term.Value.Samples())...)
				s.labels.AddPatterns(term.Key, term.Value.Expressions()...)
			}
		}
	}
	for _, w := range p.worlds() {
		for _, v := range p.viewsOf(w, k) {
			for _, t := range v.index.of(f.held) {
				if t.Fits(f.r) {
					p.addEntries(&s, t.VisibilityRule(), k, w)
				}
			}
		}
	}
	if k.typ == "namespaces" { // the name is the namespace, if there is one
		s.names.list.Add(s.namespaces.list.Values...)
		s.namespaces.list.Add(s.names.list.Values...)
		s.names.list.Patterns = slices.Concat(s.names.list.Patterns, s.namespaces.list.Patterns)
		s.namespaces.list.Patterns = s.names.list.Patterns
		s.names.tests = slices.Concat(s.names.tests, s.namespaces.tests)
		s.namespaces.tests = s.names.tests
	}
	out, complete := s.all()
	p.isCut = p.isCut || !complete
	return out
}

// addEntries adds what a rule reads of items of a kind.
func (p *prover) addEntries(s *itemSpace, rule *tables.VisibilityRule, k *kind, w *world) {
	if e := rule.Entries["namespaces"]; e != nil && !k.isCustom {
		s.namespaces.criteria(&e.Names)
	}
	e := rule.Entries[k.typ]
	if e == nil {
		return
	}
	s.names.criteria(&e.Names)
	s.namespaces.criteria(&e.Namespaces)
	for _, labels := range []map[string]string{e.Labels, e.HideByLabels} {
		for _, key := range slices.Sorted(maps.Keys(labels)) {
			s.labels.Add(key, labels[key])
		}
	}
	s.hidesMasters = s.hidesMasters || e.HideMasters
	field := func(name string, criteria ...*tables.Criteria) {
		if s.fields[name] == nil {
			s.fields[name] = new(criteriaOf)
		}
		s.fields[name].criteria(criteria...)
		p.isPartial = p.isPartial || k.isCustom // of fields, a search finds some values
	}
	for _, name := range slices.Sorted(maps.Keys(e.Fields)) {
		criteria := e.Fields[name]
		field(name, &criteria)
	}
	_, source := w.index.world.MonitorRule("", "", 0, k.typ)
	if source != nil && source.NameField != "" {
		field(source.NameField, &e.Names)
	}
	if source != nil && source.NamespaceField != "" {
		field(source.NamespaceField, &e.Namespaces)
	}
}

// all returns the items, and false if there are too many of them.
func (s *itemSpace) all() ([]any, bool) {
	complete := s.labels.Size(s.labels.Keys) <= statement.MaxLabelSets && !s.names.list.IsCut() && !s.namespaces.list.IsCut()
	sets := s.labels.Sets(s.labels.Keys)
	if s.hidesMasters {
		sets = append(sets, map[string]string{"node-role.kubernetes.io/master": ""})
	}
	fields := s.fieldSets()
	var out []any
	for _, set := range sets {
		for _, field := range fields {
			for _, namespace := range s.namespaces.values() {
				for _, name := range s.names.values() {
					if len(out) == mostItems {
						return out, false
					}
					out = append(out, itemOf(name, namespace, set, field))
				}
			}
		}
	}
	slices.SortStableFunc(out, func(x, y any) int { return size(x) - size(y) })
	return out, complete && !s.names.list.IsCut() && !s.namespaces.list.IsCut()
}

func itemOf(name, namespace string, labels map[string]string, fields map[string]any) map[string]any {
	item := make(map[string]any)
	if name != "" {
		item["name"] = name
	}
	if namespace != "" {
		item["namespace"] = namespace
	}
	if len(labels) > 0 {
		item["labels"] = labels
	}
	if len(fields) > 0 {
		item["fields"] = fields
	}
	return item
}

// size is how much an item states.
func size(item any) int {
	o := item.(map[string]any)
	labels, _ := o["labels"].(map[string]string)
	fields, _ := o["fields"].(map[string]any)
	return len(o) + len(labels) + len(fields)
}

// fieldSets returns the fields of items: none first.
func (s *itemSpace) fieldSets() []map[string]any {
	out := []map[string]any{nil}
	grow := func(name string, values ...any) {
		for _, before := range slices.Clone(out) {
			for _, value := range values {
				with := map[string]any{name: value}
				maps.Copy(with, before)
				out = append(out, with)
			}
		}
		out = out[:min(len(out), mostItems)]
	}
	for _, name := range slices.Sorted(maps.Keys(s.fields)) {
		var values []any
		for _, value := range s.fields[name].values() {
			values = append(values, value)
		}
		grow(name, values...)
	}
	if s.hidesMasters {
		grow("roles", []string{"master"}, []string{"control-plane"})
	}
	if s.isOperator { // in several namespaces, and named for display
		lists := []any{[]string{"*"}, []string{}}
		for _, namespace := range s.namespaces.values() {
			if namespace != "" {
				lists = append(lists, []string{namespace})
			}
		}
		grow("available_in_namespaces", lists...)
		var names []any
		for _, name := range s.names.values() {
			if name != "" {
				names = append(names, name)
			}
		}
		grow("display_name", names...)
	}
	return out
}
