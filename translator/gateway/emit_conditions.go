package gateway

import (
	"fmt"
	"strings"

	"github.com/writ-policy/writ/translator/cel"
	"github.com/writ-policy/writ/translator/emit"
	"github.com/writ-policy/writ/translator/regotext"
	"github.com/writ-policy/writ/translator/tables"
)

// verdict is when a condition holds, and when it does not plainly not hold: it holds, or
// looking at it fails. Each is a list of Rego conditions that must all hold. A value that is
// missing does not hold. A nil second list means that looking at it fails never.
type verdict struct {
	holds   []string
	settled []string
}

// named gives conditions a name where they are more than one, so that they can be
// negated.
func (m *gatewayModule) named(conditions []string) string {
	name := m.helper()
	emit.WriteBoolean(&m.Helpers, name, conditions)
	return name
}

// all is the verdict on a list, all of whose items must hold. One that does not
// settles it, whatever else fails.
func (m *gatewayModule) all(conditions []tables.RequestCondition) verdict {
	var holds, settled []string
	fails := false
	for i := range conditions {
		v := m.condition(&conditions[i])
		holds = append(holds, v.holds...)
		if v.settled == nil {
			settled = append(settled, v.holds...)
			continue
		}
		fails = true
		settled = append(settled, v.settled...)
	}
	if !fails {
		settled = nil
	}
	return verdict{holds, settled}
}

// any is the verdict on alternatives, one of which must hold.
func (m *gatewayModule) any(conditions []tables.RequestCondition) verdict {
	holds, settled := m.helper(), m.helper()
	emit.WriteBoolean(&m.Helpers, holds, []string{"false"})
	var lists [][]string
	fails := false
	for i := range conditions {
		v := m.condition(&conditions[i])
		emit.WriteBoolean(&m.Helpers, holds, v.holds)
		if v.settled == nil {
			lists = append(lists, v.holds)
			continue
		}
		fails = true
		lists = append(lists, v.settled)
	}
	if !fails {
		return verdict{holds: []string{holds}}
	}
	for _, list := range lists {
		emit.WriteBoolean(&m.Helpers, settled, list)
	}
	return verdict{[]string{holds}, []string{settled}}
}

func (m *gatewayModule) condition(c *tables.RequestCondition) verdict {
	switch {
	case c.Predicate != "":
		return m.predicate(c.Predicate)
	case c.Pattern != "":
		return verdict{holds: []string{fmt.Sprintf("pattern[input[null].patterns%s]", regotext.Key(c.Pattern))}}
	case c.All != nil:
		return m.all(c.All)
	case c.Any != nil:
		return m.any(c.Any)
	}
	return verdict{holds: m.comparison(c.Comparison)}
}

// comparison compares what a selector finds, as text. What is missing is empty.
func (m *gatewayModule) comparison(c *tables.Comparison) []string {
	found := m.found(&c.Path, "null")
	switch c.Operator {
	case "eq":
		return []string{fmt.Sprintf("selector.text(%s) == %s", found, regotext.Quote(c.Value))}
	case "neq":
		return []string{fmt.Sprintf("selector.text(%s) != %s", found, regotext.Quote(c.Value))}
	case "incl":
		return []string{fmt.Sprintf("%s in selector.elements(%s)", regotext.Quote(c.Value), found)}
	case "excl":
		return []string{fmt.Sprintf("not %s in selector.elements(%s)", regotext.Quote(c.Value), found)}
	default:
		return []string{fmt.Sprintf("regex.match(%s, selector.text(%s))", regotext.Quote(c.Value), found)}
	}
}

// predicate is a CEL expression: true, false, or an error other than that of a
// value which is missing.
func (m *gatewayModule) predicate(text string) verdict {
	name := m.helper()
	program, problem := cel.CompilePredicate(text, cel.Gateway)
	if problem != nil {
		panic(problem.Message) // decoding lets no such expression pass
	}
	m.Helpers.WriteString("\n" + program.Rego(name))
	settled := m.helper()
	for _, condition := range []string{name + "_true", name + "_error"} {
		emit.WriteBoolean(&m.Helpers, settled, []string{condition})
	}
	return verdict{[]string{name + "_true"}, []string{settled}}
}

// value is a Rego term for a value. What is missing is null where that is let pass,
// and undefined else if an expression has no value.
func (m *gatewayModule) value(v *tables.RequestValue, lenient bool) string {
	switch {
	case v.Template != nil:
		return m.template(v.Template)
	case v.Expression != "":
		name := m.helper()
		program, problem := cel.CompileExpression(v.Expression, cel.Gateway)
		if problem != nil {
			panic(problem.Message) // decoding lets no such expression pass
		}
		m.Helpers.WriteString("\n" + program.Rego(name))
		if !lenient {
			return name + "_value"
		}
		outer := m.helper()
		fmt.Fprintf(&m.Helpers, "\n%s := value if {\n\tvalue := %s_value\n} else := null\n", outer, name)
		return outer
	}
	return regotext.Constant(v.Value)
}

// template is a Rego term for a selector: what its one path finds, or text with
// what several find.
func (m *gatewayModule) template(t *tables.Template) string {
	if t.Path != nil {
		return m.found(t.Path, "null")
	}
	parts := make([]string, len(t.Pieces))
	for i, piece := range t.Pieces {
		if piece.Path == nil {
			parts[i] = regotext.Quote(piece.Text)
			continue
		}
		parts[i] = "selector.text(" + m.found(piece.Path, "null") + ")"
	}
	return `concat("", [` + strings.Join(parts, ", ") + "])"
}

// found is the helper rule that holds what a path finds, or else instead.
func (m *gatewayModule) found(path *tables.SelectorPath, instead string) string {
	name := m.helper()
	last := "input"
	if len(path.Steps) == 0 {
		last = "outcome.seen" // the whole, which has more in it than the request
	}
	var body []string
	take := func(format string, args ...any) {
		next := fmt.Sprintf("v%d", len(body))
		body = append(body, next+" := "+fmt.Sprintf(format, args...))
		last = next
	}
	for _, step := range path.Steps {
		take("selector.step(%s, %s)", last, regotext.Quote(step))
	}
	if path.Length {
		take("selector.length(%s)", last)
	}
	for _, modifier := range path.Modifiers {
		take("%s", modified(last, modifier))
	}
	fmt.Fprintf(&m.Helpers, "\n%s := %s if {\n\t%s\n} else := %s\n", name, last, strings.Join(body, "\n\t"), instead)
	return name
}

func modified(value string, m tables.Modifier) string {
	switch m.Name {
	case "extract":
		return fmt.Sprintf("selector.extract(%s, %s, %d)", value, regotext.Quote(m.Sep), m.Pos)
	case "case":
		return fmt.Sprintf("selector.cased(%s, %s)", value, regotext.Quote(m.Text))
	case "replace":
		return fmt.Sprintf("selector.replaced(%s, %s, %s)", value, regotext.Quote(m.Old), regotext.Quote(m.New))
	case "base64":
		return fmt.Sprintf("selector.base64_of(%s, %s)", value, regotext.Quote(m.Text))
	default:
		return fmt.Sprintf("selector.stripped(%s)", value)
	}
}
