package decision

import (
	"slices"
	"strings"
	"unicode"

	"github.com/writ-policy/writ/internal/jsontext"
	"github.com/writ-policy/writ/translator/tables"
)

// GatewayRequest is a request at the gateway point: attributes by their names in
// Envoy, as JSON values with numbers as json.Number. The evaluation checks which
// attributes are present, and their types.
type GatewayRequest struct {
	// Attributes are nil for a request of a body until Load makes them: an answer from a cache
	// needs few of them.
	Attributes map[string]any

	sent Value
}

// NamesRoute reports whether the request names the route that takes it.
func (r *GatewayRequest) NamesRoute() bool {
	return r.Text("route", "name") != ""
}

// RouteRequired returns the denial of a request that names no route although it must.
func RouteRequired() GatewayDecision {
	d := GatewayDecision{}.Failed("")
	d.Reason = "denied: the request must name its route"
	return d
}

// GatewayDecision is the answer to a GatewayRequest. Its zero value does not allow
// and has no status.
type GatewayDecision struct {
	Allowed bool `json:"allowed"`
	// Denied means an explicit denial or an evaluation error.
	Denied bool `json:"denied"`
	// Status is the HTTP status for the client; 200 if Allowed.
	Status   int      `json:"status"`
	Reason   string   `json:"reason"`
	Warnings []string `json:"warnings"`
	// Target is the path of the request through the gateway; nil if no route matches.
	Target *GatewayTarget `json:"target,omitempty"`
	// Policies are the locators of the effective policy's sources, sorted.
	Policies []string `json:"policies"`
	// Rules holds the result of each evaluated authorization rule by name: allow,
	// deny, error or skip.
	Rules   map[string]string `json:"rules"`
	Matched []MatchedRule     `json:"matched"`
	// Deciding are the lines that decided: of Matched, or what decided without a rule that
	// allows or denies, such as the authentication rules that a request without an identity
	// meets, the rule of a route without a policy, or the listener without a path. It is
	// empty for an evaluation error.
	Deciding []MatchedRule `json:"decidedBy"`
	// Response is the response to a denied client; nil if the request is allowed.
	Response *GatewayResponse  `json:"response,omitempty"`
	Headers  map[string]string `json:"headers"`
	Metadata map[string]any    `json:"metadata"`
	// Withheld lists the headers that the policy of the path can set but does not set
	// for this request, in lower case and sorted. They must be removed from the
	// request, so that a client cannot forge them.
	Withheld []string `json:"-"`
	// Paths are those that decided, whose policies the decision depends on.
	Paths []GatewayTarget `json:"-"`
	// IsOwn means that the decision must not answer other requests, even with the same
	// key, because policies read the time or more than the key has.
	IsOwn bool `json:"-"`
	// EvaluationError describes why the evaluation failed; empty if it succeeded.
	EvaluationError string `json:"-"`
	// Revision is the revision of the bundle that answered.
	Revision string `json:"-"`
	// Cached states that the decision was made for an earlier request.
	Cached bool `json:"-"`
	// Encoded is the JSON form, if Encode has made it, and decidedBy what DecidedBy returns.
	Encoded   []byte `json:"-"`
	decidedBy []Matched
}

// Encode makes what AppendJSON and DecidedBy return of its fields, which copies of d share.
func (d *GatewayDecision) Encode() {
	d.Encoded = nil
	d.decidedBy, _ = d.DecidedBy()
	d.Encoded = d.AppendJSON(nil)
}

// DecidedBy returns Deciding without the keys of rules, and whether the decision was cached.
func (d *GatewayDecision) DecidedBy() (matched []Matched, cached bool) {
	if d.Encoded != nil {
		return d.decidedBy, d.Cached
	}
	for _, m := range d.Deciding {
		matched = append(matched, Matched{Kind: m.Kind, Namespace: m.Namespace, Name: m.Name, Rule: -1, Source: m.Source})
	}
	return matched, d.Cached
}

// GatewayTarget identifies a path by its listener and the rule of its route.
type GatewayTarget struct {
	Gateway string `json:"gateway"`
	Route   string `json:"route"`
}

// MatchedRule identifies a rule of an effective policy that decided, or a listener or a
// rule of a route. Rule is empty for a gateway as a whole.
type MatchedRule struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Rule      string `json:"rule"`
	Source    string `json:"source"`
}

// GatewayResponse is the response to a denied client.
type GatewayResponse struct {
	Code    int               `json:"code"`
	Message string            `json:"message"`
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`
}

// AppendJSON appends the decision in the JSON form of its point.
func (d *GatewayDecision) AppendJSON(b []byte) []byte {
	if d.Encoded != nil {
		return append(b, d.Encoded...)
	}
	return jsontext.Append(b, d)
}

// Sendable returns d with headers that are valid in HTTP. Values come from requests, and
// a line end in a value would begin another header. On an allowed decision an invalid
// header is an evaluation error, because a changed value could be that of another user.
// On a denial control characters become spaces, and invalid names are removed.
func (d GatewayDecision) Sendable() GatewayDecision {
	if d.Allowed && !d.Denied {
		for name, value := range d.Headers {
			if !CanSetHeader(name) || strings.ContainsFunc(value, isControl) {
				failed := d.Failed("a header of the policy cannot be sent")
				failed.Revision, failed.Target, failed.Policies = d.Revision, d.Target, d.Policies
				return failed
			}
		}
		return d
	}
	if d.Response == nil {
		return d
	}
	response := *d.Response
	response.Headers = make(map[string]string, len(d.Response.Headers))
	for name, value := range d.Response.Headers {
		if CanSetHeader(name) {
			response.Headers[name] = HeaderValue(value)
		}
	}
	d.Response = &response
	return d
}

// HeaderValue returns text with each control character replaced by a space.
func HeaderValue(text string) string {
	return strings.Map(func(r rune) rune {
		if isControl(r) {
			return ' '
		}
		return r
	}, text)
}

func isControl(r rune) bool { return unicode.IsControl(r) && r != '\t' }

// CanSetHeader reports whether text is the name of a header that a policy can set. One
// that changes framing or routing, such as "host" or ":path", would change the request
// after the decision; documents cannot name it, but an older bundle may.
func CanSetHeader(text string) bool {
	return text != "" && !tables.IsReservedHeader(text) && !slices.ContainsFunc([]byte(text), func(c byte) bool {
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		return !letter && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0
	})
}

// DecodeGateway is Decode for a request at the gateway point, and loads it.
func DecodeGateway(data []byte) (*GatewayRequest, error) {
	r, err := Decode[GatewayRequest](data)
	if err == nil {
		r.Load()
	}
	return r, err
}

// Read replaces r by the request of a parsed body. The error is an *InvalidRequest.
func (r *GatewayRequest) Read(value Value) error {
	if !value.IsObject() {
		return invalid("", "the request is not a JSON object")
	}
	*r = GatewayRequest{sent: value}
	for key := range value.Members() {
		if !slices.Contains(gatewayKeys[:], key) {
			return firstProblem(value, gatewayKeys[:], checkGatewayKey)
		}
	}
	return nil
}

func checkGatewayKey(key string, _ Value) error {
	if slices.Contains(gatewayKeys[:], key) {
		return nil
	}
	return errUnknownKey
}
