package filter

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/tables"
)

// Targets are the languages that conditions are said in.
var Targets = []string{
	"sql+postgresql", "sql+mysql", "sql+sqlite", "ucast+all", "ucast+prisma", "ucast+linq", "ucast+minimal", "kubernetes", "cel",
}

// Literal is written in place of the number of the first parameter: the text of a filter in
// SQL then has its values, and no parameters.
const Literal = -1

// Kind states whether a filter selects no row ("never"), some rows ("conditional"), or
// every row ("always").
type Kind string

// The kinds of filters.
const (
	Never       Kind = "never"
	Conditional Kind = "conditional"
	Always      Kind = "always"
)

// Condition is the condition on a row that a decision depends on. Its zero value is false.
type Condition struct {
	tree *tree
	// kind is the type of items, or empty at the point access.
	kind string
	// namespace is that of all rows, at the point access; empty where it is open.
	namespace string
}

// Filter is a condition in the language of a target.
type Filter struct {
	Kind  Kind
	Exact bool
	// Query is a text for SQL and CEL, a Node or an empty object for UCAST, nil for
	// Kubernetes. Args are the parameters of a text.
	Query any
	Args  []any
	// Requests and Residual are of Kubernetes.
	Requests []ListRequest
	Residual *Node
}

// Visible returns the condition that an item of a type is shown by a rule; allShown states
// that nothing of the rule restricts it. sources has the MetricSource of a custom type, nil
// without one.
func Visible(rule *tables.VisibilityRule, kind string, source *tables.MetricSource, allShown bool) Condition {
	v := &viewer{rule: rule, source: source}
	c := Condition{kind: kind, tree: always}
	switch entry := rule.Entries[kind]; {
	case allShown:
	case slices.Contains(standardTypes, kind):
		c.tree = v.standard(kind)
	case entry == nil:
		c.tree = never
	default:
		c.tree = v.custom(entry)
	}
	return c
}

// Hidden returns the condition of a request that is denied.
func Hidden(kind string) Condition { return Condition{kind: kind} }

// Print says the condition in the language of a target, which is one of Targets. first is
// the number of the first parameter, in PostgreSQL, or Literal. The error is an *UntranslatableError.
func (c Condition) Print(target string, columns *Columns, first int) (Filter, error) {
	t, bound := c.tree, columns
	t = cmp.Or(t, never)
	if target == "kubernetes" || target == "cel" {
		bound = columns.plain()
	}
	if target == "kubernetes" && (c.kind == typeNodes || c.kind == typeNamespaces) {
		bound.namespace = nil // their objects have none
	}
	t = bind(t, bound)
	out := Filter{Kind: Conditional, Exact: true}
	switch {
	case t.is(false):
		out.Kind = Never
	case t.is(true):
		out.Kind = Always
	}
	var err error
	switch language, variant, _ := strings.Cut(target, "+"); language {
	case "sql":
		out.Query, out.Args, err = printSQL(t, map[string]dialect{"postgresql": postgres{}, "mysql": mysql{}, "sqlite": sqlite{}}[variant], target, max(first, 1), first == Literal)
	case "cel":
		out.Query, out.Args, err = printCEL(t, target)
	case "ucast":
		switch out.Kind {
		case Never:
			out.Query = neverUCAST(bound)
		case Always:
			out.Query = struct{}{}
		case Conditional:
			if c.kind == typeOperators { // whether rows have lists is not known without a column
				err = refusalOf(target, listConstruct, field(availableIn).String())
			} else {
				out.Query, err = printUCAST(t, target, variant)
			}
		}
	case "kubernetes":
		err = c.list(t, &out)
	default:
		return Filter{}, fmt.Errorf("unknown target %q", target)
	}
	if err != nil {
		return Filter{}, err
	}
	return out, nil
}

// list sets the requests for the objects of an API server.
func (c Condition) list(t *tree, out *Filter) error {
	isAccess := c.kind == ""
	if !isAccess && !slices.Contains([]string{typePods, typeNodes, typeNamespaces, typeEvents}, c.kind) && out.Kind != Never {
		return refusalOf("kubernetes", typeConstruct, c.kind)
	}
	var residual *Node
	if out.Kind == Conditional {
		var err error
		if residual, err = printUCAST(t, "kubernetes", "all"); err != nil {
			return err
		}
	}
	found := list(t, c.namespace, !isAccess && c.kind != typeNodes && c.kind != typeNamespaces)
	out.Requests, out.Exact = found.requests, found.isWhole
	if !found.isWhole {
		out.Residual = residual
	}
	return nil
}
