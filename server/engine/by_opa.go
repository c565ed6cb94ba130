package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/topdown"
	"github.com/open-policy-agent/opa/v1/topdown/builtins"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine/overdue"
)

// byOPA are the queries of the points at which OPA evaluates the Rego of the bundle as a stock
// OPA does. At the others the engine answers from compiled forms of the same Rego.
type byOPA map[string]*rego.PreparedEvalQuery

// at returns the query that decides at a point, nil if a compiled form does.
func (o byOPA) at(point string) *rego.PreparedEvalQuery { return o[point] }

// compiledPoints are the points with a compiled form, with the packages of their Rego
// beside the library's of the same name.
var compiledPoints = map[string][]string{
	decision.Access:     {"deny", "deny_resources", "escalations", "expressions", "extensions"},
	decision.Visibility: {"visibility"},
	decision.Gateway:    {"gateway"},
}

// PointsByOPA returns Options.ByOPA for what decides: all points, or none.
func PointsByOPA(decideBy string) []string {
	if decideBy != DecideByOPA {
		return nil
	}
	return slices.Sorted(maps.Keys(compiledPoints))
}

// whyOPA returns why OPA must decide, by point: the compiled forms are of the Rego that
// this version writes, and the bundle has other modules there, or o requires it.
func whyOPA(altered []bundles.Altered, o Options) map[string]string {
	why := make(map[string]string)
	for _, point := range o.ByOPA {
		why[point] = "as configured"
	}
	paths := make(map[string][]string)
	for _, module := range altered {
		if module.IsAuthored() {
			continue
		}
		for point := range compiledPoints {
			if why[point] == "" && decidesAt(module.Package, point) {
				paths[point] = append(paths[point], module.Path)
			}
		}
	}
	const shown = 3
	for point, list := range paths {
		text := fmt.Sprintf("%d modules are not those of this version: ", len(list))
		if more := len(list) - shown; more > 0 {
			list = append(slices.Clone(list[:shown]), fmt.Sprintf("and %d more", more))
		}
		why[point] = text + strings.Join(list, ", ")
	}
	return why
}

// decidesAt reports whether a module of a package may decide at a point: it is of that
// point, or of none of the others.
func decidesAt(names []string, point string) bool {
	isOf := func(point string) bool {
		if len(names) < 2 {
			return false
		}
		return names[0] == "writ" && names[1] == point || names[0] == "compiled" && slices.Contains(compiledPoints[point], names[1])
	}
	for other := range compiledPoints {
		if other != point && isOf(other) {
			return false
		}
	}
	return true
}

// prepareByOPA prepares the entrypoints of the points that OPA decides, with the data of
// the bundle, which is kept for as long as the revision.
func (e *Engine) prepareByOPA(ctx context.Context) error {
	why := e.loaded.ByOPA
	e.byOPA = make(byOPA)
	if len(why) == 0 {
		return nil
	}
	store, err := e.data.whole()
	if err != nil {
		return err
	}
	for point := range why {
		compiled := e.queries.whole[point]
		if len(why) == len(compiledPoints) {
			compiled = e.queries.all
		}
		compiler, err := compiled()
		if err != nil {
			return err
		}
		query, err := prepareQuery(ctx, compiler, entrypoint(point), store)
		if err != nil {
			return err
		}
		e.byOPA[point] = &query
	}
	return nil
}

// entrypoint returns the query that a stock OPA is asked at a point.
func entrypoint(point string) string { return "data.writ." + point + ".decision" }

// runWhole evaluates the entrypoint of a point. isOwn reports whether the result may differ
// the next time.
func (e *Engine) runWhole(ctx context.Context, point string, in ast.Value, now time.Time) (value ast.Value, isOwn bool, err error) {
	// The cache of an evaluation has an entry for each built-in whose result may differ.
	nondeterministic := make(builtins.NDBCache)
	value, err = overdue.Run(ctx, e.overdue, point, e.timeout, func(cancel topdown.Cancel) (ast.Value, error) {
		return e.evaluateOPA(ctx, e.byOPA.at(point), in, now, cancel, rego.EvalNDBuiltinCache(nondeterministic))
	})
	if err != nil {
		return nil, false, err
	}
	return value, len(nondeterministic) > 0, nil
}

// refusal is the key error of a decision on an invalid request.
type refusal struct {
	Error *struct{ Code, Message string }
}

// check returns an *InvalidRequest if the Rego refused the request.
func (r *refusal) check() error {
	if r.Error == nil {
		return nil
	}
	return &decision.InvalidRequest{Code: r.Error.Code, Message: r.Error.Message}
}

// accessByOPA is decideAt by the Rego of the bundle.
func (e *Engine) accessByOPA(ctx context.Context, r *decision.Request, now time.Time) (decision.Decision, error) {
	pairs, err := request(r)
	if err != nil {
		return decision.Decision{}, err
	}
	// A key that the request may not have had is left out.
	pairs = slices.DeleteFunc(pairs, func(pair [2]*ast.Term) bool {
		switch pair[0] {
		case keyUser, keyFields, keyLabels, keyNamespaceLabels:
			return false
		}
		return pair[1] == empty || pair[1] == noList || pair[1] == noObject
	})
	value, isOwn, err := e.runWhole(ctx, decision.Access, ast.NewObject(pairs...), now)
	if err != nil {
		return decision.Decision{}, err
	}
	var read struct {
		refusal
		decision.Decision
		Allowed *bool `json:"allowed"`
		Denied  *bool `json:"denied"`
	}
	if err := readTerm(value, &read); err != nil {
		return decision.Decision{}, fmt.Errorf("read the decision: %w", err)
	}
	if err := read.check(); err != nil {
		return decision.Decision{}, err
	}
	if read.Allowed == nil || read.Denied == nil || *read.Allowed && *read.Denied {
		return decision.Decision{}, errors.New("the decision must have the booleans allowed and denied, not both true")
	}
	d := read.Decision
	d.Allowed, d.Denied, d.IsWorded = *read.Allowed, *read.Denied, true
	d.Warnings, d.Matched = elements.NotNil(d.Warnings), elements.NotNil(d.Matched)
	if p := d.PodSecurity; p != nil {
		d.Pods = []decision.PodOutcome{{Policy: p.Policy, Action: p.Action, Evaluated: true, Score: p.Score, Factors: p.Factors}}
	}
	if isOwn || r.Pod != nil {
		d.Expires = now
	}
	return d, nil
}

// Visibility authorizes a request.
func (e *Engine) Visibility(ctx context.Context, r *decision.VisibilityRequest) decision.Authorization {
	if e.byOPA.at(decision.Visibility) == nil {
		return e.Policies.Visibility(ctx, r)
	}
	return e.visibilityByOPA(ctx, r, nil).Authorization
}

// FilterItems filters items and computes numbers by an authorization of this revision.
func (e *Engine) FilterItems(ctx context.Context, r *decision.VisibilityRequest, a decision.Authorization, items iter.Seq2[decision.Item, error], yield func(int) error) (decision.VisibilityDecision, error) {
	if e.byOPA.at(decision.Visibility) == nil {
		return e.Policies.FilterItems(ctx, r, a, items, yield)
	}
	return e.FilterWhole(items, func(items []byte) decision.VisibilityDecision { return e.visibilityByOPA(ctx, r, items) }, yield)
}

// visibilityByOPA decides a request by the Rego of the bundle. items is the JSON of a list,
// nil without items.
func (e *Engine) visibilityByOPA(ctx context.Context, r *decision.VisibilityRequest, items []byte) decision.VisibilityDecision {
	now := e.now()
	d, err := e.tryVisibility(ctx, r, items, now)
	if err != nil {
		d = decision.VisibilityDecision{}.Failed(err.Error())
	}
	d.Revision, d.Expires = e.loaded.Revision, now // policies hold for a time, and the answer is for this instant
	return d
}

func (e *Engine) tryVisibility(ctx context.Context, r *decision.VisibilityRequest, items []byte, now time.Time) (decision.VisibilityDecision, error) {
	var read struct {
		refusal
		decision.VisibilityDecision
	}
	plain := *r
	plain.Items = nil
	text, err := json.Marshal(&plain)
	if err != nil {
		return read.VisibilityDecision, fmt.Errorf("read the request: %w", err)
	}
	in, err := ast.ValueFromReader(bytes.NewReader(text))
	if err != nil {
		return read.VisibilityDecision, fmt.Errorf("read the request: %w", err)
	}
	if items != nil {
		list, err := ast.ValueFromReader(bytes.NewReader(items))
		if err != nil {
			return read.VisibilityDecision, fmt.Errorf("read the items: %w", err)
		}
		in.(ast.Object).Insert(ast.StringTerm("items"), ast.NewTerm(list))
	}
	value, _, err := e.runWhole(ctx, decision.Visibility, in, now)
	if err != nil {
		return read.VisibilityDecision, err
	}
	if err := readTerm(value, &read); err != nil {
		return read.VisibilityDecision, fmt.Errorf("read the decision: %w", err)
	}
	if err := read.check(); err != nil {
		return read.VisibilityDecision, err
	}
	switch d := &read.VisibilityDecision; d.Decision {
	case decision.VisibleAll, decision.VisibleSome, decision.VisibleNone:
		d.Permissions, d.Matched, d.Visible = elements.NotNil(d.Permissions), elements.NotNil(d.Matched), elements.NotNil(d.Visible)
		return *d, nil
	}
	return read.VisibilityDecision, fmt.Errorf("the decision must be %s, %s or %s", decision.VisibleAll, decision.VisibleSome, decision.VisibleNone)
}

// gatewayByOPA is gateway by the Rego of the bundle. The targets are those whose policies
// may set headers.
func (e *Engine) gatewayByOPA(ctx context.Context, r *decision.GatewayRequest, now time.Time) (d decision.GatewayDecision, targets []decision.GatewayTarget, err error) {
	in, err := ast.InterfaceToValue(r.Attributes)
	if err != nil {
		return d, nil, fmt.Errorf("read the request: %w", err)
	}
	value, _, err := e.runWhole(ctx, decision.Gateway, in, now)
	if err != nil {
		return d, nil, err
	}
	answer, ok := value.(ast.Object)
	if !ok {
		return d, nil, errors.New("the decision must be an object")
	}
	if d, err = readGateway(answer); err != nil {
		return d, nil, err
	}
	if d.Target != nil && len(d.Warnings) == 0 {
		return d, []decision.GatewayTarget{*d.Target}, nil
	}
	// Several paths may have decided. A header that a policy of any path sets must not
	// come from the client.
	return d, slices.Collect(maps.Keys(e.headers)), nil
}
