package engine

import (
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/lower"
)

// reads are what a MetricSource's aggregations read of an item.
type reads struct {
	fields          []string
	name, namespace bool
}

func newReads(s *lower.MetricSource) reads {
	var r reads
	for i := range s.Aggregations {
		a := &s.Aggregations[i]
		r.add(a.Field)
		r.add(a.GroupBy)
		if a.Filter != nil {
			r.add(a.Filter.Field)
		}
	}
	return r
}

func (r *reads) add(field string) {
	switch field {
	case "":
		return
	case "name", "_name":
		r.name = true
	case "namespace", "_namespace":
		r.namespace = true
	}
	// A field of such a name wins over the item's own.
	if !slices.Contains(r.fields, field) {
		r.fields = append(r.fields, field)
	}
}

// reducer keeps of visible items what aggregations read, as OPA's values. Values
// that occur often are kept once.
type reducer struct {
	reads *reads
	items []*ast.Term
	texts map[string]*ast.Term
}

// maxShared bounds what is remembered to be kept once.
const maxShared = 10_000

func (r *reducer) add(item *decision.Item) error {
	var pairs, fields [][2]*ast.Term
	for _, field := range r.reads.fields {
		value, ok := item.Fields[field]
		if !ok {
			continue
		}
		term, err := r.term(value)
		if err != nil {
			return err
		}
		fields = append(fields, [2]*ast.Term{r.text(field), term})
	}
	if r.reads.name && item.Name != "" {
		pairs = append(pairs, [2]*ast.Term{keyName, r.text(item.Name)})
	}
	if r.reads.namespace && item.Namespace != "" {
		pairs = append(pairs, [2]*ast.Term{keyNamespace, r.text(item.Namespace)})
	}
	pairs = append(pairs, [2]*ast.Term{keyFields, ast.ObjectTerm(fields...)})
	r.items = append(r.items, ast.ObjectTerm(pairs...))
	return nil
}

func (r *reducer) term(value any) (*ast.Term, error) {
	if text, ok := value.(string); ok {
		return r.text(text), nil
	}
	v, err := ast.InterfaceToValue(value)
	if err != nil {
		return nil, err
	}
	return ast.NewTerm(v), nil
}

func (r *reducer) text(text string) *ast.Term {
	if term, ok := r.texts[text]; ok {
		return term
	}
	term := ast.StringTerm(text)
	if r.texts == nil {
		r.texts = make(map[string]*ast.Term)
	}
	if len(r.texts) < maxShared {
		r.texts[text] = term
	}
	return term
}
