package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// VisibilityFilterRequest asks under which condition items of a type are visible.
type VisibilityFilterRequest struct {
	// Request has the members of a visibility request, without items, aggregations and metrics.
	Request map[string]any `json:"request"`
	// Target is the language of the filter: sql+postgresql, sql+mysql, sql+sqlite,
	// ucast+all, ucast+prisma, ucast+linq, ucast+minimal, kubernetes or cel.
	Target string `json:"target"`
	// Columns states where rows have names, namespaces, labels and fields. Nil is the columns
	// name, namespace and labels.
	Columns map[string]any `json:"columns,omitempty"`
	// FirstParameter is the number of the first parameter in PostgreSQL; zero is 1.
	FirstParameter int `json:"firstParameter,omitempty"`
}

// AccessFilterRequest asks under which condition requests are allowed.
type AccessFilterRequest struct {
	// Request has the members of an access request of a resource, without what is open.
	Request map[string]any `json:"request"`
	// Open are what rows have, among namespace, name, labels and namespaceLabels. Nil is the
	// first two.
	Open []string `json:"open,omitempty"`
	// Target, Columns and FirstParameter are those of a VisibilityFilterRequest.
	Target         string         `json:"target"`
	Columns        map[string]any `json:"columns,omitempty"`
	FirstParameter int            `json:"firstParameter,omitempty"`
}

// FilterKind states whether a filter selects no row, some rows, or every row.
type FilterKind uint8

// The kinds of filters.
const (
	FilterNever FilterKind = iota
	FilterConditional
	FilterAlways
)

// UnmarshalText reads never, conditional or always.
func (k *FilterKind) UnmarshalText(text []byte) error {
	switch string(text) {
	case "never":
		*k = FilterNever
	case "conditional":
		*k = FilterConditional
	case "always":
		*k = FilterAlways
	default:
		return fmt.Errorf("unknown kind of a filter %q", text)
	}
	return nil
}

// UCASTNode is a node of UCAST in OPA's expanded form.
type UCASTNode struct {
	Type     string `json:"type"` // compound or field
	Operator string `json:"operator"`
	Field    string `json:"field,omitempty"`
	// Value is JSON: a list of nodes of a compound, else a value or a list of values.
	Value json.RawMessage `json:"value"`
}

// ListRequest is a request that lists objects of an API server. An empty member does not
// restrict.
type ListRequest struct {
	Namespace     string `json:"namespace"`
	LabelSelector string `json:"labelSelector"`
	FieldSelector string `json:"fieldSelector"`
}

// Filter is the condition that selects the rows which are visible or allowed. The zero value
// selects nothing. A filter that its target cannot say exactly is an *Error with the status
// 422.
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

// FilterVisibility asks under which condition items are visible.
func (c *Client) FilterVisibility(ctx context.Context, r *VisibilityFilterRequest) (Filter, error) {
	return c.filter(ctx, "/v1/filters/visibility", r.Target, r)
}

// FilterAccess asks under which condition requests are allowed.
func (c *Client) FilterAccess(ctx context.Context, r *AccessFilterRequest) (Filter, error) {
	return c.filter(ctx, "/v1/filters/access", r.Target, r)
}

// filterAnswer is a filter as the server writes it.
type filterAnswer struct {
	Kind     FilterKind        `json:"kind"`
	Exact    bool              `json:"exact"`
	Query    json.RawMessage   `json:"query"`
	Args     []json.RawMessage `json:"args"`
	Requests []ListRequest     `json:"requests"`
	Residual *UCASTNode        `json:"residual"`
	Until    *time.Time        `json:"until"`
	Revision string            `json:"revision"`
}

func (c *Client) filter(ctx context.Context, path, target string, question any) (Filter, error) {
	a, err := answer[filterAnswer](ctx, c, http.MethodPost, path, question)
	if err != nil {
		return Filter{}, err
	}
	f := Filter{Kind: a.Kind, Exact: a.Exact, Requests: a.Requests, Residual: a.Residual, Revision: a.Revision}
	if a.Until != nil {
		f.Until = *a.Until
	}
	for _, text := range a.Args {
		arg, err := argOf(text)
		if err != nil {
			return Filter{}, err
		}
		f.Args = append(f.Args, arg)
	}
	switch {
	case target == "kubernetes":
	case target == "cel":
		err = json.Unmarshal(a.Query, &f.CEL)
	case len(a.Query) > 0 && a.Query[0] == '"':
		err = json.Unmarshal(a.Query, &f.SQL)
	case a.Kind != FilterAlways:
		err = json.Unmarshal(a.Query, &f.UCAST)
	}
	if err != nil {
		return Filter{}, err
	}
	return f, nil
}

// argOf reads a parameter: a text, a boolean, an integer of 64 bits or another number.
func argOf(text []byte) (any, error) {
	var n int64
	if err := json.Unmarshal(text, &n); err == nil {
		return n, nil
	}
	var value any
	err := json.Unmarshal(text, &value)
	return value, err
}
