package replay

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

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
	point   string
	request []byte
	// hasItems states that the decision is which items are visible.
	hasItems bool
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
}

const auditGroup = "audit.k8s.io/"

// parse returns the record of a line. The error is skipped.
func parse(line []byte) (*record, error) {
	var r raw
	if err := json.Unmarshal(line, &r); err != nil {
		var typed *json.UnmarshalTypeError
		if !errors.As(err, &typed) {
			return nil, skipped(skipMalformed)
		}
	}
	switch {
	case r.Kind == "Event" && strings.HasPrefix(r.APIVersion, auditGroup):
		return parseAudit(line)
	case r.DecisionID != "" && r.Path != nil:
		return parseDecisionLog(&r)
	case r.Request != nil && r.Request[0] == '{' && !isGateway(line):
		return parseOwn(&r)
	}
	return newRecord(pointOf(line), line)
}

// isGateway reports whether a line is a request of the point gateway, which has a member
// request too.
func isGateway(line []byte) bool {
	var r struct {
		Request struct {
			Host   *string `json:"host"`
			Method *string `json:"method"`
		} `json:"request"`
	}
	return json.Unmarshal(line, &r) == nil && r.Request.Host != nil && r.Request.Method != nil
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
	case isGateway(line):
		return statement.PointGateway
	case members["cluster"] != nil || members["type"] != nil:
		return statement.PointVisibility
	}
	return statement.PointAccess
}

// newRecord returns the record of a request without an outcome.
func newRecord(point string, request []byte) (*record, error) {
	at, found := decision.FindPoint(point)
	if !found {
		return nil, skipped(skipPath)
	}
	q, err := at.Decode(request)
	if err != nil {
		return nil, skipped(skipInvalid)
	}
	return &record{point: point, request: request, hasItems: decision.HasItems(q), user: q.Principal()}, nil
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
	v, err := statement.VerdictOf(r.point, r.hasItems, recorded)
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

// parseAudit reads an event of a Kubernetes audit log.
func parseAudit(line []byte) (*record, error) {
	var e auditEvent
	if err := json.Unmarshal(line, &e); err != nil {
		return nil, skipped(skipMalformed)
	}
	who := e.User
	if e.Impersonated != nil {
		who = *e.Impersonated
	}
	request := decision.Request{User: who.Username, Groups: who.Groups, Extra: who.Extra, Verb: e.Verb}
	if e.Object == nil {
		request.Path, _, _ = strings.Cut(e.RequestURI, "?")
	} else {
		request.APIGroup, request.Resource, request.Subresource = e.Object.APIGroup, e.Object.Resource, e.Object.Subresource
		request.Namespace, request.Name = e.Object.Namespace, e.Object.Name
	}
	outcomes := map[string]string{"allow": "allow", "forbid": forbidden}
	outcome, ok := outcomes[e.Annotations[auditDecision]]
	if !ok {
		return nil, skipped(skipAnnotation)
	}
	r, err := newRecord(statement.PointAccess, request.Encode())
	if err != nil {
		return nil, err
	}
	r.outcome, r.auditID, r.time = outcome, e.AuditID, e.Received
	if r.time.IsZero() {
		r.time = e.Stage
	}
	return r, nil
}

// groupsOf returns the groups of a request.
func groupsOf(request []byte) []string {
	var r struct {
		Groups []string `json:"groups"`
	}
	_ = json.Unmarshal(request, &r) // it is decided as valid
	return r.Groups
}
