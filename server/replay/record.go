package replay

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/change/statement"
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

// skipped is the error of a record that is not replayed: its reason.
type skipped string

func (s skipped) Error() string { return string(s) }

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
	time    time.Time
	auditID string
	user    string
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

// parse returns the record of a line. The error is skipped.
func parse(line []byte) (*record, error) {
	var r raw
	if !utf8.Valid(line) {
		return nil, skipped(skipMalformed)
	}
	err := json.Unmarshal(line, &r)
	isTyped := errors.As(err, new(*json.UnmarshalTypeError)) // other records have other types
	isAudit := r.Kind == "Event" && strings.HasPrefix(r.APIVersion, auditGroup)
	switch {
	case err != nil && (isAudit || !isTyped):
		return nil, skipped(skipMalformed)
	case isAudit:
		return r.auditEvent.record()
	case r.DecisionID != "" && r.Path != nil:
		return parseDecisionLog(&r)
	case r.Request != nil && r.Request[0] == '{' && !isGateway(r.Request):
		return parseOwn(&r)
	}
	return newRecord(pointOf(line), line)
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
func newRecord(point string, request []byte) (*record, error) {
	q, err := decode(point, request)
	if err != nil {
		return nil, err
	}
	return &record{point: point, question: q, text: request, user: q.Principal()}, nil
}

// decode reads a request. The error is skipped.
func decode(point string, request []byte) (decision.Question, error) {
	at, found := decision.FindPoint(point)
	if !found {
		return nil, skipped(skipPath)
	}
	q, err := at.Decode(request)
	if err != nil {
		return nil, skipped(skipInvalid)
	}
	return q, nil
}

// subjects returns the user, or the groups of a request without one.
func (r *record) subjects() map[string]bool {
	out := make(map[string]bool)
	if r.user != "" {
		out[statement.UserPrefix+r.user] = true
	} else if q, ok := r.question.(*decision.Request); ok {
		for _, group := range q.Groups {
			out[statement.GroupPrefix+group] = true
		}
	}
	return out
}

// request returns the request as JSON.
func (r *record) request() []byte {
	if q, ok := r.question.(*decision.Request); ok && r.text == nil {
		return q.Encode()
	}
	return r.text
}

func parseOwn(from *raw) (*record, error) {
	point := from.Point
	if point == "" {
		point = statement.PointAccess
	}
	r, err := newRecord(point, from.Request)
	if err != nil {
		return nil, err
	}
	r.time = from.Time
	return r, r.read(from.Decision)
}

// read sets the recorded outcome, if there is one.
func (r *record) read(recorded json.RawMessage) error {
	if recorded == nil || bytes.Equal(recorded, []byte("null")) {
		return nil
	}
	v, err := statement.VerdictOf(r.point, decision.HasItems(r.question), recorded)
	if err != nil {
		return skipped(skipMalformed)
	}
	r.outcome = v.Outcome
	return nil
}

// parseDecisionLog reads an entry of an OPA decision log.
func parseDecisionLog(from *raw) (*record, error) {
	path := strings.ReplaceAll(strings.TrimPrefix(*from.Path, "/"), ".", "/")
	path = strings.TrimPrefix(strings.TrimPrefix(path, "v1/"), "data/")
	parts := strings.Split(path, "/")
	if len(parts) != 3 || parts[0] != "writ" || parts[2] != "decision" {
		return nil, skipped(skipPath)
	}
	if _, found := decision.FindPoint(parts[1]); !found {
		return nil, skipped(skipPath)
	}
	touches := func(p string) bool { return p == "/input" || strings.HasPrefix(p, "/input/") }
	if slices.ContainsFunc(from.Erased, touches) || slices.ContainsFunc(from.Masked, touches) {
		return nil, skipped(skipMasked)
	}
	r, err := newRecord(parts[1], from.Input)
	if err != nil {
		return nil, err
	}
	r.time = from.Timestamp
	return r, r.read(from.Result)
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

// record returns the record of an event of a Kubernetes audit log. The error is skipped.
func (e *auditEvent) record() (*record, error) {
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
	switch e.Annotations[auditDecision] {
	case "allow":
		r.outcome = statement.OutcomeAllow
	case forbidden:
		r.outcome = forbidden
	default:
		return nil, skipped(skipAnnotation)
	}
	if request.Validate() != nil {
		return nil, skipped(skipInvalid)
	}
	if r.time.IsZero() {
		r.time = e.Stage
	}
	return r, nil
}
