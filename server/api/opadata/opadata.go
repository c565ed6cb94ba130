// Package opadata answers the requests of OPA's Data API, its Compile API and its health
// check, so that clients of OPA need no change. The entrypoints of the bundle are for every caller, and
// are decided as at other endpoints; other paths and explanations are for auditors, and
// OPA alone evaluates them.
package opadata

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/server/types"
	"github.com/open-policy-agent/opa/v1/version"

	"github.com/writ-policy/writ/internal/jsontext"
	"github.com/writ-policy/writ/server/api/exchange"
	"github.com/writ-policy/writ/server/auth"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/tables"
)

// API answers the requests. Service, Decide and Labels are required.
type API struct {
	Service *exchange.Service
	// Decide decides a request at a point and returns the decision as JSON.
	Decide func(r *http.Request, p decision.Policies, point decision.Point, request decision.Value) ([]byte, *decision.InvalidRequest)
	// Labels are those of a cluster, nil if they are unknown.
	Labels decision.ClusterLabels
	// MaxAnswer is the size in bytes of the largest condition; zero is unlimited.
	MaxAnswer int
}

// bundleName is the name of the bundle in provenance and health.
const bundleName = "writ"

// Get answers GET /v1/data, whose input is a parameter.
func (a *API) Get() http.HandlerFunc {
	return a.handler(func(r *http.Request, _ decision.Value) (decision.Value, *exchange.Refusal) {
		inputs := r.URL.Query()["input"]
		if len(inputs) == 0 {
			return decision.Value{}, nil
		}
		value, _, err := decision.ParseInto(new(decision.Document), inputs[len(inputs)-1], a.Service.MaxValues)
		if err != nil {
			return value, exchange.InvalidBody(err)
		}
		return value, nil
	}, a.appendAnswer)
}

// Post answers POST /v1/data, whose body has the input as a member.
func (a *API) Post() http.HandlerFunc {
	return a.handler(func(_ *http.Request, body decision.Value) (decision.Value, *exchange.Refusal) {
		if !body.IsAbsent() && !body.IsObject() {
			return body, exchange.BadRequest("", "the body is not a JSON object")
		}
		for key, member := range body.Members() {
			if key == "input" && !member.IsNull() {
				return member, nil
			}
		}
		return decision.Value{}, nil
	}, func(r *http.Request, p decision.Policies, q *query, found *value, b []byte) ([]byte, *exchange.Refusal) {
		if q.input.IsAbsent() {
			found.warning = types.NewWarning(types.CodeAPIUsageWarn, types.MsgInputKeyMissing)
		}
		return a.appendAnswer(r, p, q, found, b)
	})
}

// PostV0 answers POST /v0/data, whose body is the input and whose answer is the result.
func (a *API) PostV0() http.HandlerFunc {
	return a.handler(func(_ *http.Request, body decision.Value) (decision.Value, *exchange.Refusal) {
		return body, nil
	}, func(_ *http.Request, _ decision.Policies, q *query, found *value, b []byte) ([]byte, *exchange.Refusal) {
		if found.Result == nil {
			return b, &exchange.Refusal{Status: http.StatusNotFound, Message: found.Undefined}
		}
		return appendIndented(b, found.Result, q.pretty), nil
	})
}

// query is a request for a path.
type query struct {
	id      string
	path    []string
	input   decision.Value
	explain string
	pretty  bool
	metrics bool
	began   time.Time
}

// value is what a query finds.
type value struct {
	decision.DataAnswer
	warning *types.Warning
}

// handler returns the handler of a form of the API: how its input is read, and how a value
// is written.
func (a *API) handler(
	input func(*http.Request, decision.Value) (decision.Value, *exchange.Refusal),
	write func(*http.Request, decision.Policies, *query, *value, []byte) ([]byte, *exchange.Refusal),
) http.HandlerFunc {
	return a.Service.Decision(exchange.Decision{
		Form: Form, Check: checkMedia, BodyIsOptional: true,
		Answer: func(r *http.Request, p decision.Policies, body decision.Value, b []byte) ([]byte, *exchange.Refusal) {
			q := queryOf(r)
			ctx, trail := decision.WithTrail(r.Context())
			q.id, r = trail.ID(), r.WithContext(ctx)
			var refused *exchange.Refusal
			if q.input, refused = input(r, body); refused != nil {
				return b, refused
			}
			found, refused := a.find(r, p, q)
			if refused != nil {
				return b, refused
			}
			return write(r, p, q, found, b)
		},
	})
}

// checkMedia refuses YAML, which OPA would read.
func checkMedia(r *http.Request) *exchange.Refusal {
	if strings.Contains(r.Header.Get("Content-Type"), "yaml") {
		return &exchange.Refusal{Status: http.StatusUnsupportedMediaType, Message: "the body must be JSON"}
	}
	return nil
}

func queryOf(r *http.Request) *query {
	parameters := r.URL.Query()
	q := &query{began: time.Now(), pretty: isSet(parameters["pretty"]), metrics: isSet(parameters["metrics"]) || isSet(parameters["instrument"])}
	for name := range strings.SplitSeq(r.PathValue("path"), "/") {
		if name != "" {
			q.path = append(q.path, name)
		}
	}
	for _, mode := range parameters["explain"] {
		switch types.ExplainModeV1(mode) {
		case types.ExplainNotesV1, types.ExplainFailsV1, types.ExplainFullV1, types.ExplainDebugV1:
			q.explain = mode
			return q
		case types.ExplainOffV1:
		}
	}
	return q
}

// isSet reports whether a parameter is set: without a value, or to true.
func isSet(values []string) bool {
	for _, text := range values {
		if strings.EqualFold(text, "true") {
			return true
		}
	}
	return len(values) == 1 && values[0] == ""
}

// find returns the value of a query.
func (a *API) find(r *http.Request, p decision.Policies, q *query) (*value, *exchange.Refusal) {
	if point, below, ok := entrypointOf(q.path); ok && q.explain == "" {
		return a.decide(r, p, q, point, below)
	}
	if !a.Service.Rule.Has(auth.CallerOf(r.Context()), auth.Auditor) {
		return nil, &exchange.Refusal{Status: http.StatusForbidden, Message: "only auditors may read beyond the entrypoints, and explanations"}
	}
	found := new(value)
	refused := a.Service.Listing(func() *exchange.Refusal {
		ctx, cancel := context.WithTimeout(r.Context(), a.Service.Budget(r))
		defer cancel()
		var err error
		found.DataAnswer, err = p.Data(ctx, decision.DataQuery{Path: q.path, Input: q.input, Explain: q.explain, Pretty: q.pretty})
		switch {
		case err == nil:
			return nil
		case errors.Is(err, decision.ErrDeadline), errors.Is(err, decision.ErrCanceled):
			return &exchange.Refusal{Status: http.StatusServiceUnavailable, Message: err.Error()}
		}
		return &exchange.Refusal{Status: http.StatusInternalServerError, Message: types.MsgEvaluationError + ": " + err.Error()}
	})
	return found, refused
}

// entrypointOf returns the point whose entrypoint a path is or is below, and the rest of
// the path.
func entrypointOf(path []string) (point decision.Point, below []string, ok bool) {
	for _, table := range translator.Tables() {
		entrypoint := strings.Split(table.Entrypoint(), "/")
		if len(path) < len(entrypoint) || !slices.Equal(path[:len(entrypoint)], entrypoint) {
			continue
		}
		point, found := decision.FindPoint(tables.Point(table))
		return point, path[len(entrypoint):], found
	}
	return decision.Point{}, nil, false
}

// decide answers an entrypoint like every other endpoint does. An invalid request is a
// result that has its error, as the rule returns it.
func (a *API) decide(r *http.Request, p decision.Policies, q *query, point decision.Point, below []string) (*value, *exchange.Refusal) {
	result, invalid := a.Decide(r, p, point, q.input)
	if invalid != nil {
		result = invalid.Body()
	}
	found := &value{DataAnswer: decision.DataAnswer{Metrics: map[string]any{"timer_rego_query_eval_ns": time.Since(q.began).Nanoseconds()}}}
	if inner := memberAt(jsontext.ValueOf(string(result)), below); !inner.IsAbsent() {
		found.Result = inner.Bytes()
		return found, nil
	}
	found.Undefined = types.MsgFoundUndefinedError + ": data." + strings.Join(q.path, ".")
	return found, nil
}

// memberAt returns the value at a path of names and indexes, empty if the path leads nowhere.
func memberAt(v decision.Value, path []string) decision.Value {
	for _, name := range path {
		var inner decision.Value
		index := 0
		for key, member := range v.Members() {
			if key == name {
				inner = member
			}
		}
		for element := range v.Elements() {
			if strconv.Itoa(index) == name {
				inner = element
			}
			index++
		}
		if v = inner; v.IsAbsent() {
			return v
		}
	}
	return v
}

// appendAnswer appends the answer of version 1.
func (a *API) appendAnswer(r *http.Request, p decision.Policies, q *query, found *value, b []byte) ([]byte, *exchange.Refusal) {
	answer := types.DataResponseV1{DecisionID: q.id, Warning: found.warning, Explanation: found.Explanation}
	if found.Result != nil {
		var result any = json.RawMessage(found.Result)
		answer.Result = &result
	}
	if isSet(r.URL.Query()["provenance"]) {
		answer.Provenance = provenance(p)
	}
	if q.metrics {
		answer.Metrics = found.Metrics
		answer.Metrics["timer_server_handler_ns"] = time.Since(q.began).Nanoseconds()
	}
	text, err := json.Marshal(answer)
	if err != nil {
		return b, exchange.Internal
	}
	return appendIndented(b, text, q.pretty), nil
}

func provenance(p decision.Policies) *types.ProvenanceV1 {
	out := &types.ProvenanceV1{
		Version: version.Version, Vcs: version.Vcs, Timestamp: version.Timestamp, Hostname: version.Hostname,
		Bundles: map[string]types.ProvenanceBundleV1{},
	}
	if p.Loaded().Revision != "" {
		out.Bundles[bundleName] = types.ProvenanceBundleV1{Revision: p.Loaded().Revision}
	}
	return out
}

func appendIndented(b, text []byte, pretty bool) []byte {
	if !pretty {
		return append(append(b, bytes.TrimSpace(text)...), '\n')
	}
	out := bytes.NewBuffer(b)
	if err := json.Indent(out, bytes.TrimSpace(text), "", "  "); err != nil {
		return append(append(b, text...), '\n')
	}
	return append(out.Bytes(), '\n')
}

// Health answers GET /health: with bundles or plugins set, an error unless a revision is
// active.
func (a *API) Health(w http.ResponseWriter, r *http.Request) {
	parameters := r.URL.Query()
	problem := ""
	if a.Service.Current().Loaded().Revision == "" {
		excluded := false
		for _, name := range parameters["exclude-plugin"] {
			excluded = excluded || name == "bundle"
		}
		switch {
		case isSet(parameters["bundles"]), isSet(parameters["bundle"]):
			problem = "one or more bundles are not activated: " + bundleName
		case isSet(parameters["plugins"]) && !excluded:
			problem = "one or more plugins are not up"
		}
	}
	if problem != "" {
		b := append(jsontext.AppendString([]byte(`{"error":`), problem), "}\n"...)
		exchange.Write(w, http.StatusInternalServerError, exchange.JSON, b)
		return
	}
	exchange.Write(w, http.StatusOK, exchange.JSON, []byte("{}\n"))
}

// codes are OPA's words for statuses; others are invalid parameters.
var codes = map[int]string{
	http.StatusUnauthorized:        types.CodeUnauthorized,
	http.StatusForbidden:           types.CodeUnauthorized,
	http.StatusNotFound:            types.CodeUndefinedDocument,
	http.StatusInternalServerError: types.CodeInternal,
	http.StatusServiceUnavailable:  types.CodeInternal,
}

// Form is how OPA states errors.
func Form(r *exchange.Refusal) (status int, contentType []string, body []byte) {
	code, ok := codes[r.Status]
	if !ok {
		code = types.CodeInvalidParameter
	}
	switch {
	case r.Errors != nil:
		code = types.CodeEvaluation
	case r.Code == types.CodeResourceNotFound, r.Code == codeInvalidUnknown:
		code = r.Code
	}
	e := types.NewErrorV1(code, "%s", exchange.Line(r.Message, exchange.MaxText))
	e.Errors = r.Errors
	text := e.Bytes()
	return r.Status, exchange.JSON, append(text, '\n')
}
