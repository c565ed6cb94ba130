package opadata

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/server/types"

	"github.com/writ-policy/writ/analysis/filter"
	"github.com/writ-policy/writ/internal/jsontext"
	"github.com/writ-policy/writ/server/api/exchange"
	"github.com/writ-policy/writ/server/api/questions"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/filters"
)

// compiled are the rules whose conditions are compiled, and their points.
var compiled = map[string]string{
	"writ/visibility/decision/visible": decision.Visibility,
	"writ/access/decision/allowed":     decision.Access,
}

// dialects are the targets that have a media type. Of those of UCAST, one has the operators
// of those before it.
var dialects = []string{"ucast+minimal", "ucast+linq", "ucast+prisma", "ucast+all", "sql+postgresql", "sql+mysql", "sql+sqlite"}

// multitarget is the media type of conditions in several languages.
const multitarget = "multitarget"

// CompileMedia returns the content types of the answers of Compile.
func CompileMedia() []string {
	out := []string{"application/vnd.opa." + multitarget + "+json"}
	for _, d := range dialects {
		out = append(out, "application/vnd.opa."+strings.Replace(d, "+", ".", 1)+"+json")
	}
	return out
}

// codeInvalidUnknown is OPA's code of what cannot be open.
const codeInvalidUnknown = "invalid_unknown"

// Compile answers POST /v1/compile: under which condition rows are visible or allowed.
func (a *API) Compile() http.HandlerFunc {
	return a.Service.Decision(exchange.Decision{
		Form: CompileForm, Check: checkCompilation, Answer: a.compile,
		Media: func(r *http.Request) []string { return r.Header["Accept"] },
	})
}

// CompileForm is Form for the Compile API, whose paths are not those of documents.
func CompileForm(r *exchange.Refusal) (status int, contentType []string, body []byte) {
	if r.Status == http.StatusNotFound {
		missing := *r
		missing.Code = types.CodeResourceNotFound
		r = &missing
	}
	return Form(r)
}

// checkCompilation refuses a path that has no conditions, and media types of other answers.
func checkCompilation(r *http.Request) *exchange.Refusal {
	if compiled[pathOf(r)] == "" {
		return &exchange.Refusal{Status: http.StatusNotFound, Message: "only writ/visibility/decision/visible and writ/access/decision/allowed have filters"}
	}
	if _, err := mediaOf(r); err != nil {
		return exchange.BadRequest("", "Accept header: "+err.Error())
	}
	return checkMedia(r)
}

// pathOf is the path that a request asks for, without slashes that have no effect.
func pathOf(r *http.Request) string { return strings.Join(queryOf(r).path, "/") }

// mediaOf returns what the answer must be: one of dialects, or multitarget.
func mediaOf(r *http.Request) (string, error) {
	accepted := r.Header["Accept"]
	switch {
	case len(accepted) == 0 || accepted[0] == "":
		return "", errors.New("missing required header")
	case len(accepted) > 1 || strings.Contains(accepted[0], ","):
		return "", errors.New("multiple headers not supported")
	}
	text, hasPrefix := strings.CutPrefix(accepted[0], "application/vnd.opa.")
	text, hasSuffix := strings.CutSuffix(text, "+json")
	target := strings.Replace(text, ".", "+", 1)
	if !hasPrefix || !hasSuffix || target != multitarget && !slices.Contains(dialects, target) {
		return "", fmt.Errorf("unsupported header: %s", accepted[0])
	}
	return target, nil
}

// compilation is a body, with the point that it asks.
type compilation struct {
	point    string
	input    decision.Value
	open     []string // nil for what is open without unknowns
	unknowns []string
	options  compileOptions
	metadata map[string]any // members that OPA does not know, for the log
}

// compileOptions are the options that have an effect.
type compileOptions struct {
	Mappings map[string]any `json:"targetSQLTableMappings,omitempty"`
	Dialects []string       `json:"targetDialects,omitempty"`
	Columns  map[string]any `json:"columns,omitempty"`
	Explicit bool           `json:"explicit,omitempty"`
}

func parseCompilation(point string, body decision.Value) (*compilation, *exchange.Refusal) {
	if !body.IsObject() {
		return nil, exchange.BadRequest("", "the body is not a JSON object")
	}
	c := &compilation{point: point, metadata: make(map[string]any)}
	for key, value := range body.Members() {
		var err error
		switch key {
		case "input":
			c.input = value
		case "query":
			return nil, exchange.BadRequest(key, "query must be absent: the path names what is compiled")
		case "unknowns":
			err = json.Unmarshal(value.Bytes(), &c.unknowns)
		case "options":
			err = json.Unmarshal(value.Bytes(), &c.options)
		default:
			var other any
			err = json.Unmarshal(value.Bytes(), &other)
			c.metadata[key] = other
		}
		if err != nil {
			return nil, exchange.BadRequest(key, key+" or a member of it has a value of the wrong type")
		}
	}
	return c, c.setOpen()
}

// setOpen sets what is open, without unknowns the default.
func (c *compilation) setOpen() *exchange.Refusal {
	for _, unknown := range c.unknowns {
		key, ok := strings.CutPrefix(unknown, "input.")
		known := []string{"namespace", "name", "labels", "namespaceLabels"}
		if c.point == decision.Visibility {
			known = []string{"items"}
		}
		if !ok || !slices.Contains(known, key) {
			return &exchange.Refusal{Status: http.StatusBadRequest, Code: codeInvalidUnknown,
				Message: fmt.Sprintf("%q must be one of input.%s", unknown, strings.Join(known, ", input."))}
		}
		if c.point == decision.Access && !slices.Contains(c.open, key) {
			c.open = append(c.open, key)
		}
	}
	if len(c.unknowns) == 0 {
		c.unknowns = map[string][]string{decision.Visibility: {"input.items"}, decision.Access: {"input.namespace", "input.name"}}[c.point]
	}
	return nil
}

// compileAnswer is the answer of OPA with what it leaves to the caller.
type compileAnswer struct {
	Result   any            `json:"result,omitempty"`
	Metrics  map[string]any `json:"metrics,omitempty"`
	Kind     filter.Kind    `json:"kind"`
	Exact    bool           `json:"exact"`
	Until    *string        `json:"until"`
	Revision string         `json:"revision"`
}

// compiledTarget is a filter in one language, and the question that it answers.
type compiledTarget struct {
	target   string
	question *filters.Question
	*filters.Answer
}

func (a *API) compile(r *http.Request, p decision.Policies, body decision.Value, b []byte) ([]byte, *exchange.Refusal) {
	q := queryOf(r)
	c, refused := parseCompilation(compiled[pathOf(r)], body)
	if refused != nil {
		return b, refused
	}
	media, _ := mediaOf(r)
	targets := []string{media}
	if media == multitarget {
		if targets, refused = c.targets(); refused != nil {
			return b, refused
		}
	}
	ctx, cancel := context.WithTimeout(r.Context(), a.Service.Budget(r))
	defer cancel()
	found, refused := a.answers(ctx, p.AtNow(), c, targets)
	if refused != nil {
		return b, refused
	}
	first := found[0]
	answer := compileAnswer{Kind: first.Kind, Exact: first.Exact, Until: first.Until, Revision: first.Revision, Result: c.result(media, found)}
	if q.metrics {
		answer.Metrics = map[string]any{"timer_server_handler_ns": time.Since(q.began).Nanoseconds()}
	}
	text := jsontext.Line(answer)
	if a.MaxAnswer > 0 && len(text) > a.MaxAnswer {
		return b, questions.TooLarge(len(text), a.MaxAnswer)
	}
	if a.Service.IsRecorded() {
		a.Service.Filtered(r, p, c.record(pathOf(r), media, found, answer.Result))
	}
	return appendIndented(b, text, q.pretty), nil
}

// answers returns the filters in some languages. What one of them cannot say refuses all.
func (a *API) answers(ctx context.Context, p decision.Policies, c *compilation, targets []string) (found []compiledTarget, refused *exchange.Refusal) {
	var failed []error
	for _, target := range targets {
		question, answer, err := a.answer(ctx, p, c, target)
		var untranslatable *filter.UntranslatableError
		switch {
		case errors.As(err, &untranslatable):
			failed = append(failed, errorsOf(untranslatable)...)
		case err != nil:
			refused := *questions.FilterRefusal(err)
			refused.Message = strings.ReplaceAll(refused.Message, `"request.`, `"input.`)
			return nil, &refused
		}
		found = append(found, compiledTarget{target, question, answer})
	}
	if failed != nil {
		return nil, &exchange.Refusal{Status: http.StatusBadRequest, Message: types.MsgEvaluationError, Errors: failed}
	}
	return found, nil
}

// result is the result of OPA: nil for never, and an object of those in several languages.
func (c *compilation) result(media string, found []compiledTarget) any {
	queries := make(map[string]any)
	for _, f := range found {
		if f.Kind != filter.Never || c.options.Explicit {
			queries[nameOf(f.target)] = map[string]any{"query": c.text(f.Answer)}
		}
	}
	if media == multitarget {
		return queries
	}
	return queries[nameOf(media)]
}

// targets returns the targets of the dialects that a body names. One condition in UCAST has
// the operators that all of its dialects have.
func (c *compilation) targets() ([]string, *exchange.Refusal) {
	var out []string
	for _, d := range dialects {
		isFirst := !strings.HasPrefix(d, "ucast+") || len(out) == 0
		if slices.Contains(c.options.Dialects, d) && isFirst {
			out = append(out, d)
		}
	}
	if len(out) == 0 && len(c.options.Dialects) == 0 {
		return nil, exchange.BadRequest("options", "options.targetDialects must name a dialect, as sql+postgresql")
	}
	for _, d := range c.options.Dialects {
		if !slices.Contains(dialects, d) {
			return nil, exchange.BadRequest("options", fmt.Sprintf("options.targetDialects: unsupported dialect %q", d))
		}
	}
	return out, nil
}

// nameOf is the name of a target among several.
func nameOf(target string) string {
	language, dialect, _ := strings.Cut(target, "+")
	if language == "sql" {
		return dialect
	}
	return language
}

// answer asks for the filter in a target.
func (a *API) answer(ctx context.Context, p decision.Policies, c *compilation, target string) (*filters.Question, *filters.Answer, error) {
	columns, err := c.columns(target)
	if err != nil {
		return nil, nil, err
	}
	o := filters.Options{Open: c.open, Target: target, Columns: columns, First: filter.Literal}
	q, err := filters.OfInput(c.point, c.input, o, a.Labels)
	if err != nil {
		return nil, nil, err
	}
	found, err := q.Answer(ctx, p)
	return q, found, err
}

// columns returns where rows have values: in a table "items" with columns of these names,
// unless mappings or the option "columns" state others.
func (c *compilation) columns(target string) (map[string]any, error) {
	mapping, err := c.mapping(target)
	if err != nil {
		return nil, err
	}
	at := func(name, otherwise string) []any {
		if column, ok := mapping[name]; ok {
			otherwise = column
		}
		table, ok := mapping["$self"]
		if !ok {
			table = "items"
		}
		return []any{table, otherwise}
	}
	out := map[string]any{"name": at("name", "name"), "namespace": at("namespace", "namespace"), "labels": map[string]any{"json": at("labels", "labels")}}
	for _, key := range []string{"namespaceLabels", "fields"} {
		if _, ok := mapping[key]; ok {
			out[key] = map[string]any{"json": at(key, key)}
		}
	}
	maps.Copy(out, c.options.Columns)
	return out, nil
}

// mapping returns what is mapped of the table in a target: for the dialect, for the language,
// or for both.
func (c *compilation) mapping(target string) (map[string]string, error) {
	language, dialect, _ := strings.Cut(target, "+")
	invalid := func(at string) error {
		return &decision.InvalidRequest{Code: decision.CodeInvalidRequest, Field: "options", Message: "options.targetSQLTableMappings" + at}
	}
	of := c.options.Mappings
	for _, name := range []string{dialect, language} {
		given, ok := of[name]
		if !ok {
			continue
		}
		if of, ok = given.(map[string]any); !ok {
			return nil, invalid("." + name + " must be an object")
		}
		break
	}
	table, ok := of["items"].(map[string]any)
	if of["items"] != nil && !ok {
		return nil, invalid(".items must be an object")
	}
	out := make(map[string]string)
	for _, key := range slices.Sorted(maps.Keys(table)) {
		if out[key], ok = table[key].(string); !ok {
			return nil, invalid(".items." + key + " must be a string")
		}
	}
	return out, nil
}

// text is a condition as OPA says it.
func (c *compilation) text(a *filters.Answer) any {
	condition, ok := a.Query.(string)
	switch {
	case !ok: // UCAST
		return a.Query
	case a.Kind == filter.Always && c.options.Explicit:
		return "WHERE 1 = 1"
	case a.Kind == filter.Always:
		return ""
	case a.Kind == filter.Never:
		return "WHERE 1 = 0"
	}
	return "WHERE " + condition
}

// errorsOf returns what cannot be said as errors of OPA's compiler, one for each construct.
func errorsOf(refused *filter.UntranslatableError) (out []error) {
	for _, c := range refused.Constructs {
		e := ast.NewError("pe_fragment_error", nil, "%s", c.Message())
		if at := strings.LastIndexByte(c.Source, ':'); at > 0 {
			if line, err := strconv.Atoi(c.Source[at+1:]); err == nil {
				e.Location = ast.NewLocation(nil, c.Source[:at], line, 1)
			}
		}
		out = append(out, e)
	}
	return out
}

// record is what is recorded of conditions, as OPA does.
func (c *compilation) record(path, media string, found []compiledTarget, result any) *decision.Filter {
	var hashes []string
	var f *decision.Filter
	for _, t := range found {
		f = t.question.Record(t.Answer)
		hashes = append(hashes, f.Hash)
	}
	f.Target, f.Hash, f.Path, f.Input = media, strings.Join(hashes, "+"), path, found[0].question.Input(c.input)
	if result != nil {
		f.Result = jsontext.Line(result)
	}
	f.Custom = map[string]any{"type": "open-policy-agent/compile", "unknowns": c.unknowns, "options": c.options, "mask_rule": ""}
	if len(c.metadata) > 0 {
		f.Custom["request_metadata"] = c.metadata
	}
	return f
}
