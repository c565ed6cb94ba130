package replay

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/selector"
)

// The reasons for skipping a record.
const (
	skipOutcome    = "no-outcome"
	skipPath       = "other-path"
	skipMasked     = "masked"
	skipAnnotation = "no-annotation"
	skipRepeated   = "repeated-stage"
	skipInvalid    = "invalid-request"
	skipMalformed  = "malformed"
)

// forbidden is the recorded outcome of an API server that did not allow a request: its
// authorizers denied it or had no opinion.
const forbidden = "forbid"

// record is one event of a log.
type record struct {
	point    string
	question decision.Question
	text     []byte // the request as the log has it, nil for audit events
	// outcome is the recorded one, or empty.
	outcome string
	// isDeferred states that admission completed the recorded decision.
	isDeferred bool
	time       time.Time
	auditID    string
	user       string
	// selects states that the selectors of the request are known, which decide alone what
	// labels and fields the objects have.
	selects bool
	// skip is the reason for not replaying the record, empty without one. Time and user are
	// known as far as the log has them.
	skip string
}

// raw holds the members by which kinds of records are recognised.
type raw struct {
	Request    json.RawMessage `json:"request"`
	Decision   json.RawMessage `json:"decision"`
	Point      string          `json:"point"`
	Time       time.Time       `json:"time"`
	DecisionID string          `json:"decision_id"`
	Path       *string         `json:"path"`
	Input      json.RawMessage `json:"input"`
	Result     json.RawMessage `json:"result"`
	Timestamp  time.Time       `json:"timestamp"`
	Erased     []string        `json:"erased"`
	Masked     []string        `json:"masked"`
	Kind       string          `json:"kind"`
	APIVersion string          `json:"apiVersion"`
	auditEvent
}

const auditGroup = "audit.k8s.io/"

// parse returns the record of a line.
func parse(line []byte) *record {
	var r raw
	if !utf8.Valid(line) {
		return &record{skip: skipMalformed}
	}
	err := json.Unmarshal(line, &r)
	isTyped := errors.As(err, new(*json.UnmarshalTypeError)) // other records have other types
	isAudit := r.Kind == "Event" && strings.HasPrefix(r.APIVersion, auditGroup)
	switch {
	case err != nil && (isAudit || !isTyped):
		return &record{skip: skipMalformed}
	case isAudit:
		return r.auditEvent.record()
	case r.DecisionID != "" && r.Path != nil:
		return parseDecisionLog(&r)
	case r.Request != nil && r.Request[0] == '{' && !isGateway(r.Request):
		return newRecord(cmp.Or(r.Point, statement.PointAccess), r.Request, r.Time).with(r.Decision)
	}
	return newRecord(pointOf(line), line, time.Time{})
}

// isGateway reports whether the member request of a line is that of a request of the point
// gateway.
func isGateway(request json.RawMessage) bool {
	var r struct {
		Host   *string `json:"host"`
		Method *string `json:"method"`
	}
	return json.Unmarshal(request, &r) == nil && r.Host != nil && r.Method != nil
}

// pointOf returns the point of a bare request.
func pointOf(line []byte) string {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(line, &members); err != nil {
		return statement.PointAccess
	}
	switch {
	case members["verb"] != nil:
		return statement.PointAccess
	case isGateway(members["request"]):
		return statement.PointGateway
	case members["cluster"] != nil || members["type"] != nil:
		return statement.PointVisibility
	}
	return statement.PointAccess
}

// newRecord returns the record of a request without an outcome.
func newRecord(point string, request []byte, at time.Time) *record {
	r := &record{point: point, text: request, time: at}
	p, found := decision.FindPoint(point)
	if !found {
		r.skip = skipPath
		return r
	}
	q, err := p.Decode(request, nil)
	if err != nil {
		r.skip = skipInvalid
		return r
	}
	r.question, r.user = q, q.Principal()
	return r
}

// with sets the recorded decision, if there is one.
func (r *record) with(recorded json.RawMessage) *record {
	if r.skip != "" || recorded == nil || bytes.Equal(recorded, []byte("null")) {
		return r
	}
	v, err := statement.VerdictOf(r.point, decision.HasItems(r.question), recorded)
	if err != nil {
		r.skip = skipMalformed
	}
	var mark struct{ Deferred bool }
	_ = json.Unmarshal(recorded, &mark) // it has been read
	r.outcome, r.isDeferred = v.Outcome, mark.Deferred
	return r
}

// subjects returns the user, or the groups of a request without one.
func (r *record) subjects() []string {
	q, ok := r.question.(*decision.Request)
	if r.user != "" || !ok {
		return statement.Principals(r.user, nil)
	}
	return statement.Principals("", q.Groups)
}

// in makes a request that names no cluster one about this cluster; empty changes nothing.
func (r *record) in(cluster string) {
	if q, ok := r.question.(*decision.Request); ok && q != nil && q.Cluster == "" && cluster != "" {
		q.Cluster, r.text = cluster, nil
	}
}

// request returns the request as JSON.
func (r *record) request() []byte {
	if q, ok := r.question.(*decision.Request); ok && r.text == nil {
		return q.Encode()
	}
	return r.text
}

// parseDecisionLog reads an entry of an OPA decision log.
func parseDecisionLog(from *raw) *record {
	path := strings.ReplaceAll(strings.TrimPrefix(*from.Path, "/"), ".", "/")
	path = strings.TrimPrefix(strings.TrimPrefix(path, "v1/"), "data/")
	parts := strings.Split(path, "/")
	if len(parts) != 3 || parts[0] != "writ" || parts[2] != "decision" {
		return &record{skip: skipPath, time: from.Timestamp}
	}
	touches := func(p string) bool { return p == "/input" || strings.HasPrefix(p, "/input/") }
	if slices.ContainsFunc(from.Erased, touches) || slices.ContainsFunc(from.Masked, touches) {
		return &record{skip: skipMasked, time: from.Timestamp}
	}
	return newRecord(parts[1], from.Input, from.Timestamp).with(from.Result)
}

// auditUser is a user of an audit event.
type auditUser struct {
	Username string              `json:"username"`
	Groups   []string            `json:"groups"`
	Extra    map[string][]string `json:"extra"`
}

// auditEvent is what replay reads of an audit event.
type auditEvent struct {
	AuditID      string            `json:"auditID"`
	RequestURI   string            `json:"requestURI"`
	Verb         string            `json:"verb"`
	User         auditUser         `json:"user"`
	Impersonated *auditUser        `json:"impersonatedUser"`
	Received     time.Time         `json:"requestReceivedTimestamp"`
	Stage        time.Time         `json:"stageTimestamp"`
	Annotations  map[string]string `json:"annotations"`
	Object       *struct {
		APIGroup    string `json:"apiGroup"`
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
	} `json:"objectRef"`
}

const auditDecision = "authorization.k8s.io/decision"

// record returns the record of an event of a Kubernetes audit log.
func (e *auditEvent) record() *record {
	who := e.User
	if e.Impersonated != nil {
		who = *e.Impersonated
	}
	request := &decision.Request{User: who.Username, Groups: who.Groups, Extra: who.Extra, Verb: e.Verb}
	if e.Object == nil {
		request.Path, _, _ = strings.Cut(e.RequestURI, "?")
	} else {
		request.APIGroup, request.Resource, request.Subresource = e.Object.APIGroup, e.Object.Resource, e.Object.Subresource
		request.Namespace, request.Name = e.Object.Namespace, e.Object.Name
	}
	r := &record{point: statement.PointAccess, question: request, user: who.Username, auditID: e.AuditID, time: e.Received}
	if selector.Counts(request.Verb, request.Resource, request.Subresource) {
		attributes, err := selector.OfURI(e.RequestURI)
		request.Attributes, r.selects = attributes, err == nil
	}
	if r.time.IsZero() {
		r.time = e.Stage
	}
	switch e.Annotations[auditDecision] {
	case "allow":
		r.outcome = statement.OutcomeAllow
	case forbidden:
		r.outcome = forbidden
	default:
		r.skip = skipAnnotation
		return r
	}
	if request.Validate() != nil {
		r.skip = skipInvalid
	}
	return r
}
