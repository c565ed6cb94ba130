package writ

import (
	"context"
	"time"

	"github.com/writ-policy/writ/analysis/filter"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/filters"
)

// VisibilityFilterRequest asks under which condition items of a type are visible.
type VisibilityFilterRequest struct {
	// Request has no items, aggregations and metrics, and a type.
	Request *VisibilityRequest
	// Target is the language of the filter: sql+postgresql, sql+mysql, sql+sqlite,
	// ucast+all, ucast+prisma, ucast+linq, ucast+minimal, kubernetes or cel.
	Target string
	// Columns states where rows have names, namespaces, labels and fields, with the keys and
	// values of docs/filters.md. Nil is the columns name, namespace and labels.
	Columns map[string]any
	// FirstParameter is the number of the first parameter in PostgreSQL; zero is 1.
	FirstParameter int
}

// AccessFilterRequest asks under which condition requests are allowed.
type AccessFilterRequest struct {
	// Request is of a resource, without what is open.
	Request *AccessRequest
	// Open are what rows have, among namespace, name, labels and namespaceLabels. Nil is the
	// first two.
	Open []string
	// Target, Columns and FirstParameter are those of a VisibilityFilterRequest.
	Target         string
	Columns        map[string]any
	FirstParameter int
}

// FilterKind states whether a filter selects no row, some rows, or every row.
type FilterKind uint8

// The kinds of filters.
const (
	FilterNever FilterKind = iota
	FilterConditional
	FilterAlways
)

// String returns never, conditional or always.
func (k FilterKind) String() string {
	return string([...]filter.Kind{filter.Never, filter.Conditional, filter.Always}[min(k, FilterAlways)])
}

// UCASTNode is a node of UCAST in OPA's expanded form.
type UCASTNode = filter.Node

// ListRequest is a request that lists objects of an API server.
type ListRequest = filter.ListRequest

// Matched is a rule that a decision or a filter is made of.
type Matched = decision.Matched

// Construct is what a target cannot say exactly.
type Construct = filter.Construct

// UntranslatableError is the error of a filter that its target cannot say exactly; see
// errors.As. No part of the filter is returned with it.
type UntranslatableError = filter.UntranslatableError

// Filter is the condition that selects the rows which are visible or allowed. The zero value
// selects nothing.
type Filter struct {
	Kind FilterKind
	// Exact is false only for Kubernetes, where Residual must be applied to what the Requests
	// return.
	Exact bool
	// SQL is the condition for WHERE, with its parameters in Args, and CEL an expression with
	// the same; empty for other targets.
	SQL  string
	CEL  string
	Args []any
	// UCAST is the condition; nil for other targets, and for always.
	UCAST *UCASTNode
	// Requests and Residual are of Kubernetes.
	Requests []ListRequest
	Residual *UCASTNode
	// Until is the first instant at which the filter may differ; zero for never.
	Until time.Time
	// Revision is the revision that made the filter.
	Revision string
	Matched  []Matched
}

// Where returns the condition for WHERE: FALSE for a filter that is not SQL.
func (f *Filter) Where() string {
	switch {
	case f.SQL == "" || f.Kind == FilterNever:
		return "FALSE"
	case f.Kind == FilterAlways:
		return "TRUE"
	}
	return f.SQL
}

// FilterVisibility returns the condition under which items are visible, by the active
// revision at this time. It returns an *InvalidRequest, or an *UntranslatableError if the
// target cannot say the condition exactly.
func (p *Policies) FilterVisibility(ctx context.Context, r *VisibilityFilterRequest) (Filter, error) {
	q, err := filters.OfVisibility(r.Request, filters.Options{Target: r.Target, Columns: columnsOf(r.Columns), First: r.FirstParameter})
	if err != nil {
		return Filter{}, err
	}
	return p.filter(ctx, q)
}

// FilterAccess returns the condition under which requests are allowed, as FilterVisibility
// does.
func (p *Policies) FilterAccess(ctx context.Context, r *AccessFilterRequest) (Filter, error) {
	q, err := filters.OfAccess(r.Request, filters.Options{Open: r.Open, Target: r.Target, Columns: columnsOf(r.Columns), First: r.FirstParameter})
	if err != nil {
		return Filter{}, err
	}
	return p.filter(ctx, q)
}

// columnsOf returns no value for no columns: a nil map in an interface would be one.
func columnsOf(columns map[string]any) any {
	if columns == nil {
		return nil
	}
	return columns
}

func (p *Policies) filter(ctx context.Context, q *filters.Question) (Filter, error) {
	a, err := q.Answer(ctx, p.current())
	if err != nil {
		return Filter{}, err
	}
	f := Filter{Exact: a.Exact, Args: a.Args, Revision: a.Revision, Matched: a.Matched}
	if a.ForKubernetes != nil {
		f.Requests, f.Residual = a.Requests, a.Residual
	}
	switch a.Kind {
	case filter.Conditional:
		f.Kind = FilterConditional
	case filter.Always:
		f.Kind = FilterAlways
	case filter.Never:
	}
	switch query := a.Query.(type) {
	case string:
		if f.SQL = query; q.IsCEL() {
			f.SQL, f.CEL = "", query
		}
	case *filter.Node:
		f.UCAST = query
	}
	if a.Until != nil {
		if f.Until, err = time.Parse(time.RFC3339Nano, *a.Until); err != nil {
			return Filter{}, err
		}
	}
	return f, nil
}
